"""Names for identities, so that one kind is not taken for another.

Must not go in here: making them. Ids come into the core with events; `runtime` mints them.
"""

from __future__ import annotations

from typing import NewType

RunId = NewType("RunId", str)
SessionId = NewType("SessionId", str)
CallId = NewType("CallId", str)
MessageId = NewType("MessageId", str)
Uuid = NewType("Uuid", str)
"""A frame's own identity on the stream, minted by the runtime and referred to by retractions."""
