"""Where subschemas are."""

from __future__ import annotations

from lastcall.contract.positions import children, each_subschema, fresh, joined

SCHEMA = {
    "type": "object",
    "properties": {"$ref": {"type": "string"}, "a/b": {"items": [{"const": {"type": "x"}}, True]}, "no": 3},
    "dependencies": {"x": ["y"], "z": {"required": ["q"]}},
    "allOf": [{"if": {"minimum": 1}, "then": False}],
    "enum": [{"properties": {"p": {}}}],
    "default": {"items": {}},
    "items": {"not": {}},
    "patternProperties": {"^x": {}},
    "additionalProperties": {"title": "rest"},
}


def test_every_subschema_is_visited_in_the_order_of_the_text_and_nothing_else() -> None:
    assert [path for path, _ in each_subschema(SCHEMA)] == [
        "",
        "/properties/$ref",
        "/properties/a~1b",
        "/properties/a~1b/items/0",
        "/dependencies/z",
        "/allOf/0",
        "/allOf/0/if",
        "/items",
        "/items/not",
        "/patternProperties/^x",
        "/additionalProperties",
    ]


def test_children_are_objects_and_booleans() -> None:
    assert [step for step, _ in children({"items": [1, {}, True], "not": False, "anyOf": {}, "properties": []})] == [
        ("items", 1),
        ("items", 2),
        ("not",),
    ]


def test_paths_are_pointers() -> None:
    assert joined(("a/b", 0, "~")) == "/a~1b/0/~0"


def test_a_fresh_copy_shares_nothing_and_depth_is_no_matter() -> None:
    deep: dict[str, object] = {}
    for _ in range(20_000):
        deep = {"not": deep, "list": [1, [2]]}
    copy = fresh(deep)
    count = sum(1 for _ in each_subschema(copy))
    assert count == 20_001
    copy["list"].append(3)  # type: ignore[union-attr]
    assert deep["list"] == [1, [2]]
    assert fresh({"a": [{"b": [True, None, "x"]}]}) == {"a": [{"b": [True, None, "x"]}]}
