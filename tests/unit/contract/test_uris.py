"""URI references."""

from __future__ import annotations

import pytest

from lastcall.contract.uris import resolve, split, unescape, without_fragment

# RFC 3986, 5.4.1 and 5.4.2
BASE = "http://a/b/c/d;p?q"
EXAMPLES = [
    ("g:h", "g:h"),
    ("g", "http://a/b/c/g"),
    ("./g", "http://a/b/c/g"),
    ("g/", "http://a/b/c/g/"),
    ("/g", "http://a/g"),
    ("//g", "http://g"),
    ("?y", "http://a/b/c/d;p?y"),
    ("g?y", "http://a/b/c/g?y"),
    ("#s", "http://a/b/c/d;p?q#s"),
    ("g#s", "http://a/b/c/g#s"),
    ("g?y#s", "http://a/b/c/g?y#s"),
    (";x", "http://a/b/c/;x"),
    ("", "http://a/b/c/d;p?q"),
    (".", "http://a/b/c/"),
    ("./", "http://a/b/c/"),
    ("..", "http://a/b/"),
    ("../", "http://a/b/"),
    ("../g", "http://a/b/g"),
    ("../..", "http://a/"),
    ("../../g", "http://a/g"),
    ("../../../g", "http://a/g"),
    ("/./g", "http://a/g"),
    ("/../g", "http://a/g"),
    ("g.", "http://a/b/c/g."),
    ("..g", "http://a/b/c/..g"),
    ("./g/.", "http://a/b/c/g/"),
    ("g/./h", "http://a/b/c/g/h"),
    ("g;x=1/../y", "http://a/b/c/y"),
    ("g?y/./x", "http://a/b/c/g?y/./x"),
    ("g#s/../x", "http://a/b/c/g#s/../x"),
]


@pytest.mark.parametrize(("reference", "target"), EXAMPLES)
def test_references_resolve_as_the_rfc_lists(reference: str, target: str) -> None:
    assert resolve(BASE, reference) == target


@pytest.mark.parametrize(
    ("base", "reference", "target"),
    [
        ("", "other.json#/a", "other.json#/a"),
        ("", "#/a", "#/a"),
        ("folder/x.json", "y.json", "folder/y.json"),
        ("x.json", "#a", "x.json#a"),
        ("urn:uuid:1-2", "#/$defs/a", "urn:uuid:1-2#/$defs/a"),
        ("http://host", "a", "http://host/a"),
        ("x", "../y", "y"),
    ],
)
def test_relative_and_opaque_bases_resolve_too(base: str, reference: str, target: str) -> None:
    assert resolve(base, reference) == target


def test_parts_and_fragments() -> None:
    assert split("http://h/p?q#f") == ("http", "h", "/p", "q", "f")
    assert split("a\nb") == (None, None, "a\nb", None, None)
    assert without_fragment("x#y#z") == "x"


def test_escapes_are_read_as_utf8() -> None:
    assert unescape("a%25b%E6%97%A5") == "a%b日"
    assert unescape("%FF") == "\ufffd"
    assert unescape("100%") == "100%"
