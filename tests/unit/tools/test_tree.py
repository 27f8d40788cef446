"""Walking a tree without leaving it."""

from __future__ import annotations

import os

from lastcall.tools import tree
from lastcall.tools.tree import files_below


def walk(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return [found.path for found in files_below(fd)]
    finally:
        os.close(fd)


def test_files_come_in_order_a_folders_own_before_those_below(tmp_path):
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "c.txt", "a/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert walk(tmp_path) == ["b.txt", "c.txt", "a/a.txt", "a/z.txt", "a/b/c.txt"]


def test_links_fifos_and_version_control_are_left_out(tmp_path):
    (tmp_path / "up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").touch()
    (tmp_path / ".hidden").touch()
    assert walk(tmp_path) == [".hidden"]


def test_a_tree_that_is_too_deep_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(tree, "MAX_DEPTH", 2)
    (tmp_path / "1/2/3").mkdir(parents=True)
    for name in ("1/f", "1/2/f", "1/2/3/f"):
        (tmp_path / name).touch()
    assert walk(tmp_path) == ["1/f", "1/2/f"]


def test_every_descriptor_is_closed(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").touch()
    before = len(os.listdir("/dev/fd"))
    walk(tmp_path)
    assert len(os.listdir("/dev/fd")) == before
