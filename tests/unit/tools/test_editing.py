"""`Write` and `Edit`: only what the model knows, whole or not at all, never outside."""

from __future__ import annotations

import os
import stat

import pytest

from lastcall.tools.editing import EditFile, WriteFile
from lastcall.tools.files import ReadFile
from lastcall.tools.permissions import Rule


@pytest.fixture
def write(context, wait):
    def run(path, content, **fields):
        return wait(WriteFile().run, {"file_path": str(path), "content": content}, context(**fields))

    return run


@pytest.fixture
def edit(context, wait):
    def run(path, old, new, **arguments):
        given = {"file_path": str(path), "old_string": old, "new_string": new, **arguments}
        return wait(EditFile().run, given, context())

    return run


@pytest.fixture
def read(context, wait):
    return lambda path: wait(ReadFile().run, {"file_path": str(path)}, context())


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


# -- Write ----------------------------------------------------------------------------------------------------------


def test_a_new_file_is_made_with_the_folders_above_it(write, tmp_path):
    done = write("a/b/c.txt", "one\r\ntwo ü\n")
    assert not done.failed
    assert (tmp_path / "a/b/c.txt").read_bytes() == "one\r\ntwo ü\n".encode()
    assert leftovers(tmp_path / "a/b") == []


def test_a_file_that_was_not_read_is_not_replaced(write, tmp_path):
    (tmp_path / "a.txt").write_text("precious")
    assert "has not been read" in write("a.txt", "x").content
    assert (tmp_path / "a.txt").read_text() == "precious"


def test_a_file_that_was_read_is_replaced_and_keeps_its_access_bits(write, read, tmp_path):
    path = tmp_path / "a.sh"
    path.write_text("old")
    path.chmod(0o750)
    read("a.sh")
    assert not write("a.sh", "new").failed
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_what_this_run_wrote_it_may_write_again(write, tmp_path):
    write("a.txt", "1")
    assert not write("a.txt", "2").failed
    assert (tmp_path / "a.txt").read_text() == "2"


def test_a_file_that_somebody_changed_since_is_not_replaced(write, read, tmp_path):
    (tmp_path / "a.txt").write_text("old")
    read("a.txt")
    (tmp_path / "a.txt").write_text("somebody's work")
    assert "changed since" in write("a.txt", "x").content
    assert (tmp_path / "a.txt").read_text() == "somebody's work"


def test_a_read_only_file_stays_as_it_is(write, read, tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o444)
    read("a.txt")
    assert "read-only" in write("a.txt", "x").content
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize("path", ["../out.txt", "/etc/lastcall-test", "a/../../out.txt", "/proc/self/comm", "~/x"])
def test_nothing_is_written_outside(write, tmp_path, path):
    assert write(path, "x").failed or path == "~/x"  # without a home `~` is a name like any other
    assert not (tmp_path.parent / "out.txt").exists()
    assert not os.path.exists("/etc/lastcall-test")


def test_a_link_that_leads_outside_is_not_written_through(write, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("precious")
    (tmp_path / "folder").symlink_to(outside)
    (tmp_path / "file").symlink_to(outside / "a.txt")
    (tmp_path / "new").symlink_to(outside / "b.txt")
    for path in ("folder/a.txt", "folder/b.txt", "folder/deep/b.txt", "file", "new"):
        assert "outside of the workspace" in write(path, "x").content
    assert sorted(os.listdir(outside)) == ["a.txt"]
    assert (outside / "a.txt").read_text() == "precious"


def test_a_hard_link_is_replaced_and_its_other_name_keeps_the_old_content(write, read, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "a.txt"
    outside.write_text("precious")
    os.link(outside, tmp_path / "a.txt")
    read("a.txt")
    assert not write("a.txt", "x").failed
    assert outside.read_text() == "precious"


def test_devices_fifos_and_folders_are_not_written(write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert "a FIFO" in write("pipe", "x").content
    assert "a directory" in write("folder", "x").content


def test_a_rule_about_a_file_holds_for_every_way_to_it(write, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "conf")
    assert "rule that forbids" in write("way/secret.txt", "x", deny=[Rule("Write", "conf/**")]).content
    assert not (tmp_path / "conf/secret.txt").exists()


def test_half_a_character_is_not_written(write, tmp_path):
    assert "surrogate" in write("a.txt", "\ud800").content
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_file(write, read, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")
    read("a.txt")

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = write("a.txt", "new")
    assert "no space left on device" in done.content
    assert (tmp_path / "a.txt").read_text() == "old"
    assert leftovers(tmp_path) == []


# -- Edit -----------------------------------------------------------------------------------------------------------


def test_one_piece_is_replaced(edit, tmp_path):
    (tmp_path / "a.txt").write_text("one two three")
    assert not edit("a.txt", "two", "2").failed
    assert (tmp_path / "a.txt").read_text() == "one 2 three"


def test_a_piece_that_is_there_twice_needs_more_words_or_all(edit, tmp_path):
    (tmp_path / "a.txt").write_text("x x")
    assert "2 times" in edit("a.txt", "x", "y").content
    assert (tmp_path / "a.txt").read_text() == "x x"
    assert not edit("a.txt", "x", "y", replace_all=True).failed
    assert (tmp_path / "a.txt").read_text() == "y y"


def test_a_piece_that_is_not_there_changes_nothing(edit, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    for old, new, words in (("z", "y", "is not in"), ("", "y", "empty"), ("x", "x", "the same")):
        assert words in edit("a.txt", old, new).content
    assert "does not exist" in edit("b.txt", "x", "y").content
    assert (tmp_path / "a.txt").read_text() == "x"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nX\r\nY\r\nc\r\n"),
        (b"a\nb\nc\n", b"a\nX\nY\nc\n"),
        (b"\xef\xbb\xbfa\nb\nc\n", b"\xef\xbb\xbfa\nX\nY\nc\n"),
        ("a\nb\nc\n".encode("utf-16"), "a\nX\nY\nc\n".encode("utf-16")),
        (b"a\nb\nc\n\xe9", b"a\nX\nY\nc\n\xe9"),
    ],
    ids=["crlf", "lf", "utf-8 mark", "utf-16", "latin-1"],
)
def test_line_ends_encoding_and_mark_stay(edit, tmp_path, before, after):
    (tmp_path / "a.txt").write_bytes(before)
    assert not edit("a.txt", "b\nc", "X\nY\nc").failed
    assert (tmp_path / "a.txt").read_bytes() == after


def test_what_the_encoding_cannot_hold_is_refused(edit, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    assert "encoding (latin-1)" in edit("a.txt", "caf", "\u4e2d").content
    assert (tmp_path / "a.txt").read_bytes() == b"caf\xe9"


def test_a_binary_file_is_no_text(edit, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"ab\0c")
    assert "not a text file" in edit("a.bin", "ab", "x").content
