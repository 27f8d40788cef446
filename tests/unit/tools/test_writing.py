"""Replacing a file whole or not at all."""

from __future__ import annotations

import os

import pytest

from lastcall.tools.paths import Workspace
from lastcall.tools.writing import NotWritten, put, state_of


@pytest.fixture
def place(tmp_path):
    found = Workspace(str(tmp_path)).open_place("a.txt")
    yield found
    os.close(found.parent_fd)


def test_a_file_that_appeared_meanwhile_is_not_replaced(place, tmp_path):
    (tmp_path / "a.txt").write_text("somebody's")
    assert put(place, b"x", expected=None) == NotWritten("somebody else changed it at the same time")
    assert (tmp_path / "a.txt").read_text() == "somebody's"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_put_in_its_place_is_not_followed(place, tmp_path, tmp_path_factory):
    victim = tmp_path_factory.mktemp("outside") / "victim"
    victim.write_text("precious")
    (tmp_path / "a.txt").symlink_to(victim)
    assert isinstance(put(place, b"x", expected=None), NotWritten)
    assert victim.read_text() == "precious"


def test_the_state_is_that_of_the_file_in_place(place, tmp_path):
    assert put(place, b"x", expected=None) == state_of(os.stat(tmp_path / "a.txt"))


def test_a_folder_swapped_for_a_link_after_it_was_opened_changes_nothing(tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (tmp_path / "d").mkdir()
    found = Workspace(str(tmp_path)).open_place("d/a.txt")
    (tmp_path / "d").rename(tmp_path / "moved")
    (tmp_path / "d").symlink_to(outside)
    put(found, b"x", expected=None)
    os.close(found.parent_fd)
    assert os.listdir(outside) == []
    assert (tmp_path / "moved/a.txt").read_bytes() == b"x"
