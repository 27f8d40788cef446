"""Writing JSON: every digit kept, or as JavaScript prints it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastcall.contract.json_writing import in_javascript_order, write_json
from lastcall.errors import LastcallBug


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ([True, False], "[true,false]"),
        ({"b": 1, "a": [], "10": {}, "9": 0}, '{"b":1,"a":[],"10":{},"9":0}'),
        ([Decimal("1.50"), Decimal("-0.0"), 1], "[1.50,-0.0,1]"),
        (7305118826640930017, "7305118826640930017"),
        ([0.1, 1e22], "[0.1,1e+22]"),
        ('é😀"\\\n\x00\u2028', '"é😀\\"\\\\\\n\\u0000\u2028"'),
        ({"\ud800": "x\udfff"}, '{"\\ud800":"x\\udfff"}'),
        ([Decimal(1), {"\udc00": None}], '[1,{"\\udc00":null}]'),
    ],
)
def test_exact_text(value: object, text: str) -> None:
    assert write_json(value, numbers="exact") == text  # type: ignore[arg-type]


# ECMA-262, Number::toString, and what JSON.stringify printed in a JavaScript engine
DOUBLES = [
    (1e21, "1e+21"), (1e20, "100000000000000000000"), (123456789012345680000.0, "123456789012345680000"),
    (1e-6, "0.000001"), (1e-7, "1e-7"), (1.5e-7, "1.5e-7"), (1.234e-6, "0.000001234"), (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"), (-1.5, "-1.5"), (100.0, "100"), (0.1, "0.1"), (-0.0, "0"),
    (2**53 + 1, "9007199254740992"), (10**400, "null"), (float("nan"), "null"), (float("-inf"), "null"),
    (Decimal("0.10"), "0.1"), (123456789012345678901234567890, "1.2345678901234568e+29"), (1234.5678, "1234.5678"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "text"), DOUBLES)
def test_doubles_print_as_javascript_prints_them(number: float, text: str) -> None:
    assert write_json(number, numbers="doubles") == text
    assert write_json([number], numbers="doubles") == f"[{text}]"


def test_integer_like_keys_come_first_in_ascending_order() -> None:
    members: dict[str, object] = dict.fromkeys(
        ["b", "10", "9", "01", "-1", "1.5", "4294967294", "4294967295", "0", "a", "\u0663", ""], 0
    )
    order = ["0", "9", "10", "4294967294", "b", "01", "-1", "1.5", "4294967295", "a", "\u0663", ""]
    assert in_javascript_order(members) == order
    text = write_json({"x": [members]}, numbers="doubles")  # type: ignore[dict-item]
    assert list(json.loads(text)["x"][0]) == order


def test_depth_and_length_have_no_trap() -> None:
    assert write_json(10**5000, numbers="exact") == "1" + "0" * 5000
    assert write_json(-(10**5000), numbers="exact") == "-1" + "0" * 5000
    deep: object = 1
    for _ in range(20_000):
        deep = [{"a": deep}]
    assert write_json(deep, numbers="exact") == '[{"a":' * 20_000 + "1" + "}]" * 20_000  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [float("nan"), Decimal("Infinity"), [object()], {1: 2}, {1: Decimal(1)}, {"a": {1, 2}}]
)
def test_what_is_no_json_value_is_a_bug(value: object) -> None:
    with pytest.raises(LastcallBug):
        write_json(value, numbers="exact")  # type: ignore[arg-type]


def test_a_value_that_contains_itself_is_a_bug() -> None:
    loop: list[object] = [Decimal(1)]
    loop.append(loop)
    with pytest.raises(LastcallBug):
        write_json(loop, numbers="exact")  # type: ignore[arg-type]


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[])) | st.decimals(
        allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def keys_in_order(tree: object) -> list[object]:
    if isinstance(tree, dict):
        return [(key, keys_in_order(member)) for key, member in tree.items()]
    return [keys_in_order(item) for item in tree] if isinstance(tree, list) else []


@given(TREES)
def test_exact_text_reads_back_as_the_same_value_in_the_same_order(tree: object) -> None:
    text = write_json(tree, numbers="exact")  # type: ignore[arg-type]
    text.encode("utf-8")
    back = json.loads(text, parse_float=Decimal, parse_int=int)
    assert back == tree
    assert keys_in_order(back) == keys_in_order(tree)


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(2.0**53)
def test_every_double_reads_back(number: float) -> None:
    assert float(write_json(number, numbers="doubles")) == number
