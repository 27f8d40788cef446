"""Patterns find what ECMA-262 says they find, in bounded time."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lastcall.contract.patterns import BadPattern, PatternBudget, compile_pattern

DATA = Path(__file__).parents[2] / "data" / "patterns" / "javascript.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def test_patterns_find_what_a_javascript_engine_finds() -> None:
    wrong = []
    engines = set()
    for row in ROWS:
        if not row.get("cases"):
            continue
        try:
            pattern = compile_pattern(row["pattern"])
        except BadPattern as error:
            assert "may not take part" in error.reason  # noqa: PT017
            continue
        engines.add(pattern.engine)
        wrong += [(row["pattern"], text) for text, found in row["cases"] if pattern.search(text) != found]
    assert wrong == []
    assert engines == {"plain", "linear", "backtracking"}


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("^a$", ["a"], ["a\n", "A"]),
        ("^\\d$", ["5"], ["\u0661"]),
        ("^\\s$", ["\ufeff", "\u2028", "\u00a0"], ["\x85", "\u180e"]),
        ("^.$", ["😀", "\ud800", "\x85"], ["\n", "\r", "\u2028"]),
        ("^.{2}$", ["😀😀"], ["😀"]),
        ("^[^]$", ["\n", "x"], [""]),
        ("^[^\\p{Cc}\\p{Zl}]{1,20}$", ["café 7"], ["a\x07b", "a\u2028b"]),
        ("^\\p{L}+$", ["é", "日"], ["1"]),
        ("^(?<y>\\d{4})-(?<m>0[1-9]|1[0-2])$", ["2024-12"], ["2024-13"]),
        ("^(?!tmp_).+(?<!\\.bak)$", ["data.csv"], ["tmp_x", "x.bak"]),
        ("(['\"])x\\1", ["'x'"], ["'x\""]),
        ("\\bfoo\\b", ["a foo b", "éfoo"], ["afoo", "foo_"]),
        ("^\\ud83d\\ude00$", ["😀"], ["\ud83d"]),
        ("^\\ud83d$", ["\ud83d"], ["😀", "\U0010f83d!"]),
        ("^\\p{Cs}\\P{Surrogate}$", ["\udc00x"], ["xx"]),
        ("", ["", "x"], []),
        ("a|b$", ["ax", "xb"], ["bx"]),
    ],
)
def test_the_hazards(pattern: str, yes: list[str], no: list[str]) -> None:
    search = compile_pattern(pattern).search
    assert [text for text in yes if not search(text)] == []
    assert [text for text in no if search(text)] == []


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "Invalid regular expression: /(/u: Unterminated group"),
        ("[\\w-.]", "Invalid regular expression: /[\\w-.]/u: Invalid character class"),
        ("\\p{Script=Foo}", "Invalid regular expression: /\\p{Script=Foo}/u: Invalid property name"),
        ("(?=a)\\p{sc=Foo}", "Invalid regular expression: /(?=a)\\p{sc=Foo}/u: Invalid property name"),
        (
            "(a{1000}){1000}",
            "Invalid regular expression: /(a{1000}){1000}/u: Regular expression too large, or not supported",
        ),
        (
            "\\p{Script=Greek}{100000}",
            "Invalid regular expression: /\\p{Script=Greek}{100000}/u: Regular expression too large, or not supported",
        ),
    ],
)
def test_a_bad_pattern_is_told_in_the_references_words(pattern: str, words: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compile_pattern(pattern)
    assert str(caught.value) == words
    assert caught.value.pattern == pattern


A = "a" * 100_000


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", A + "b"),
        ("^(x+x+)+y$", "x" * 48),
        ("(a*)*b", A),
        ("(?:a|a)*$", A + "b"),
        ("^(?:a?){500}a{500}$", "a" * 499),
        ("[a-z]+x", A),
        ("^[a-z]*[0-9]{0,5}x", A),
        ("a{1,50}b", A),
        ("(a|b|ab)*c", "ab" * 50_000),
        ("(.*)(.*)(.*)(.*)(.*)x", A),
        ("\\w+\\s*\\w+\\s*$", A + "!"),
    ],
)
def test_no_pattern_hangs(pattern: str, text: str) -> None:
    search = compile_pattern(pattern).search
    start = time.process_time()
    assert search(text) in (True, False)
    assert time.process_time() - start < 4


@pytest.mark.parametrize("pattern", ["^(?=(a+)+b)", "(a*)+\\1b", "(?<=(a+)+)b(?!a)", "^(?:(?!b)a+)+$"])
def test_bombs_of_look_around_and_references_end(pattern: str) -> None:
    search = compile_pattern(pattern).search
    start = time.process_time()
    with contextlib.suppress(PatternBudget):
        assert search("a" * 5_000 + "c") is False
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    ("pattern", "engine"),
    [
        ("^INC-[0-9]{4}$", "plain"),
        ("^\\d{4}-\\d{2}-\\d{2}$", "plain"),
        ("^(?:low|mid|high)$", "plain"),
        ("^[a-z]+$", "plain"),
        ("b$", "plain"),
        ("[a-z]+", "linear"),
        ("^[a-z]+-[a-z]+$", "linear"),
        ("^(a+)+$", "linear"),
        ("\\p{L}", "linear"),
        ("\\bx", "linear"),
        ("^a{300}$", "linear"),
        ("(?=a)b", "backtracking"),
        ("(a)\\1", "backtracking"),
    ],
)
def test_the_cheapest_safe_engine_is_chosen(pattern: str, engine: str) -> None:
    assert compile_pattern(pattern).engine == engine
    assert engine in repr(compile_pattern(pattern))


def test_simple_patterns_do_not_load_the_engine() -> None:
    code = (
        "import sys\n"
        "from lastcall.contract.patterns import compile_pattern\n"
        "assert compile_pattern('^INC-[0-9]{4}$').search('INC-1234')\n"
        "assert 'jsonschema_rs' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
