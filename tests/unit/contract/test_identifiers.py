"""The reference's look at identifiers. Sentences observed with AJV 8.20."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.dialects import REFERENCE
from lastcall.contract.identifiers import check_identifiers, root_base
from lastcall.errors import NotASchema


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (
            {"$id": "http://json-schema.org/draft-07/schema#"},
            'schema with key or id "http://json-schema.org/draft-07/schema" already exists',
        ),
        (
            {"$defs": {"a": {"$id": "http://e.com/x"}, "b": {"$id": "http://e.com/x"}}},
            'reference "http://e.com/x" resolves to more than one schema',
        ),
        (
            {"$id": "http://e.com/r", "x": {"a": {"$id": "y"}, "b": {"$id": "/y"}}},
            'reference "http://e.com/y" resolves to more than one schema',
        ),
        ({"$id": "http://e.com/r", "not": {"$id": "r"}}, 'reference "http://e.com/r" resolves to more than one schema'),
        (
            {"not": {"$id": "http://json-schema.org/draft-07/schema"}},
            'reference "http://json-schema.org/draft-07/schema" resolves to more than one schema',
        ),
        ({"not": {"$anchor": "a b"}}, 'invalid anchor "a b"'),
        ({"allOf": [{"$dynamicAnchor": "a"}, {"$anchor": "a"}]}, 'reference "#a" resolves to more than one schema'),
    ],
)
def test_what_is_claimed_twice_is_refused(schema: Any, sentence: str) -> None:
    with pytest.raises(NotASchema) as caught:
        check_identifiers(schema, REFERENCE)
    assert caught.value.message == sentence


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "http://e.com/r#", "$defs": {"a": {"$id": "a", "$anchor": "x"}, "b": {"$id": "b", "$anchor": "x"}}},
        {"enum": [{"$id": "x"}, {"$id": "x"}], "not": {"$id": 7, "$anchor": 7}},
    ],
)
def test_what_is_claimed_once_passes(schema: Any) -> None:
    check_identifiers(schema, REFERENCE)


def test_the_base_is_the_roots_identifier() -> None:
    assert root_base({"$id": "http://e.com/r#"}) == "http://e.com/r"
    assert root_base({"$id": 5}) == root_base({}) == ""
