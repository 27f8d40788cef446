"""Reading JSON: what is taken, what is refused, and the bounds."""

from __future__ import annotations

import json
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.contract.json_grammar import JsonFault, Read
from lastcall.contract.json_text import (
    excerpt,
    has_lone_surrogates,
    lone_surrogates,
    nesting,
    read_json,
)
from lastcall.contract.json_writing import Numbers
from lastcall.nouns.tools import UnreadableCause as Cause


def value(text: str, numbers: Numbers = "exact") -> object:
    result = read_json(text, numbers=numbers)
    assert isinstance(result, Read), result
    return result.value


def cause(text: str, numbers: Numbers = "exact", **bounds: int) -> Cause:
    result = read_json(text, numbers=numbers, **bounds)
    assert isinstance(result, JsonFault), result
    return result.cause


def test_exact_numbers_are_kept_digit_by_digit() -> None:
    numbers = value("[7305118826640930017,19.99,1.50,-0.0,1e2,1e-400,0e999999]")
    assert isinstance(numbers, list)
    assert [str(n) for n in numbers] == ["7305118826640930017", "19.99", "1.50", "-0.0", "1E+2", "1E-400", "0E+999999"]
    assert type(numbers[0]) is int


def test_doubles_are_what_javascript_reads() -> None:
    numbers = value("[9007199254740993,123456789012345678901234567890,1e400,-1e400,0.1,12]", "doubles")
    assert numbers == [9007199254740992, 1.2345678901234568e29, float("inf"), float("-inf"), 0.1, 12]
    assert isinstance(numbers, list)
    assert type(numbers[1]) is float


@pytest.mark.parametrize("text", ["1e309", "-1e400", "[1e99999999999]", "1" + "0" * 400 + ".5", "1e-10001"])
def test_what_no_double_reaches_is_refused_natively(text: str) -> None:
    assert cause(text) is Cause.NOT_A_NUMBER


@pytest.mark.parametrize("numbers", ["exact", "doubles"])
@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a":-Infinity}'])
def test_nan_and_infinity_are_refused_in_both(text: str, numbers: Numbers) -> None:
    assert cause(text, numbers) is Cause.NOT_A_NUMBER


def test_long_integers_have_no_trap_at_4300_digits() -> None:
    assert value("1" + "0" * 5000) == 10**5000
    assert value("-1" + "0" * 5000) == -(10**5000)
    assert cause("9" * 10_001) is Cause.NOT_A_NUMBER
    assert cause("0." + "9" * 10_001) is Cause.NOT_A_NUMBER


def test_a_digit_string_over_the_budget_is_refused_at_once() -> None:
    start = time.process_time()
    assert cause("9" * 100_000_000) is Cause.TOO_LONG
    assert cause("9" * 9_000_000) is Cause.NOT_A_NUMBER
    assert time.process_time() - start < 4


def test_the_byte_budget_counts_utf8() -> None:
    assert cause('"éé"', max_bytes=5) is Cause.TOO_LONG
    assert read_json('"éé"', numbers="exact", max_bytes=6) == Read("éé")
    assert read_json('"\ud800"', numbers="exact", max_bytes=5) == Read("\ud800")
    assert cause("[1,2]", max_bytes=4) is Cause.TOO_LONG


def test_depth_is_capped_before_reading() -> None:
    assert read_json("[" * 200 + "]" * 200, numbers="exact") == Read(nest(200))
    fault = read_json("[" * 201 + "]" * 201, numbers="exact")
    assert isinstance(fault, JsonFault)
    assert (fault.cause, fault.offset) == (Cause.TOO_DEEP, 200)
    deep = read_json('{"a":' * 3000 + "1" + "}" * 3000, numbers="exact", max_depth=3000)
    assert isinstance(deep, Read)


def nest(depth: int) -> list[object]:
    node: list[object] = []
    for _ in range(depth - 1):
        node = [node]
    return node


def test_brackets_in_strings_are_no_depth() -> None:
    text = '["' + "[" * 1000 + '\\"[[",' + ",".join(["{}"] * 300) + "]"
    assert isinstance(read_json(text, numbers="exact"), Read)
    assert nesting(text, 10) == 2
    assert nesting('"[[[[[[', 1) == 0
    assert nesting('"[[[[[[\\', 1) == 0
    assert nesting("]]]][[[[", 1) == 0


def test_hostile_depth_and_escapes_are_linear() -> None:
    start = time.process_time()
    for text in ("[" * 2_000_000, '"' + '\\"' * 1_000_000, "{" * 300 + "\\" * 1_000_000, '["' + '","[' * 200_000):
        assert isinstance(read_json(text, numbers="exact"), JsonFault)
    assert time.process_time() - start < 20


def test_duplicate_keys_are_found_by_pointer() -> None:
    assert read_json('{"a":{"b":1,"b":2}}', numbers="exact") == Read({"a": {"b": 2}}, ("/a/b",))


def test_an_exhausted_stack_is_no_fault_of_the_text() -> None:
    def at_the_limit(depth: int) -> object:
        try:
            return at_the_limit(depth + 1)
        except RecursionError:
            return None if depth < 100 else read_json("[" * 150 + "]" * 150, numbers="exact")

    assert at_the_limit(0) == Read(nest(150))


def test_an_excerpt_stays_on_one_line() -> None:
    assert excerpt("ab\ncd", 2) == "ab\\ncd"
    assert excerpt("x" * 50 + "\x00" + "y" * 50, 50, around=3) == "…xxx\\u0000yy…"


def test_lone_surrogates_are_kept_and_found() -> None:
    read = value('{"a":["ok","\\ud83d x"],"b/c":"\\ud83d\\ude00","\\udc00":{"d":"\\udfff"}}')
    assert lone_surrogates(read) == ("/a/1", "/\udc00", "/\udc00/d")  # type: ignore[arg-type]
    assert lone_surrogates({"a": ["é", 1, None]}) == ()
    assert has_lone_surrogates("a\ud800")
    assert not has_lone_surrogates("a😀é")


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.decimals(allow_nan=False, allow_infinity=False, places=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES, st.sampled_from([None, 1]))
def test_whatever_the_standard_library_writes_is_read_back(tree: object, indent: int | None) -> None:
    def plain(node: object) -> object:
        return str(node) if isinstance(node, Decimal) else node

    text = json.dumps(tree, default=plain, indent=indent)
    assert value(text) == json.loads(text)


@given(st.text(max_size=40))
def test_no_text_raises(text: str) -> None:
    assert isinstance(read_json(text, numbers="exact"), (Read, JsonFault))
    assert isinstance(read_json(text, numbers="doubles"), (Read, JsonFault))
