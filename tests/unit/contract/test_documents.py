"""Where references lead."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.dialects import DRAFT_04, DRAFT_07, DRAFT_2019_09, DRAFT_2020_12, REFERENCE, SchemaDialect
from lastcall.contract.documents import Library, Target, everything_below


def found(schema: Any, reference: str, dialect: SchemaDialect = DRAFT_2020_12) -> Any:
    """What a reference in the root leads to: its `title`, if it is a subschema that has one."""
    library = Library(schema, dialect)
    target = library.find(reference, library.main)
    if target is None or isinstance(target.schema, bool):
        return target if target is None else target.schema
    return target.schema.get("title", target.schema)


TREE = {
    "$id": "http://e.com/root.json",
    "title": "root",
    "$defs": {
        "a/b": {"title": "slash"},
        "%": {"title": "percent"},
        "yes": True,
        "list": {"anyOf": [{"title": "zero"}, {"title": "one"}]},
        "inner": {
            "$id": "inner/",
            "title": "inner",
            "$anchor": "here",
            "$defs": {"deep": {"$id": "deep.json", "title": "deep"}, "named": {"$anchor": "it", "title": "named"}},
        },
        "dynamic": {"$dynamicAnchor": "dyn", "title": "dynamic"},
    },
    "x": {"y": {"title": "below unknown keywords"}},
}


@pytest.mark.parametrize(
    ("reference", "title"),
    [
        ("#", "root"),
        ("root.json", "root"),
        ("http://e.com/root.json#", "root"),
        ("#/$defs/a~1b", "slash"),
        ("#/%24defs/%25", "percent"),
        ("#/$defs/yes", True),
        ("#/$defs/list/anyOf/1", "one"),
        ("#/$defs/list/anyOf/2", None),
        ("#/$defs/list/anyOf/-", None),
        ("#/$defs/nothing", None),
        ("#/title", None),
        ("inner/", "inner"),
        ("inner/#here", "inner"),
        ("inner/#it", "named"),
        ("inner/deep.json", "deep"),
        ("#/$defs/inner/$defs/deep", "deep"),
        ("#it", None),
        ("#dyn", "dynamic"),
        ("#/x/y", "below unknown keywords"),
        ("http://e.com/other.json", None),
        ("file:///etc/hostname", None),
    ],
)
def test_references_lead_where_identifiers_anchors_and_pointers_say(reference: str, title: object) -> None:
    assert found(TREE, reference) == title


def test_a_dynamic_anchor_is_told_apart_from_a_plain_one() -> None:
    library = Library(TREE, DRAFT_2020_12)
    target = library.find("#dyn", library.main)
    assert isinstance(target, Target)
    assert target.dynamic_name == "dyn"


@pytest.mark.parametrize(("dialect", "keyword"), [(DRAFT_04, "id"), (DRAFT_07, "$id"), (REFERENCE, "$id")])
def test_in_older_dialects_an_identifier_may_be_an_anchor(dialect: SchemaDialect, keyword: str) -> None:
    schema = {"definitions": {"a": {keyword: "#here", "title": "here"}}}
    assert found(schema, "#here", dialect) == "here"


def test_an_identifier_beside_a_reference_counts_only_where_siblings_do() -> None:
    schema = {"definitions": {"a": {"$id": "http://e.com/a", "$ref": "#", "title": "a"}}}
    assert found(schema, "http://e.com/a", DRAFT_07) is None
    assert found(schema, "http://e.com/a", DRAFT_2019_09) == "a"


def test_anchors_of_other_dialects_are_not_seen() -> None:
    schema = {"$defs": {"a": {"$anchor": "x"}, "b": {"$dynamicAnchor": "y"}}}
    assert found(schema, "#x", DRAFT_07) is None
    assert found(schema, "#y", DRAFT_2019_09) is None
    library = Library({"$recursiveAnchor": True}, DRAFT_2020_12)
    assert library.main.dynamic_anchors == {}
    assert Library({"$recursiveAnchor": True}, DRAFT_2019_09).main.dynamic_anchors.keys() == {""}


def test_identifiers_in_data_are_no_identifiers() -> None:
    schema = {"enum": [{"$id": "http://e.com/x"}], "const": {"$id": "http://e.com/y"}, "z": {"$id": "http://e.com/z"}}
    for reference in ("http://e.com/x", "http://e.com/y", "http://e.com/z"):
        assert found(schema, reference) is None
    assert found(schema, "http://e.com/z", REFERENCE) == {"$id": "http://e.com/z"}


@pytest.mark.parametrize("dialect", [DRAFT_04, DRAFT_07, DRAFT_2020_12])
def test_the_published_metaschemas_are_bundled(dialect: SchemaDialect) -> None:
    library = Library({}, DRAFT_2020_12)
    target = library.find(dialect.uri, library.main)
    assert target is not None
    assert target.resource.bundled
    assert target.resource.dialect is dialect
    assert not library.main.bundled


def test_vocabularies_and_the_references_second_name_are_bundled() -> None:
    assert found({}, "https://json-schema.org/draft/2020-12/meta/core") == "Core vocabulary meta-schema"
    assert found({}, "https://json-schema.org/draft/2020-12/meta/none") is None
    assert found({}, "http://json-schema.org/schema", REFERENCE) == "Core schema meta-schema"
    assert found({}, DRAFT_2020_12.uri, REFERENCE) is None


def test_the_first_of_equal_identifiers_counts() -> None:
    schema = {"$defs": {"a": {"$id": "http://e.com/x", "title": "first"}, "b": {"$id": "http://e.com/x"}}}
    library = Library(schema, DRAFT_2020_12)
    target = library.find("http://e.com/x", library.main)
    assert target is not None
    assert target.schema in ({"$id": "http://e.com/x", "title": "first"}, {"$id": "http://e.com/x"})


@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        ({"a": {"b": [1, {"$ref": "#"}]}}, True),
        ({"$dynamicAnchor": "x"}, True),
        ({"a": [[{"b": "$ref"}]], "c": "$ref"}, False),
    ],
)
def test_reference_keywords_are_found_at_any_depth(schema: Any, holds: bool) -> None:
    library = Library(schema, REFERENCE)
    assert library.holds_reference(schema) is holds
    assert library.holds_reference(schema) is holds


def test_what_the_reference_searches_for_identifiers() -> None:
    schema = {
        "allOf": [1],
        "oddList": [1],
        "properties": {"a": 1},
        "$defs": 5,
        "default": {"x": 1},
        "x": {"y": 1},
    }
    assert [(keyword, key) for keyword, key, _ in everything_below(schema)] == [  # type: ignore[arg-type]
        ("allOf", 0),
        ("properties", "a"),
        ("x", None),
    ]


def test_the_reference_finds_what_an_anchor_names_although_its_draft_has_none() -> None:
    schema = {"$defs": {"a": {"$anchor": "x"}}}
    assert Library(schema, REFERENCE).main.anchors.keys() == {"x"}
