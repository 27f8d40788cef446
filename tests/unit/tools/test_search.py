"""`Glob` and `Grep`, as the model meets them."""

from __future__ import annotations

import os
import time

import pytest

from lastcall.tools import matching, search
from lastcall.tools.permissions import Rule
from lastcall.tools.search import Glob, Grep


@pytest.fixture
def glob(context, wait):
    return lambda pattern, deny=(), **arguments: wait(Glob().run, {"pattern": pattern, **arguments}, context(deny=deny))


@pytest.fixture
def grep(context, wait):
    def run(pattern, deny=(), **arguments):
        given = {f"-{k}" if len(k) == 1 else k: v for k, v in arguments.items()}
        return wait(Grep().run, {"pattern": pattern, **given}, context(deny=deny))

    return run


def shown(output, folder):
    return output.content.replace(f"{folder}/", "").split("\n")


def test_files_come_newest_first(glob, tmp_path):
    for age, name in enumerate(("new.py", "middle.py", "old.py", "other.txt")):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    assert shown(glob("*.py"), tmp_path) == ["new.py", "middle.py", "old.py"]
    assert glob("*.go").content == "No files found"


def test_links_version_control_and_forbidden_files_are_left_out(glob, grep, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("key")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file.txt").symlink_to(outside / "secret.txt")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/a.txt").write_text("key")
    (tmp_path / ".env.txt").write_text("key")
    (tmp_path / "mine.txt").write_text("key")
    deny = [Rule("Read", ".env*")]
    assert shown(glob("*.txt", deny=deny), tmp_path) == ["mine.txt"]
    assert shown(grep("key", deny=deny), tmp_path) == ["mine.txt"]
    assert "forbids reading" in grep("key", deny=deny, path=".env.txt").content
    assert "outside of the workspace" in glob("*", path="link").content
    assert "outside of the workspace" in grep("key", path="..").content


def test_many_files_are_cut_and_counted(glob, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "MAX_FILES_TOLD", 3)
    for number in range(5):
        (tmp_path / f"{number}.txt").touch()
    found = glob("*.txt")
    assert len(found.display["filenames"]) == 3
    assert found.content.endswith("[2 more; narrow the pattern.]")


def test_lines_come_with_file_and_number(grep, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "b.txt").write_text("two\r\n")
    assert shown(grep("two", output_mode="content"), tmp_path) == ["a.txt:2:two", "b.txt:1:two"]
    assert shown(grep("two", output_mode="content", n=False), tmp_path) == ["a.txt:two", "b.txt:two"]
    assert shown(grep("two", output_mode="count"), tmp_path) == ["a.txt:1", "b.txt:1"]
    assert shown(grep("two"), tmp_path) == ["a.txt", "b.txt"]
    assert shown(grep("two", glob="b*"), tmp_path) == ["b.txt"]
    assert shown(grep("TWO", path="a.txt", i=True), tmp_path) == ["a.txt"]
    assert grep("TWO").content == "No matches found"


def test_lines_around_are_marked(grep, tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\nx\n4\n5\nx\n")
    assert shown(grep("x", output_mode="content", C=1), tmp_path) == [
        "a.txt-2-2", "a.txt:3:x", "a.txt-4-4", "--", "a.txt-5-5", "a.txt:6:x",
    ]  # fmt: skip
    assert shown(grep("x", output_mode="content", A=1, head_limit=2), tmp_path)[:2] == ["a.txt:3:x", "a.txt-4-4"]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"foo\s*$", ["1", "4"]),
        (r"^\s*bar", ["3"]),
        (r"foo\s+bar", []),
        (r"^", ["1", "2", "3", "4"]),
        (r"o$", ["1", "4"]),
        (r"(?<=b)a", ["3"]),
        (r"\d|ü", []),
    ],
)
def test_an_expression_looks_at_one_line_at_a_time(grep, tmp_path, pattern, lines):
    (tmp_path / "a.txt").write_text("foo\n\nbar\nfoo")
    found = grep(pattern, output_mode="content")
    assert [line.split(":")[1] for line in found.content.split("\n") if ":" in line] == lines


def test_binary_files_are_passed_over(grep, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"key\0")
    assert grep("key").content == "No matches found"


def test_a_huge_file_is_searched_in_pieces_and_its_lines_keep_their_numbers(grep, tmp_path, monkeypatch):
    monkeypatch.setattr(matching, "PIECE_BYTES", 16)
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 30)) + "z" * 50 + "\nkey")
    assert shown(grep("line 1?7$", output_mode="content"), tmp_path) == ["a.txt:7:line 7", "a.txt:17:line 17"]
    assert shown(grep("key", output_mode="content"), tmp_path) == ["a.txt:31:key"]
    assert shown(grep("line", output_mode="count"), tmp_path) == ["a.txt:29"]
    assert shown(grep("line 2"), tmp_path) == ["a.txt"]


def test_a_hostile_expression_is_stopped(grep, tmp_path, monkeypatch):
    monkeypatch.setattr(matching, "SEARCH_S", 0.3)
    (tmp_path / "a.txt").write_text("a" * 5_000 + "\n")
    began = time.monotonic()
    found = grep(r"(a|aa)+(a|aa)+(a|aa)+$b")
    assert time.monotonic() - began < 10
    assert found.content.startswith(("The search was stopped", "No matches"))


@pytest.mark.parametrize("pattern", ["(", "[a", "*a", "(?P<n>a)(?P<n"])
def test_what_is_no_expression_is_refused(grep, pattern):
    assert "no regular expression" in grep(pattern).content


def test_missing_places_and_bad_patterns_are_refused(glob, grep):
    assert (
        "does not exist" in glob("*", path="nowhere").content or "not a directory" in glob("*", path="nowhere").content
    )
    assert grep("x", path="nowhere").failed
    assert "brace" in glob("{a").content
    assert "brace" in grep("x", glob="{a").content
