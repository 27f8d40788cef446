"""What the caller asked for, and the narrower form a deployment may constrain decoding with.

`OutputSchema` is made only by `contract.parse`; it is parsed JSON, not yet known to be a valid schema. `StrictSchema` is
made only by `contract.strict`; it is a courtesy to the decoder and never validates anything.
"""

from __future__ import annotations

from msgspec import Struct

from lastcall.nouns.json import JsonObject


class OutputSchema(Struct, frozen=True, tag=True):
    """A JSON object that is meant as a schema.

    `text` is the JSON text (minified, key order kept), `digest` its SHA-256 in hex. `value` is shared and must not be
    changed: whoever needs to change it copies it.
    """

    text: str
    digest: str
    value: JsonObject


class StrictSchema(Struct, frozen=True, tag=True):
    """The closed subset that a provider may constrain decoding with, as JSON text."""

    text: str
    value: JsonObject


class NotStrict(Struct, frozen=True, tag=True):
    """Why there is no `StrictSchema`: which rule the schema breaks, and where (JSON Pointer)."""

    reason: str
    path: str = ""
