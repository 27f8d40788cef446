"""Local references: what they find, and that nothing else is found."""

from __future__ import annotations

import pytest

from lastcall.contract.references import MISSING, References, at_pointer

ROOT = {
    "$id": "http://example.com/s",
    "$defs": {
        "a/b": {"type": "string"},
        "m~n": {"$anchor": "here"},
        "é %": {"const": 1},
        "d": {"$dynamicAnchor": "dyn"},
    },
    "definitions": {"old": {"$id": "#old"}},
    "items": [{"title": "first"}, {"title": "second"}],
    "anyOf": [{"$ref": "#/$defs/a~1b"}],
}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", ROOT),
        ("http://example.com/s#", ROOT),
        ("http://example.com/s", ROOT),
        ("#/$defs/a~1b", {"type": "string"}),
        ("#/$defs/m~0n", {"$anchor": "here"}),
        ("#here", {"$anchor": "here"}),
        ("#dyn", {"$dynamicAnchor": "dyn"}),
        ("#old", {"$id": "#old"}),
        ("#/$defs/%C3%A9%20%25", {"const": 1}),
        ("#/items/1", {"title": "second"}),
        ("#/items/01", {"title": "second"}),
        ("#/items/2", MISSING),
        ("#/items/x", MISSING),
        ("#/nothing", MISSING),
        ("#nowhere", MISSING),
        ("other.json#/a", MISSING),
        ("http://example.com/t", MISSING),
        (7, MISSING),
        (None, MISSING),
    ],
)
def test_a_reference_finds_what_it_means(reference: object, found: object) -> None:
    references = References(ROOT)
    assert references.resolve(reference) == found
    assert references.resolve(reference) == found


def test_a_pointer_has_to_begin_with_a_slash() -> None:
    assert at_pointer({"a": 1}, "a") is MISSING
    assert at_pointer({"a": None}, "/a") is None
    assert at_pointer({"": {"": 2}}, "//") == 2


def test_chains_are_followed_and_cycles_are_not() -> None:
    root = {
        "$defs": {
            "a": {"$ref": "#/$defs/b"},
            "b": {"$ref": "#/$defs/c"},
            "c": {"type": "null"},
            "x": {"$ref": "#/$defs/x"},
        }
    }
    references = References(root)
    assert references.follow({"$ref": "#/$defs/a"}) == {"type": "null"}
    assert references.follow({"$ref": "#/$defs/x"}) is MISSING
    assert references.follow({"$ref": "#/$defs/y"}) is MISSING
    assert references.follow(True) is True
