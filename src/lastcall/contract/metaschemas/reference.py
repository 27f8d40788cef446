"""The reference's draft-07 meta-schema: the published one, but an `enum` must be non-empty and without duplicates.

Must not go in here: its strict mode, which is no meta-schema (`contract.strictness`).
"""

from __future__ import annotations

from lastcall.contract.metaschemas import draft_07
from lastcall.nouns.json import JsonObject


def _with_strict_enum(published: JsonObject) -> JsonObject:
    properties = published["properties"]
    assert isinstance(properties, dict)
    enum: JsonObject = {"type": "array", "items": True, "minItems": 1, "uniqueItems": True}
    return {**published, "properties": {**properties, "enum": enum}}


DOCUMENTS: tuple[JsonObject, ...] = (_with_strict_enum(draft_07.DOCUMENTS[0]),)
