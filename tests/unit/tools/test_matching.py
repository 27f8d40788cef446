"""Searching a tree gives one answer, with ripgrep and without it."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest

import needs
from lastcall.nouns.ids import CallId
from lastcall.tools import ToolContext, globs, ignores, matching
from lastcall.tools.paths import Workspace
from lastcall.tools.permissions import Permissions, Rule
from lastcall.tools.search import Glob, Grep
from lastcall.tools.seen import FilesSeen

WITHOUT = {"PATH": "/nonexistent"}


@pytest.fixture
def hostile(tmp_path, tmp_path_factory):
    """A tree of everything that a search may stumble over."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("needle outside\n")
    top = tmp_path
    (top / ".git").mkdir()
    (top / ".git/config").write_text("needle\n")
    deep = top
    for level in range(130):
        deep = deep / f"d{level % 10}"
    deep.mkdir(parents=True)
    (deep / "too-deep.txt").write_text("needle\n")
    contents = {
        ".gitignore": b"*.log\nbuild/\n!keep.log\n",
        "a.log": b"needle\n",
        "keep.log": b"needle\n",
        "build/x.txt": b"needle\n",
        ".hidden/f": b"a needle\n",
        "crlf.txt": b"one\r\nneedle\r\nthree\r\n",
        "binary.bin": b"needle\0needle\n",
        "late.bin": b"x" * 9000 + b"\0\nneedle\n",
        "utf16.txt": "needle\n".encode("utf-16"),
        "bom.txt": b"\xef\xbb\xbfneedle\n",
        "latin1.txt": b"\xe9t\xe9 needle \xff\n",
        "broken.txt": b"nee\xf0\x9fdle needle\xe2\x82\n",
        "case.txt": "NEEDLE need\u212ale \u0130\n".encode(),
        "no-end.txt": b"first\nneedle",
        "empty.txt": b"",
        "blank.txt": b"\n\n",
        "new\nline.txt": b"needle\n",
        os.fsdecode(b"\xff\xfe.txt"): b"needle\n",
        "-e": b"needle\n",
        "--hidden": b"needle\n",
        "sp ace/q'uote\".txt": b"needle\n",
        "sub/.gitignore": b"!a.log\nf?.txt\n",
        "sub/a.log": b"needle\n",
        "sub/f1.txt": b"needle\n",
        "sub/long.txt": b"y" * 5000 + b" needle\n",
        "nested/.git/HEAD": b"needle\n",
        "nested/b.log": b"needle\n",
        "denied/secret.key": b"needle\n",
        "digits.txt": "n1 \u0663 needle\n\u2003spaces\n".encode(),
    }
    for name, content in contents.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(content)
    (top / "link.txt").symlink_to(outside / "secret.txt")
    (top / "folder-link").symlink_to(outside)
    (top / "inner-link.txt").symlink_to(top / "crlf.txt")
    (top / "loop").symlink_to(top)
    os.mkfifo(top / "fifo")
    return top


def ask(wait, top, arguments, *, path=None, deny=(), tool=Grep):
    rules = Permissions(deny=tuple(deny), cwd=str(top))
    environment = {"PATH": os.environ["PATH"]} if path is None else path
    context = ToolContext(
        workspace=Workspace(str(top)), seen=FilesSeen(), rules=rules, call_id=CallId("c"), environment=environment
    )
    return wait(tool().run, arguments, context)


PATTERNS = [
    "needle", "^needle$", r"needle\r?$", "^", "$", ".", "^$", r"\bneedle\b", "n.e.d.l.", "nee..?.?dle", r"\d needle", r"^\s",
    "(?i:needle)", "[^a-z\n]{3}", "needle|first", "(?<=a )needle", r"n(e)\1dle", "outside", "\u212a", "é", "\ufffd", r"\W{2}",
    "y{4000,} n", r"needle\0", r"\x00", "NEEDLE", "kle",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
@pytest.mark.parametrize("ignores", [False, True])
def test_a_hostile_tree_gives_one_answer_with_and_without_ripgrep(wait, hostile, monkeypatch, mode, ignores):
    needs.program("rg")
    monkeypatch.setattr(matching, "FILES_AT_ONCE", 0)
    deny = [Rule("Read", "denied/**")]
    for pattern in PATTERNS:
        arguments = {"pattern": pattern, "output_mode": mode, "-i": ignores, "-C": 1}
        found = ask(wait, hostile, arguments, deny=deny)
        assert found == ask(wait, hostile, arguments, path=WITHOUT, deny=deny), pattern
        assert "secret" not in found.content
        assert ".git/" not in found.content


def test_a_hostile_tree_is_searched_where_it_should_be(wait, hostile, monkeypatch):
    monkeypatch.setattr(matching, "FILES_AT_ONCE", 3)
    found = ask(wait, hostile, {"pattern": "needle"}, deny=[Rule("Read", "denied/**")])
    names = [line.removeprefix("/") for line in found.content.replace(f"{hostile}/", "\0").split("\0")[1:]]
    assert [name.rstrip("\n") for name in names] == [
        "--hidden", "-e", "bom.txt", "broken.txt", "crlf.txt", "digits.txt", "keep.log", "late.bin", "latin1.txt",
        "new\nline.txt", "no-end.txt", os.fsdecode(b"\xff\xfe.txt"), ".hidden/f", "nested/b.log", "sp ace/q'uote\".txt",
        "sub/a.log", "sub/long.txt",
    ]  # fmt: skip
    everything = ask(wait, hostile, {"pattern": "**/*.log"}, tool=Glob)
    assert sorted(everything.content.replace(f"{hostile}/", "").split("\n")) == [
        "a.log", "keep.log", "nested/b.log", "sub/a.log",
    ]  # fmt: skip


def test_what_is_left_out_is_searched_when_it_is_named(wait, hostile):
    assert ask(wait, hostile, {"pattern": "needle", "path": "a.log"}).display["numFiles"] == 1
    assert ask(wait, hostile, {"pattern": "needle", "path": "build"}).display["numFiles"] == 1


def test_a_file_that_is_swapped_for_a_link_after_the_sieve_is_not_read(wait, tmp_path, tmp_path_factory, monkeypatch):
    needs.program("rg")
    secret = tmp_path_factory.mktemp("outside") / "secret.txt"
    secret.write_text("needle outside\n")
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt"):
        (tmp_path / name).write_text("needle\n")
    monkeypatch.setattr(matching, "FILES_AT_ONCE", 0)
    real = matching.Sieve.passed

    def swapped(sieve):
        names = list(real(sieve))
        assert names == ["a.txt", "sub/b.txt"]
        (tmp_path / "a.txt").unlink()
        (tmp_path / "a.txt").symlink_to(secret)
        (tmp_path / "sub/b.txt").unlink()
        (tmp_path / "sub").rmdir()
        (tmp_path / "sub").symlink_to(secret.parent)
        secret.rename(secret.with_name("b.txt"))
        return names

    monkeypatch.setattr(matching.Sieve, "passed", swapped)
    assert ask(wait, tmp_path, {"pattern": "needle", "output_mode": "content"}).content == "No matches found"


def test_a_search_ends_when_there_is_more_than_is_told(wait, tmp_path, monkeypatch):
    for number in range(30):
        (tmp_path / f"{number:02}").write_text("key\n" * 5)
    for path in (None, WITHOUT):
        for at_once in (0, 5):
            monkeypatch.setattr(matching, "FILES_AT_ONCE", at_once)
            found = ask(wait, tmp_path, {"pattern": "key", "head_limit": 7}, path=path)
            lines = found.content.split("\n")
            assert [line.rpartition("/")[2] for line in lines[:7]] == [f"{n:02}" for n in range(7)]
            assert lines[7:] == ["", "[There is more; narrow the search.]"]
    exact = ask(wait, tmp_path, {"pattern": "key", "head_limit": 30})
    assert "more" not in exact.content.split("\n")[-1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_thousand_files_take_at_most_twice_ripgreps_time(wait, tmp_path):
    rg = needs.program("rg")
    text = "".join(f"some words of line {n} that nobody looks for\n" for n in range(8))
    for folder in range(1000):
        place = tmp_path / f"d{folder // 100}" / f"s{folder % 100}"
        place.mkdir(parents=True)
        for number in range(100):
            (place / f"f{number}.py").write_text(
                text + ("a rare needle\n" if (folder * 100 + number) % 997 == 0 else "")
            )
    (tmp_path / "long.txt").write_text("".join(f"line {n}\n" for n in range(10_000)))
    with (tmp_path / "sparse.txt").open("wb") as sparse:
        sparse.truncate(1 << 30)

    def took(work):
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            work()
            best = min(best, time.perf_counter() - began)
        return best

    def by_ripgrep(*words):
        subprocess.run([rg, "--no-config", "--hidden", *words], cwd=tmp_path, stdout=subprocess.PIPE, check=False)

    searched = {"pattern": "rare needle"}
    assert ask(wait, tmp_path, searched) == ask(wait, tmp_path, searched, path=WITHOUT)
    ratios = {
        "grep": took(lambda: ask(wait, tmp_path, searched)) / took(lambda: by_ripgrep("-l", "rare needle")),
        "grep in Python": took(lambda: ask(wait, tmp_path, searched, path=WITHOUT))
        / took(lambda: by_ripgrep("-l", "rare needle")),
        "glob": took(lambda: ask(wait, tmp_path, {"pattern": "**/*.py"}, tool=Glob))
        / took(lambda: by_ripgrep("--files", "--no-ignore", "--sortr", "modified", "-g", "*.py")),
    }
    print(json.dumps({name: round(ratio, 2) for name, ratio in ratios.items()}))
    assert ratios["grep"] < 2
    assert ratios["glob"] < 2
    assert ask(wait, tmp_path, {"pattern": "line 9999", "output_mode": "content"}).content.endswith(
        "long.txt:10000:line 9999"
    )


def test_a_hostile_ignore_file_or_pattern_stops_the_search_and_nothing_else(wait, tmp_path, monkeypatch):
    monkeypatch.setattr(globs, "MATCH_S", 0.000_1)
    monkeypatch.setattr(ignores, "MATCH_S", 0.000_1)
    hostile = "*a" * 30 + "[bc]"
    (tmp_path / ("a" * 250)).write_text("key")
    assert "takes too long" in ask(wait, tmp_path, {"pattern": hostile}, tool=Glob).content
    assert "stopped" in ask(wait, tmp_path, {"pattern": "key", "glob": hostile}).content
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text(f"{hostile}\n")
    found = ask(wait, tmp_path, {"pattern": "key"})
    assert found.failed
    assert "stopped" in found.content
