"""Patterns for paths."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.tools import globs
from lastcall.tools.globs import BadPattern, path_matcher


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/er/a.py", True),
        ("./*.py", "a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/*.py", "x/src/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/a.py", True),
        ("**/test_?.py", "x/test_1.py", True),
        ("**/test_?.py", "x/test_12.py", False),
        ("**", "x/y", True),
        ("*.{ts,tsx}", "a.tsx", True),
        ("*.{ts,tsx}", "a.js", False),
        ("src/{a,b/*}.py", "src/b/c.py", True),
        ("[ab].c", "a.c", True),
        ("[!ab].c", "a.c", False),
        ("[!ab].c", "x.c", True),
        ("a[", "a[", True),
        (r"\*.py", "*.py", True),
        (r"\*.py", "a.py", False),
        ("a.b", "aXb", False),
        ("a,b", "a,b", True),
        ("a}", "a}", True),
    ],
)
def test_a_pattern_matches_what_it_says(pattern, path, matches):
    assert path_matcher(pattern).matches(path) is matches


@pytest.mark.parametrize("pattern", ["", "./", "{a", "a{b,{c}"])
def test_a_pattern_that_says_nothing_is_refused(pattern):
    with pytest.raises(BadPattern):
        path_matcher(pattern)


@given(st.text(alphabet="ab*?[]{}!,/\\^-.é(", max_size=12))
def test_any_text_is_a_pattern_or_is_refused(pattern):
    with contextlib.suppress(BadPattern):
        path_matcher(pattern).matches("a/b")


def test_a_pattern_of_many_stars_costs_little_or_is_given_up(monkeypatch):
    began = time.monotonic()
    with contextlib.suppress(TimeoutError):
        assert not path_matcher("*a" * 30 + "[bc]").matches("a" * 250)
    assert time.monotonic() - began < 10
    monkeypatch.setattr(globs, "MATCH_S", 0.000_1)
    with pytest.raises(TimeoutError):
        path_matcher("*a" * 30 + "[bc]").matches("a" * 250)
