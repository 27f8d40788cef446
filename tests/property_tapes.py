"""The tapes that the machine's property tests play, and how many of them."""

from __future__ import annotations

from hypothesis import strategies as st

EXAMPLES = 700
"""Of the quick test; a planted bug has to be found within as many."""

TAPES = st.binary(min_size=120, max_size=300)
LONG_TAPES = st.binary(min_size=40, max_size=900)
