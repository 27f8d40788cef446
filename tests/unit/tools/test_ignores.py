"""What `.gitignore` files leave out: as git says, and as ripgrep reads them."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import needs
from lastcall.tools import ignores
from lastcall.tools.ignores import ignores_above, parse_lines
from lastcall.tools.paths import Workspace
from lastcall.tools.tree import files_below


def plant(top, files):
    for path, content in files.items():
        place = top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)


def kept(workspace, top):
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return sorted(f.path for f in files_below(fd, ignores_above(str(top), workspace)))
    finally:
        os.close(fd)


def test_the_nearest_file_and_in_it_the_last_line_wins(tmp_path):
    (tmp_path / ".git").mkdir()
    plant(
        tmp_path,
        {
            ".gitignore": "*.log\n!keep.log\nbuild/\n/only-here\n# a remark\n\n",
            "a.log": "",
            "keep.log": "",
            "build/x": "",
            "only-here": "",
            "sub/only-here": "",
            "sub/.gitignore": "!b.log\r\nkeep.log\r\n",
            "sub/b.log": "",
            "sub/keep.log": "",
            "sub/c.log": "",
            "sub/build": "a file",
        },
    )
    workspace = Workspace(str(tmp_path))
    assert kept(workspace, tmp_path) == [
        ".gitignore",
        "keep.log",
        "sub/.gitignore",
        "sub/b.log",
        "sub/build",
        "sub/only-here",
    ]
    assert kept(workspace, tmp_path / "sub") == [".gitignore", "b.log", "build", "only-here"]


def test_outside_of_a_repository_nothing_is_left_out_and_a_repository_within_starts_anew(tmp_path):
    plant(tmp_path, {".gitignore": "*.x\n", "a.x": "", "inner/.git/HEAD": "", "inner/b.x": ""})
    workspace = Workspace(str(tmp_path))
    assert kept(workspace, tmp_path) == [".gitignore", "a.x", "inner/b.x"]
    (tmp_path / ".git").mkdir()
    assert kept(workspace, tmp_path) == [".gitignore", "inner/b.x"]


def test_links_and_files_above_the_workspace_are_not_read(tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "rules").write_text("*\n")
    (tmp_path / ".git").mkdir()
    plant(tmp_path, {".gitignore": "*.x\n", "work/a.x": "", "work/sub/b.y": "", "work/sub/deep/c": ""})
    (tmp_path / "work/.gitignore").symlink_to(outside / "rules")
    (tmp_path / "work/sub/.gitignore").symlink_to(outside / "rules")
    workspace = Workspace(str(tmp_path / "work"))
    assert kept(workspace, tmp_path / "work") == ["a.x", "sub/b.y", "sub/deep/c"]
    assert kept(workspace, tmp_path / "work/sub/deep") == ["c"]
    os.mkfifo(tmp_path / "work/sub/deep/.gitignore")  # is not waited for
    assert kept(workspace, tmp_path / "work/sub/deep") == ["c"]


@pytest.mark.parametrize("line", ["", "#x", "!", "\\", "[z-a]", "[", "   ", "a\\"])
def test_a_line_that_says_nothing_leaves_the_others_alone(line):
    (lines,) = parse_lines(f"{line}\nfoo\n".encode())
    assert lines.match("foo", folder=False)
    assert not lines.match("bar", folder=False)


def test_a_line_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(ignores, "MATCH_S", 0.000_1)
    (lines,) = parse_lines(b"*a" * 30 + b"[bc]\n")
    with pytest.raises(TimeoutError):
        lines.match("a" * 250, folder=False)


NAMES = ["a", "b", "ab", "a.x", "b.x", "ü", "x y", "-a", "#h"]
PATTERNS = [
    "a", "/a", "a/", "a/b", "a/*", "*.x", "!*.x", "!a", "a/**", "**/b", "a/**/b", "/*", "*", "!/a", "!b", "?", "[ab]", "[!a]",
    "ab*", "\\#h", "x y", "ü", "b/", "!b/", "*/a", "-a",
]  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_same_files_are_left_out_as_by_ripgrep(tmp_path_factory, data):
    rg = needs.program("rg")
    top = tmp_path_factory.mktemp("t")
    (top / ".git").mkdir()
    folders = data.draw(st.lists(st.lists(st.sampled_from(["a", "b", "ab", "d"]), max_size=3), max_size=5))
    for folder in [[], *folders]:
        place = top.joinpath(*folder)
        place.mkdir(parents=True, exist_ok=True)
        for name in data.draw(st.lists(st.sampled_from(NAMES), max_size=5)):
            if not (place / name).is_dir() and not any((p).is_file() for p in [place, *place.parents]):
                (place / name).write_text("x")
            if (place / name).is_file() and name in {"a", "b", "ab"}:
                (place / name).unlink()
                (place / f"{name}.x").write_text("x")
        lines = data.draw(st.lists(st.sampled_from(PATTERNS), max_size=4))
        if lines:
            (place / ".gitignore").write_text("\n".join(lines))
    told = subprocess.run(
        [
            rg,
            "--no-config",
            "--files",
            "--hidden",
            "--no-ignore-global",
            "--no-ignore-exclude",
            "--null",
            "-g",
            "!.git",
        ],
        cwd=top,
        stdout=subprocess.PIPE,
        check=False,
    ).stdout
    assert kept(Workspace(str(top)), top) == sorted(os.fsdecode(x) for x in told.split(b"\0") if x)
