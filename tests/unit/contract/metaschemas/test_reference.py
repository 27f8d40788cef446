"""The reference's meta-schema beside the published one."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.metaschemas import draft_07, reference


def test_only_enum_is_stricter_than_the_published_document() -> None:
    ours: Any = reference.DOCUMENTS[0]
    published: Any = draft_07.DOCUMENTS[0]
    assert {**ours, "properties": {**ours["properties"], "enum": None}} == {
        **published,
        "properties": {**published["properties"], "enum": None},
    }


@pytest.mark.parametrize(("word", "value"), [("minItems", 1), ("uniqueItems", True), ("type", "array")])
def test_an_enum_has_values_and_none_twice(word: str, value: object) -> None:
    ours: Any = reference.DOCUMENTS[0]
    assert ours["properties"]["enum"][word] == value
