"""Problems, and the object that has none.

`Attachment` is made only by `core.decide`: holding one is the proof that the object passed the whole contract. Never made
from prose, never assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from lastcall.nouns.ids import CallId, MessageId


class Problem(Struct, frozen=True, tag=True):
    """One thing that is wrong with an object.

    `path` is a JSON Pointer into the object (`""` is the root), `keyword` the schema keyword (or `rule`, `check`,
    `quote`, `evidence`, `duplicate_key`, ... for what no keyword says), `message` the plain sentence in the reference's
    words (AJV's), `params` its figures (limit, allowed values, property, ...), from which `contract.wording` builds
    richer sentences.
    """

    path: str
    keyword: str
    message: str
    params: Mapping[str, Any] = {}


class Attachment(Struct, frozen=True, tag=True):
    """An object that passed the contract, with the call it came from. `text` is its JSON."""

    call_id: CallId
    message_id: MessageId
    text: str
    source: str = "call"
