"""What the wider expression finds is at least what ours finds."""

from __future__ import annotations

import os
import subprocess

import pytest
import regex
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import needs
from lastcall.tools.supersets import superset


@pytest.mark.parametrize(
    "pattern",
    [
        r"\1", r"(a)\1", r"(?i)a", r"(?>a)", r"(?(1)a|b)", r"[[a]--[b]]", r"[a--b]", r"\p{L}", r"\Ra", r"a{,}", r"a{x}",
        r"(?:foo){e<=1}", r"\Kx", "a\nb", r"\x41", r"[\n]", r"\G", r"[[:alpha:]]", "(" * 60 + ")" * 60, "a" * 1001,
    ],
)  # fmt: skip
def test_what_is_not_followed_for_certain_has_none(pattern):
    assert superset(pattern, ignore_case=False) is None


@pytest.mark.parametrize(
    ("pattern", "ignores", "text", "other"),
    [
        ("foo", False, b"a foo", b"fo"),
        ("foo|ba{2}r", False, b"baar", b"bar"),
        (r"^x\d+$", False, b"x12", b"y12"),
        (r"def \w+\(", False, b"def f(", b"def (("),
        ("straße", False, "straße".encode(), b"strasse"),
        ("a.b", False, b"a\xff\xfeb", b"ab"),
        (r"(?<=a)b(?!c)", False, b"ab", b"a"),
        ("kiss", True, "\u212ai\u017f\u017f".encode(), b"kill"),
        ("KEY", True, b"key", b"kez"),
        (r"[a-c]x", False, b"bx", b"dx"),
        (r"a++b", False, b"aab", b"aac"),
    ],
)
def test_files_are_let_through_and_kept_back_by_ripgrep(tmp_path, pattern, ignores, text, other):
    assert sieved(tmp_path, superset(pattern, ignore_case=ignores), [text, other]) == [True, False]


def sieved(folder, wider, texts):
    rg = needs.program("rg")
    for number, text in enumerate(texts):
        (folder / str(number)).write_bytes(text)
    done = subprocess.run(
        [rg, "--no-config", "-l", "--text", "--encoding=none", "-e", wider, "--", *map(str, range(len(texts)))],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    named = done.stdout.split()
    return [os.fsencode(str(number)) in named for number in range(len(texts))]


ATOMS = st.sampled_from([
    "a", "b", "k", "S", "é", "ß", "K", "\ufffd", ".", r"\w", r"\W", r"\d", r"\s", r"\S", "[ab]", "[^a]", "[a-z]", r"[\w-]",
    "[é-ü]", "[]a]", r"[a\]]", "^", "$", r"\b", r"\B", "(?=a)", "(?!b)", "(?<=a)", r"\.", r"\t", "-", "#", " ", "}", "]",
])  # fmt: skip
QUANTIFIERS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "+?", "*+"])
PATTERNS = st.recursive(
    st.builds(lambda parts: "".join(a + q for a, q in parts), st.lists(st.tuples(ATOMS, QUANTIFIERS), max_size=4)),
    lambda inner: st.builds("({}){}{}".format, inner, QUANTIFIERS, inner) | st.builds("(?:{}|{})".format, inner, inner),
    max_leaves=4,
)
TEXTS = st.lists(
    st.sampled_from([
        b"a", b"b", b"k", b"s", b"S", b"K", "é".encode(), "É".encode(), "ß".encode(), "\u212a".encode(), "\u017f".encode(),
        b"\xff", b"\xe2\x82", b"\xf0\x9f", b"\xed\xa0\x80", b"\0", b"\r", b"\n", b"\t", b" ", b"-", b"1", b".", b"]",
        "\u0663".encode(), "\u2003".encode(), b"\x1c", "\ufffd".encode(), "\U0001f600".encode(), "\u0130".encode(),
    ]),
    max_size=6,
).map(b"".join)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(PATTERNS, st.booleans(), st.lists(TEXTS, min_size=12, max_size=40))
def test_no_line_that_ours_finds_is_kept_back(tmp_path, pattern, ignores, texts):
    wider = superset(pattern, ignore_case=ignores)
    assume(wider is not None and pattern)
    try:
        ours = regex.compile(pattern, regex.MULTILINE | (regex.IGNORECASE if ignores else 0))
    except regex.error:
        assume(False)
    passed = sieved(tmp_path, wider, texts)
    for text, let_through in zip(texts, passed, strict=True):
        decoded = text.decode("utf-8", "replace")
        lines = decoded.removesuffix("\n").split("\n") if decoded else []
        if any(ours.search(line) for line in lines):
            assert let_through, (pattern, wider, text)
