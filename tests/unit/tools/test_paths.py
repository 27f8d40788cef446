"""The workspace's walls: what is opened, what is refused, and that nothing can be swapped in between."""

from __future__ import annotations

import os
import resource
import socket
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.errors import BadConfig
from lastcall.tools.paths import Listing, OpenedFile, Reason, Refusal, Workspace


@pytest.fixture
def place(tmp_path):
    """A workspace `in` with a file and a folder, and a place `out` beside it with a secret."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    (inside / "a.txt").write_text("hello\n")
    (inside / "sub" / "b.txt").write_text("b\n")
    (outside / "secret").write_text("secret\n")
    return inside


def content(found):
    assert isinstance(found, OpenedFile), found
    with os.fdopen(found.fd, "rb") as file:
        return file.read()


def refused(found):
    assert isinstance(found, Refusal), found
    return found.reason


@pytest.mark.parametrize(
    "path", ["a.txt", "./a.txt", "sub/../a.txt", "sub/../sub/../a.txt", "../in/a.txt", "a.txt/", "//a.txt//"[2:]]
)
def test_every_spelling_of_a_file_inside_opens_it(place, path):
    assert content(Workspace(str(place)).open_file(path)) == b"hello\n"


def test_an_absolute_path_inside_opens_and_tells_its_real_place(place):
    found = Workspace(str(place)).open_file(f"{place}/sub/./b.txt")
    assert isinstance(found, OpenedFile)
    assert found.real_path == os.path.realpath(place / "sub" / "b.txt")
    assert content(found) == b"b\n"


@pytest.mark.parametrize(
    "path", ["../out/secret", "sub/../../out/secret", "../../../../../../../etc/passwd", "/etc/passwd"]
)
def test_no_path_leads_out(place, path):
    assert refused(Workspace(str(place)).open_file(path)) is Reason.OUTSIDE


def test_nothing_is_told_about_places_outside(place):
    workspace = Workspace(str(place))
    exists, missing = workspace.open_file("../out/secret"), workspace.open_file("../out/none")
    assert refused(exists) is refused(missing) is Reason.OUTSIDE
    assert refused(workspace.open_file("../none/none")) is Reason.OUTSIDE


@pytest.mark.parametrize("target", ["../out/secret", "../out", "{absolute}"])
def test_no_symbolic_link_leads_out(place, target):
    (place / "link").symlink_to(target.format(absolute=place.parent / "out"))
    name = "link" if target.endswith("secret") else "link/secret"
    assert refused(Workspace(str(place)).open_file(name)) is Reason.OUTSIDE


def test_links_that_stay_inside_are_followed(place):
    (place / "link").symlink_to("sub")
    (place / "sub" / "up").symlink_to("../a.txt")
    (place / "absolute").symlink_to(place / "a.txt")
    workspace = Workspace(str(place))
    assert content(workspace.open_file("link/b.txt")) == b"b\n"
    assert content(workspace.open_file("link/up")) == b"hello\n"
    assert content(workspace.open_file("absolute")) == b"hello\n"


def test_dot_dot_after_a_link_means_the_parent_of_the_real_place(place):
    (place.parent / "out" / "deep").mkdir()
    (place / "link").symlink_to("../out/deep")
    assert refused(Workspace(str(place)).open_file("link/../a.txt")) is Reason.OUTSIDE


@pytest.mark.parametrize("target", ["loop", "other"])
def test_link_loops_end(place, target):
    (place / "loop").symlink_to(target)
    (place / "other").symlink_to("loop")
    assert refused(Workspace(str(place)).open_file("loop")) is Reason.LINKS
    assert refused(Workspace(str(place)).open_file("loop/x")) is Reason.LINKS


def test_links_whose_number_doubles_at_each_level_end(place):
    (place / "l0").symlink_to(".")
    for level in range(1, 30):
        (place / f"l{level}").symlink_to(f"l{level - 1}/l{level - 1}")
    assert refused(Workspace(str(place)).open_file("l29/a.txt")) is Reason.LINKS


def test_a_dangling_link_is_a_missing_file(place):
    (place / "dangling").symlink_to("nothing")
    assert refused(Workspace(str(place)).open_file("dangling")) is Reason.MISSING


@pytest.mark.parametrize("path", ["none.txt", "none/a.txt", "a.txt/b", "none/../a.txt"])
def test_what_is_not_there_is_missing(place, path):
    assert refused(Workspace(str(place)).open_file(path)) is Reason.MISSING


@pytest.mark.parametrize("path", ["sub", ".", "", "sub/"])
def test_a_directory_is_no_file(place, path):
    assert refused(Workspace(str(place)).open_file(path)) is Reason.DIRECTORY


def test_a_fifo_is_refused_without_blocking(place):
    os.mkfifo(place / "pipe")
    found = Workspace(str(place)).open_file("pipe")
    assert refused(found) is Reason.SPECIAL
    assert "FIFO" in found.message


def test_a_socket_is_refused(place, monkeypatch):
    monkeypatch.chdir(place)  # the path of a socket may be only 108 bytes long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        assert refused(Workspace(str(place)).open_file("sock")) is Reason.SPECIAL


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device_is_refused_even_where_it_is_inside(path):
    if not os.path.exists(path):
        pytest.skip("no such device here")
    assert refused(Workspace("/dev").open_file(path)) is Reason.SPECIAL


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/task", "/proc/1/cmdline", "/sys/kernel"])
def test_kernel_file_systems_are_refused_even_where_they_are_inside(place, path):
    if not os.path.exists("/proc/self"):
        pytest.skip("no /proc here")
    found = Workspace(str(place), ["/"]).open_file(path)
    assert refused(found) in {Reason.KERNEL, Reason.DIRECTORY}
    (place / "link").symlink_to(path)
    assert isinstance(Workspace(str(place)).open_file("link"), Refusal)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "y" * 300, "\ud800", "/".join(["d"] * 3_000)])
def test_what_cannot_be_a_path_is_refused(place, path):
    assert refused(Workspace(str(place)).open_file(path)) is Reason.MALFORMED


def test_added_directories_widen_the_workspace_by_just_themselves(place, tmp_path):
    workspace = Workspace(str(place), [str(tmp_path / "out")])
    assert content(workspace.open_file("../out/secret")) == b"secret\n"
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "x").write_text("x")
    assert refused(workspace.open_file("../outer/x")) is Reason.OUTSIDE


def test_a_root_reached_through_a_link_counts_as_its_real_place(place, tmp_path):
    (tmp_path / "alias").symlink_to(place)
    workspace = Workspace(str(tmp_path / "alias"))
    assert workspace.cwd == os.path.realpath(place)
    assert content(workspace.open_file(str(tmp_path / "alias" / "a.txt"))) == b"hello\n"
    assert content(workspace.open_file("a.txt")) == b"hello\n"


def test_a_root_that_was_made_anew_is_still_the_root(place):
    workspace = Workspace(str(place / "sub"))
    (place / "sub" / "b.txt").unlink()
    (place / "sub").rmdir()
    assert isinstance(workspace.open_file("b.txt"), Refusal)
    (place / "sub").mkdir()
    (place / "sub" / "b.txt").write_text("new")
    assert content(workspace.open_file("b.txt")) == b"new"


def test_a_root_that_became_a_link_is_no_root(place):
    workspace = Workspace(str(place / "sub"))
    (place / "sub" / "b.txt").unlink()
    (place / "sub").rmdir()
    (place / "sub").symlink_to("../out")
    assert refused(workspace.open_file("secret")) is Reason.OUTSIDE


def test_a_tilde_is_the_home_directory_where_there_is_one(place):
    (place / "~").mkdir()
    (place / "~" / "a.txt").write_text("tilde")
    assert content(Workspace(str(place), home=str(place)).open_file("~/a.txt")) == b"hello\n"
    assert content(Workspace(str(place)).open_file("~/a.txt")) == b"tilde"


@pytest.mark.parametrize("root", ["none", "a.txt"])
def test_a_root_must_be_a_directory(place, root):
    with pytest.raises(BadConfig, match="is not a directory"):
        Workspace(str(place), [str(place / root)])


def test_listing_names_a_directory_and_nothing_else(place):
    workspace = Workspace(str(place))
    found = workspace.list_directory(".", at_most=10)
    assert isinstance(found, Listing)
    assert sorted(found.names) == ["a.txt", "sub"]
    assert found.real_path == os.path.realpath(place)
    assert len(workspace.list_directory("", at_most=1).names) == 1
    assert refused(workspace.list_directory("..", at_most=10)) is Reason.OUTSIDE
    assert refused(workspace.list_directory("a.txt", at_most=10)) is Reason.SPECIAL
    assert refused(workspace.list_directory("none", at_most=10)) is Reason.MISSING


def as_nobody(act):
    """What `act` gives in a process without any privilege (root may read everything)."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(write_end, repr(act()).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end, "rb") as answer:
        return answer.read().decode()


def test_what_the_system_forbids_is_told_as_such():
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "shut").mkdir()
        (place / "shut" / "inner").mkdir()
        (place / "shut" / "a.txt").write_text("x")
        (place / "secret.txt").write_text("x")
        (place / "unlisted").mkdir()
        (place / "shut").chmod(0o000)
        (place / "secret.txt").chmod(0o000)
        (place / "unlisted").chmod(0o311)
        place.chmod(0o755)

        def look():
            workspace = Workspace(name)
            return [
                workspace.open_file("secret.txt").message,
                workspace.open_file("shut/a.txt").message,
                workspace.open_file("shut/inner/b.txt").message,
                workspace.open_file("shut").reason.value,
                workspace.list_directory("unlisted", at_most=3).message,
            ]

        told = eval(as_nobody(look))
        (place / "shut").chmod(0o755)
    assert told == [
        "secret.txt cannot be opened: permission denied.",
        "shut/a.txt cannot be opened: permission denied.",
        "shut/inner/b.txt cannot be opened: permission denied.",
        "directory",
        "unlisted cannot be opened: permission denied.",
    ]


def test_too_many_open_files_are_told_as_such(place):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/dev/fd"))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, hard))
        found = Workspace(str(place)).open_file("sub/b.txt")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert refused(found) is Reason.UNREADABLE
    assert "too many open files" in found.message


def test_no_descriptor_is_left_open(place):
    (place / "link").symlink_to("../out/secret")
    os.mkfifo(place / "pipe")
    workspace = Workspace(str(place))
    before = set(os.listdir("/dev/fd"))
    for path in ["a.txt", "sub", "none", "link", "pipe", "sub/../../out/secret", "x" * 300]:
        found = workspace.open_file(path)
        if isinstance(found, OpenedFile):
            os.close(found.fd)
        workspace.list_directory(path, at_most=3)
    assert set(os.listdir("/dev/fd")) == before


def test_a_component_that_is_swapped_during_the_walk_never_leads_out(place):
    """A thread swaps a folder for a link to the outside, and a file for a link to the secret, as fast as it can."""
    real, link = place / "real", place / "link"
    real.mkdir()
    (real / "secret").write_text("mine\n")
    link.symlink_to("../out")
    (place / "file").write_text("mine\n")
    (place / "flink").symlink_to("../out/secret")
    stop = threading.Event()

    def swap(one: Path, other: Path):
        aside = place / f"{one.name}-aside"
        while not stop.is_set():
            for source, target in [(one, aside), (other, one), (aside, other)]:
                source.rename(target)

    threads = [threading.Thread(target=swap, args=pair) for pair in [(real, link), (place / "file", place / "flink")]]
    for thread in threads:
        thread.start()
    workspace = Workspace(str(place))
    seen = set()
    try:
        for _ in range(1_500):
            for path in ["real/secret", "link/secret", "file", "flink"]:
                found = workspace.open_file(path)
                seen.add(found.reason if isinstance(found, Refusal) else content(found))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert b"secret\n" not in seen
    assert b"mine\n" in seen


NAMES = st.sampled_from(
    ["a.txt", "sub", "b.txt", "..", ".", "", "link", "up", "out", "secret", "in", "none", "~", "abs"]
)


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(NAMES, max_size=9), absolute=st.booleans())
def test_whatever_the_path_only_files_really_inside_open(tmp_path_factory, parts, absolute):
    base = tmp_path_factory.getbasetemp() / "property"
    inside = base / "in"
    if not inside.exists():
        (inside / "sub").mkdir(parents=True)
        (base / "out").mkdir()
        (base / "out" / "secret").write_text("secret")
        (inside / "a.txt").write_text("a")
        (inside / "sub" / "b.txt").write_text("b")
        (inside / "link").symlink_to("../out")
        (inside / "sub" / "up").symlink_to("..")
        (inside / "abs").symlink_to(inside / "sub")
    path = "/".join(parts)
    if absolute:
        path = f"{inside}/{path}"
    found = Workspace(str(inside)).open_file(path)
    # the truth by the operating system, which follows links and `..` by itself
    real = os.path.realpath(os.path.join(inside, path))
    is_inside = real == str(inside) or real.startswith(f"{inside}/")
    if isinstance(found, OpenedFile):
        os.close(found.fd)
        assert is_inside
        assert found.real_path == real
    elif is_inside and os.path.isfile(os.path.join(inside, path)):
        pytest.fail(f"{path} is a file inside and was refused: {found}")
