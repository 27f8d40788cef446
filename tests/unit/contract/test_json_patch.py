"""JSON Patch: the cases of RFC 6902 (its appendix A and its sections 3 to 5), and what no patch may do to the process."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.contract.json_patch import MOST_OPERATIONS, PatchFault, apply_patch
from lastcall.contract.json_text import write_json


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


def moved(name: str, source: str, path: str) -> dict[str, Any]:
    return {"op": name, "from": source, "path": path}


APPLIES: dict[str, tuple[str, Any, str]] = {
    # appendix A of the RFC
    "A.1 a member": ('{"foo":"bar"}', [op("add", "/baz", value="qux")], '{"foo":"bar","baz":"qux"}'),
    "A.2 an item": ('{"foo":["bar","baz"]}', [op("add", "/foo/1", value="qux")], '{"foo":["bar","qux","baz"]}'),
    "A.3 removing a member": ('{"baz":"qux","foo":"bar"}', [op("remove", "/baz")], '{"foo":"bar"}'),
    "A.4 removing an item": ('{"foo":["bar","qux","baz"]}', [op("remove", "/foo/1")], '{"foo":["bar","baz"]}'),
    "A.5 replacing": ('{"baz":"qux","foo":"bar"}', [op("replace", "/baz", value="boo")], '{"baz":"boo","foo":"bar"}'),
    "A.6 moving a value": (
        '{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}',
        [moved("move", "/foo/waldo", "/qux/thud")],
        '{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}',
    ),
    "A.7 moving an item": (
        '{"foo":["all","grass","cows","eat"]}', [moved("move", "/foo/1", "/foo/3")], '{"foo":["all","cows","eat","grass"]}',
    ),
    "A.8 testing": (
        '{"baz":"qux","foo":["a",2,"c"]}',
        [op("test", "/baz", value="qux"), op("test", "/foo/1", value=2)],
        '{"baz":"qux","foo":["a",2,"c"]}',
    ),
    "A.10 a nested member": ('{"foo":"bar"}', [op("add", "/child", value={"g": {}})], '{"foo":"bar","child":{"g":{}}}'),
    "A.11 unknown members": ('{"foo":"bar"}', [op("add", "/baz", value="qux", xyz=123)], '{"foo":"bar","baz":"qux"}'),
    "A.14 escapes": ('{"/":9,"~1":10}', [op("test", "/~01", value=10)], '{"/":9,"~1":10}'),
    "A.16 an array as an item": ('{"foo":["bar"]}', [op("add", "/foo/-", value=["a"])], '{"foo":["bar",["a"]]}'),
    # section 4
    "add replaces a member in its place": ('{"a":1,"b":2}', [op("add", "/a", value=3)], '{"a":3,"b":2}'),
    "add at the root": ('{"a":1}', [op("add", "", value=[1])], "[1]"),
    "add at the length": ('{"a":[1]}', [op("add", "/a/1", value=2)], '{"a":[1,2]}'),
    "add to an array at the root": ("[1,2]", [op("add", "/0", value=0)], "[0,1,2]"),
    "add null": ('{"a":1}', [op("add", "/b", value=None)], '{"a":1,"b":null}'),
    "an empty key": ('{"":1}', [op("replace", "/", value=2)], '{"":2}'),
    "digits are a key in an object": ('{"0":"a"}', [op("add", "/00", value=1)], '{"0":"a","00":1}'),
    "- is a key in an object": ('{"a":1}', [op("add", "/-", value=2)], '{"a":1,"-":2}'),
    "replace at the root": ('{"a":1}', [op("replace", "", value={"b": 2})], '{"b":2}'),
    "replace an item": ("[1,2,3]", [op("replace", "/1", value="x")], '[1,"x",3]'),
    "move to the same place": ('{"a":1,"b":2}', [moved("move", "/a", "/a")], '{"a":1,"b":2}'),
    "move over a member": ('{"a":1,"b":2}', [moved("move", "/a", "/b")], '{"b":1}'),
    "move out of its parent": ('{"a":{"b":1}}', [moved("move", "/a/b", "/a")], '{"a":1}'),
    "move to the root": ('{"a":{"b":1}}', [moved("move", "/a", "")], '{"b":1}'),
    "move to the end": ("[1,2,3]", [moved("move", "/0", "/-")], "[2,3,1]"),
    "a key that begins like another": ('{"a":1,"ab":{}}', [moved("move", "/a", "/ab/c")], '{"ab":{"c":1}}'),
    "copy": ('{"a":{"b":[1]}}', [moved("copy", "/a", "/c"), op("add", "/c/b/-", value=2)], '{"a":{"b":[1]},"c":{"b":[1,2]}}'),
    "copy into itself": ('{"a":{"b":1}}', [moved("copy", "/a", "/a/c")], '{"a":{"b":1,"c":{"b":1}}}'),
    "test of an object in another order": ('{"a":{"x":1,"y":2}}', [op("test", "/a", value={"y": 2, "x": 1})], '{"a":{"x":1,"y":2}}'),
    "test of the whole": ('{"a":1}', [op("test", "", value={"a": 1})], '{"a":1}'),
    "test of null": ('{"a":null}', [op("test", "/a", value=None)], '{"a":null}'),
    "nothing to do": ('{"a":1}', [], '{"a":1}'),
    "one after the other": (
        '{"a":[1]}', [op("add", "/a/-", value=2), op("add", "/a/-", value=3), op("remove", "/a/0")], '{"a":[2,3]}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIES)
def test_what_the_rfc_says_applies(name):
    before, patch, after = APPLIES[name]
    assert write_json(apply_patch(json.loads(before), patch), numbers="exact") == after


FAULTS: dict[str, tuple[Any, Any, str, str]] = {
    "A.9 a test that fails": ({"baz": "qux"}, [op("test", "/baz", value="bar")], "/0/value", "another value stands at /baz (a string of 3 characters)"),
    "A.12 no parent": ({"foo": "bar"}, [op("add", "/baz/bat", value="qux")], "/0/path", "no member 'baz' in the object at the root (1 members)"),
    "A.15 a string is no number": ({"~1": 10}, [op("test", "/~01", value="10")], "/0/value", "(a number)"),
    "remove what is not there": ({"a": 1}, [op("remove", "/b")], "/0/path", "no member 'b'"),
    "replace what is not there": ({"a": {}}, [op("replace", "/a/b", value=1)], "/0/path", "in the object at /a (0 members)"),
    "an index past the end": ({"a": [1]}, [op("add", "/a/2", value=1)], "/0/path", "no place 2 in the array at /a: it has 1 items"),
    "replace at the length": ({"a": [1]}, [op("replace", "/a/1", value=1)], "/0/path", "no place 1"),
    "remove at the end": ({"a": [1]}, [op("remove", "/a/-")], "/0/path", "- stands for the end of the array at /a"),
    "a leading zero": ([1, 2], [op("replace", "/01", value=1)], "/0/path", "'01' is no index of the array at the root (2 items)"),
    "a negative index": ([1], [op("replace", "/-1", value=1)], "/0/path", "'-1' is no index"),
    "an exponent": ([1, 2], [op("replace", "/1e0", value=1)], "/0/path", "'1e0' is no index"),
    "a word as an index": ([1], [op("add", "/x", value=1)], "/0/path", "'x' is no index"),
    "below a string": ({"a": "b"}, [op("add", "/a/0", value=1)], "/0/path", "/a/0 is in no object or array: a string of 1 characters stands at /a"),
    "below a number": ({"a": 1}, [op("remove", "/a/b/c")], "/0/path", "a number stands at /a"),
    "below null": ({"a": None}, [op("test", "/a/b", value=1)], "/0/path", "null stands at /a"),
    "below a boolean": ({"a": True}, [moved("copy", "/a/b", "/c")], "/0/from", "a boolean stands at /a"),
    "an index of a source": ({"a": [1]}, [moved("copy", "/a/7", "/c")], "/0/from", "no place 7"),
    "a move into itself": ({"a": {"b": 1}}, [moved("move", "/a", "/a/b")], "/0/path", "/a cannot be moved into itself"),
    "the whole cannot go": ({"a": 1}, [op("remove", "")], "/0/path", "cannot be removed"),
    "the whole into a member": ({"a": 1}, [moved("move", "", "/a")], "/0/path", "the root cannot be moved into itself"),
    "an unknown operation": ({}, [op("merge", "/a", value=1)], "/0/op", "op must be one of add, remove, replace, move, copy, test; 'merge' is none"),
    "no operation": ({}, [{"path": "/a"}], "/0/op", "there is none"),
    "no path": ({}, [{"op": "remove"}], "/0", "remove needs path"),
    "no value": ({}, [op("add", "/a")], "/0", "add needs value"),
    "no source": ({}, [op("move", "/a")], "/0", "move needs from"),
    "a path that is no text": ({}, [{"op": "add", "path": 1, "value": 1}], "/0/path", "path must be a JSON Pointer, and is a number"),
    "a source that is no text": ({}, [{"op": "copy", "path": "/a", "from": ["b"]}], "/0/from", "is an array of 1 items"),
    "a path without a slash": ({"a": 1}, [op("remove", "a")], "/0/path", "must be empty or begin with /: 'a'"),
    "a bad escape": ({"a~b": 1}, [op("remove", "/a~b")], "/0/path", "~ is written ~0"),
    "an operation that is none": ({}, ["x"], "/0", "must be an operation"),
    "a patch that is none": ({}, {"op": "add"}, "", "must be an array of operations, and is an object of 1 members"),
    "the second operation": ({"a": 1}, [op("remove", "/a"), op("remove", "/a")], "/1/path", "no member 'a'"),
    "a long key is shortened": ({}, [op("remove", "/" + "k" * 500)], "/0/path", "…"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_applied_says_where_and_what_is_there(name):
    document, patch, at, why = FAULTS[name]
    fault = apply_patch(document, patch)
    assert isinstance(fault, PatchFault)
    assert fault.at == at
    assert why in fault.why
    assert len(fault.why) < 400


def test_no_value_of_the_document_is_told():
    fault = apply_patch({"a": "hunter2 hunter2"}, [op("test", "/a", value="x")])
    assert "hunter2" not in fault.why


def test_numbers_keep_their_digits_and_are_equal_by_value():
    document = {"a": Decimal("1.10"), "big": 2**70}
    patch = [
        op("test", "/a", value=Decimal("1.1")),
        moved("copy", "/big", "/c"),
        op("add", "/d", value=Decimal("0.30")),
    ]
    done = apply_patch(document, patch)
    assert write_json(done, numbers="exact") == f'{{"a":1.10,"big":{2**70},"c":{2**70},"d":0.30}}'
    assert isinstance(apply_patch({"a": True}, [op("test", "/a", value=1)]), PatchFault)


def test_what_a_patch_adds_twice_is_two_values():
    shared: list[int] = []
    done = apply_patch({}, [op("add", "/a", value=shared), moved("copy", "/a", "/b"), op("add", "/a/-", value=1)])
    assert done == {"a": [1], "b": []}
    assert shared == []


# -- nothing takes long or grows without end ------------------------------------------------------------------------


def test_copies_of_copies_end_at_a_budget():
    doubling = [moved("copy", "", "/a"), moved("copy", "", "/b")] * 20
    fault = apply_patch({"x": 1}, doubling)
    assert isinstance(fault, PatchFault)
    assert "nest deeper" in fault.why or "too much" in fault.why


def test_a_wide_value_copied_again_and_again_ends_at_a_budget():
    patch = [moved("copy", "/a", f"/b{n}") for n in range(100)]
    fault = apply_patch({"a": list(range(50_000))}, patch)
    assert isinstance(fault, PatchFault)
    assert "copies, moves or compares too much" in fault.why


@pytest.mark.parametrize("name", ["add", "remove", "test"])
def test_shifting_and_comparing_count_too(name):
    document = {"a": list(range(200_000)), "b": 1}
    one = op(name, "/a" if name == "test" else "/a/0", **({} if name == "remove" else {"value": [1]}))
    fault = apply_patch(document, [op("test", "/b", value=1), *[one] * 3_000])
    assert isinstance(fault, PatchFault)


def test_a_result_never_nests_deeper_than_an_argument_may():
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
    path = "/a" * 300 + "/b"
    fault = apply_patch(deep, [moved("copy", "", path)])
    assert isinstance(fault, PatchFault)
    assert "nest deeper than 512" in fault.why
    assert not isinstance(apply_patch({"x": deep}, [moved("move", "/x", "/y")]), PatchFault)


def test_so_many_operations_and_no_more():
    many = [op("test", "/a", value=1)] * MOST_OPERATIONS
    assert apply_patch({"a": 1}, many) == {"a": 1}
    fault = apply_patch({"a": 1}, [*many, many[0]])
    assert fault == PatchFault("", "holds 10001 operations; at most 10000 are taken")


# -- any patch at all -----------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.decimals(allow_nan=False, allow_infinity=False, places=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["", "a", "b", "~", "/", "0", "-", "é"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
POINTERS = st.lists(st.sampled_from(["", "a", "b", "~0", "~1", "0", "1", "-", "01", "é", "~"]), max_size=4).map(
    lambda tokens: "".join(f"/{token}" for token in tokens)
)
HOSTILE = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x", 1]), "path": POINTERS | VALUES,
        "from": POINTERS | VALUES, "value": VALUES,
    },
)  # fmt: skip


def a_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: a_copy(member) for key, member in value.items()}
    return [a_copy(item) for item in value] if isinstance(value, list) else value


def pointer(path: tuple[Any, ...]) -> str:
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


def edits(before: Any, after: Any, path: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """A patch from one value to another, written here from the RFC."""
    if isinstance(before, dict) and isinstance(after, dict):
        out = [op("remove", pointer((*path, key))) for key in before if key not in after]
        for key, member in after.items():
            place = (*path, key)
            out += edits(before[key], member, place) if key in before else [op("add", pointer(place), value=member)]
        return out
    if isinstance(before, list) and isinstance(after, list):
        both = min(len(before), len(after))
        out = [x for n in range(both) for x in edits(before[n], after[n], (*path, n))]
        out += [op("remove", pointer((*path, both))) for _ in before[both:]]
        return out + [op("add", pointer((*path, "-")), value=item) for item in after[both:]]
    same = type(before) is type(after) and before == after and str(before) == str(after)
    return [] if same else [op("replace", pointer(path), value=after)]


def sorted_text(value: Any) -> str:
    """The value with every digit, whatever the order of keys."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{sorted_text(value[k])}" for k in sorted(value)) + "}"
    return (
        "[" + ",".join(map(sorted_text, value)) + "]" if isinstance(value, list) else write_json(value, numbers="exact")
    )


@settings(max_examples=150, deadline=None)
@given(VALUES, VALUES)
def test_applying_the_edits_from_one_value_to_another_is_writing_the_other(before, after):
    patch = [op("test", "", value=before), *edits(before, after), op("test", "", value=after)]
    assert sorted_text(apply_patch(a_copy(before), patch)) == sorted_text(after)


@settings(max_examples=200, deadline=None)
@given(VALUES, st.lists(HOSTILE | VALUES, max_size=5) | VALUES)
def test_any_patch_gives_a_value_or_a_fault_and_never_touches_the_patch(document, patch):
    kept = sorted_text(patch)
    done = apply_patch(a_copy(document), patch)
    assert sorted_text(patch) == kept
    if isinstance(done, PatchFault):
        assert done.why
    else:
        write_json(done, numbers="exact")
