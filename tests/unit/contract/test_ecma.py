"""The grammar of ECMA-262's regular expressions, against what a JavaScript engine says."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from lastcall.contract.ecma import MAX_LENGTH, MAX_NESTING, BadSyntax, read_pattern

DATA = Path(__file__).parents[2] / "data" / "patterns" / "javascript.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
WRONG = [(row["pattern"], row["error"]) for row in ROWS if "error" in row]
RIGHT = [row["pattern"] for row in ROWS if "error" not in row]
MAYBE = "back-reference to a group that may not take part in the match"


def reason(pattern: str) -> str | None:
    try:
        read_pattern(pattern)
    except BadSyntax as error:
        return error.reason
    return None


def test_what_javascript_refuses_is_refused_with_its_reason() -> None:
    told = {pattern: reason(pattern) for pattern, _ in WRONG if not pattern.startswith("\\p{Script=")}
    assert told == {pattern: error for pattern, error in WRONG if not pattern.startswith("\\p{Script=")}


def test_what_javascript_takes_is_taken() -> None:
    refused = {pattern: reason(pattern) for pattern in RIGHT if reason(pattern)}
    assert set(refused.values()) <= {MAYBE}
    assert len(refused) < len(RIGHT) / 100


@pytest.mark.parametrize(
    ("pattern", "at"), [("ab(", 3), ("a[b-a]", 5), ("x\\_", 1), ("(?<a>x", 6), ("a{2,1}", 6), ("é\\u{110000}", 1)]
)
def test_a_fault_has_its_place(pattern: str, at: int) -> None:
    with pytest.raises(BadSyntax) as caught:
        read_pattern(pattern)
    assert caught.value.at == at


@pytest.mark.parametrize(
    "pattern", ["(a)?\\1", "(?:(a)|b)\\1", "(a)|\\1", "(?!(a))\\1", "(?<!(a))\\1", "(?:(a))*b\\1", "(?:(?=(a)))?(b)\\1"]
)
def test_a_reference_that_engines_disagree_about_is_refused(pattern: str) -> None:
    assert reason(pattern) == MAYBE


@pytest.mark.parametrize(
    "pattern", ["(a)\\1", "(?<n>a)\\k<n>", "\\1(a)", "(a\\1)", "(?:(a)\\1)?", "(?=(a))\\1", "(?:(a))+\\1"]
)
def test_other_references_are_taken(pattern: str) -> None:
    assert reason(pattern) is None


def test_hostile_patterns_are_read_or_refused_quickly() -> None:
    start = time.process_time()
    assert reason("(" * (MAX_NESTING + 1)) == "Regular expression too large"
    assert reason("(" * MAX_NESTING + ")" * MAX_NESTING) is None
    assert reason("a" * (MAX_LENGTH + 1)) == "Regular expression too large"
    assert reason("(?<a" * 10_000) == "Invalid capture group name"
    assert reason("(?<" + "a" * 201 + ">x)") == "Invalid capture group name"
    assert reason("\\ud83d\\ude00" * 5_000) is None
    assert reason("\\\\" * 15_000) is None
    assert reason("".join(f"(?<n{i}>x)\\k<n{i}>" for i in range(1_500))) is None
    assert reason("(?:" * 90 + "()" * 6_000 + ")" * 90) is None
    assert reason("a?" * 15_000) is None
    assert reason("[" * 60_000) == "Unterminated character class"
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("pattern", "length", "example"),
    [
        ("^INC-[0-9]{4}$", 0, "INC-0000"),
        ("^[A-Z]{2}[0-9A-Z]{2,12}$", 9, "AAAAAAAAA"),
        ("^(?:low|high)-\\d+$", 9, "low-00000"),
        ("^(a|b)*$", 0, ""),
        ("\\p{L}{2}|x", 0, "aa"),
        ("[^a-zA-Z0-9]", 0, "-"),
        ("^[\\u0400-\\u04ff]$", 0, "\u0400"),
        ("a{2000000}", 0, None),
        ("(a)\\1", 0, None),
        ("[^\\p{L}]", 0, None),
        ("\\p{Script=Thai}", 0, None),
        ("x*y+z", 4, "xxyz"),
        ("(?=b)b\\b$", 0, "b"),
        ("\\1(b)", 0, "b"),
        ("\\p{Any}\\P{Any}?", 0, "a"),
    ],
)
def test_a_pattern_shows_an_example_where_it_can(pattern: str, length: int, example: str | None) -> None:
    found = read_pattern(pattern).example
    assert (None if found is None else found.text(length)) == example
