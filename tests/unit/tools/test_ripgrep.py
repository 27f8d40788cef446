"""ripgrep as a sieve: it names files out of its list, and nothing else."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

import needs
from lastcall.tools.paths import Workspace
from lastcall.tools.ripgrep import Sieve, find_ripgrep


@pytest.fixture
def sieve(tmp_path):
    rg = needs.program("rg")

    def run(expression, files, program=rg):
        fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with Sieve(program, expression, fd, str(tmp_path), files) as one:
                assert one.wait(30)
                return list(one.passed())
        finally:
            os.close(fd)

    return run


def test_files_that_may_match_pass_in_the_given_order(sieve, tmp_path):
    odd = ["z", "-e", "two\nlines", "sub/--pre=x", os.fsdecode(b"\xff")]
    (tmp_path / "sub").mkdir()
    for name in [*odd, "not listed"]:
        (tmp_path / name).write_bytes(b"\xff key\0")
    (tmp_path / "no").write_text("nothing")
    assert sieve("key", [*odd, "no", "gone"]) == odd


def test_a_configuration_or_an_ignore_file_changes_nothing(sieve, tmp_path, monkeypatch):
    (tmp_path / "config").write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    (tmp_path / ".ignore").write_text("*\n")
    (tmp_path / "a").write_text("key")
    assert sieve("key", ["a", "config"]) == ["a"]


@pytest.mark.parametrize("script", ["echo out of sorts >&2", "exit 3", "kill -9 $$"])
def test_all_pass_where_ripgrep_fails(sieve, tmp_path, script):
    program = tmp_path / "broken"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(stat.S_IRWXU)
    assert sieve("key", ["a", "b"], program=str(program)) == ["a", "b"]
    assert sieve("(", ["a", "b"]) == ["a", "b"]  # no expression of its


def test_a_program_in_the_workspace_is_not_used(tmp_path):
    rg = needs.program("rg")
    workspace = Workspace(str(tmp_path))
    assert find_ripgrep({"PATH": os.path.dirname(rg)}, workspace) == os.path.realpath(rg)
    assert find_ripgrep({"PATH": "/nonexistent"}, workspace) is None
    shutil.copy(rg, tmp_path / "rg")
    assert find_ripgrep({"PATH": str(tmp_path)}, workspace) is None
    assert find_ripgrep({"PATH": "."}, workspace) is None


def test_one_that_is_closed_has_ended(tmp_path):
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(stat.S_IRWXU)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    with Sieve(str(program), "x", fd, str(tmp_path), ["a"]) as one:
        assert not one.wait(0.01)
    os.close(fd)
    assert one.wait(0)
