"""The one door to the engine: no exception of it comes through, and nothing runs away."""

from __future__ import annotations

import time

import pytest

from lastcall.contract.engine import NotCompiled, SearchBudget, backtracking_search, format_check, linear_search


def test_a_search_finds_what_is_there() -> None:
    assert linear_search("b+$")("abb")
    assert not linear_search("b+$")("abb\n")
    assert backtracking_search("(?<!a)b")("cb")
    assert not backtracking_search("(?<!a)b")("ab")


@pytest.mark.parametrize("compile_", [linear_search, backtracking_search])
@pytest.mark.parametrize("expression", ["(", "(a{1000}){1000}", "\\p{Script=Foo}"])
def test_what_the_engine_refuses_is_told_as_one_error(compile_: object, expression: str) -> None:
    with pytest.raises(NotCompiled):
        compile_(expression)  # type: ignore[operator]


def test_the_linear_search_has_no_look_around() -> None:
    with pytest.raises(NotCompiled):
        linear_search("(?=a)b")


def test_half_pairs_do_not_raise() -> None:
    assert linear_search("^[^a]$")("\ud800")
    assert backtracking_search("(?!a)\\u{10F800}")("\ud800")
    assert not format_check("uri")("http://x/\ud800")


def test_a_search_that_takes_too_long_is_given_up() -> None:
    start = time.process_time()
    with pytest.raises(SearchBudget):
        backtracking_search("^(?:(?=a)a+)+$")("a" * 50_000 + "b")
    assert not linear_search("^(?:a+)+$")("a" * 100_000 + "b")
    assert time.process_time() - start < 8


def test_formats_are_checked_one_string_at_a_time() -> None:
    check = format_check("ipv6")
    assert check("::1")
    assert not check("::g")
