"""A working directory that is gone is an error of the caller's, in one sentence."""

from __future__ import annotations

import pytest

from lastcall.cli.here import working_directory
from lastcall.errors import BadConfig


def test_the_working_directory_is_the_process_s(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert working_directory() == str(tmp_path.resolve())


def test_one_that_was_removed_is_said_to_be_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(BadConfig, match="the working directory cannot be used"):
        working_directory()
