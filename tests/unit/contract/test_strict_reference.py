"""What the written rules leave open, and its bounds; the rules themselves are tested in `test_strict`."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.strict import REFERENCE
from lastcall.contract.strict_reference import MAX_LEVELS, reference_schema
from lastcall.contract.strict_terms import Unfit


def root(child: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": child}, "required": ["a"]}


@pytest.mark.parametrize(
    "child", [True, {}, {"description": "d"}, {"anyOf": []}, {"anyOf": "x"}, {"properties": 3}, {"required": []}]
)
def test_what_is_not_settled_and_not_harmless_is_refused(child: Any) -> None:
    with pytest.raises(Unfit):
        reference_schema(root(child), REFERENCE)


def test_types_in_a_list_are_taken() -> None:
    strict = reference_schema(root({"type": ["object", "null"], "properties": {}}), REFERENCE)
    assert strict["properties"]["a"] == {"type": ["object", "null"], "properties": {}, "additionalProperties": False}


def test_the_deepest_that_is_taken() -> None:
    def nested(levels: int) -> dict[str, Any]:
        child: dict[str, Any] = {"type": "string"}
        for _ in range(levels - 1):
            child = {"type": "array", "items": child}
        return root(child)

    assert reference_schema(nested(MAX_LEVELS), REFERENCE)
    with pytest.raises(Unfit, match="deeper than 32"):
        reference_schema(nested(MAX_LEVELS + 1), REFERENCE)
    with pytest.raises(Unfit, match="deeper than 32"):
        reference_schema(nested(9_000), REFERENCE)
