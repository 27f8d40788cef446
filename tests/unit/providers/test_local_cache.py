"""Models on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lastcall.providers.local_cache import Shelf, models_folder, sha256_of, sync_folder, write_whole
from local_tools import tiny_model


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path / "models", tiny_model(tmp_path / "index", (b"some ", b"weights")))
    shelf.folder.mkdir(parents=True)
    return shelf


def test_the_folder_is_the_one_that_was_named_or_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models_folder(str(tmp_path)) == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models_folder("~/m") == tmp_path / "m"
    assert models_folder(None).name == models_folder("").name == "models"


def test_a_model_is_here_only_after_its_checksum_was_seen(shelf: Shelf) -> None:
    assert not shelf.is_marked()
    shelf.weights.write_bytes(b"some weights")
    assert not shelf.is_marked()
    assert shelf.matches()
    shelf.put_mark()
    assert shelf.is_marked()
    shelf.drop_mark()
    assert not shelf.is_marked()


def test_a_file_that_was_changed_since_is_not_trusted(shelf: Shelf) -> None:
    shelf.weights.write_bytes(b"some weights")
    shelf.put_mark()
    shelf.weights.write_bytes(b"some-weights")
    os.utime(shelf.weights, ns=(1, 1))
    assert not shelf.is_marked()
    assert not shelf.matches()


@pytest.mark.parametrize("mark", [b"", b"{}", b"[1]", b'{"sha256": 1, "size": 2, "mtime_ns": 3}'])
def test_a_mark_that_cannot_be_read_counts_as_none(shelf: Shelf, mark: bytes) -> None:
    shelf.weights.write_bytes(b"some weights")
    (shelf.folder / "verified.json").write_bytes(mark)
    assert not shelf.is_marked()


@pytest.mark.parametrize("content", [None, b"", b"some weight", b"some weightS"])
def test_what_is_not_the_whole_model_does_not_match(shelf: Shelf, content: bytes | None) -> None:
    if content is not None:
        shelf.weights.write_bytes(content)
    assert not shelf.matches()


def test_removing_frees_everything_an_unfinished_download_too(shelf: Shelf) -> None:
    shelf.weights.write_bytes(b"some weights")
    shelf.staging.mkdir()
    (shelf.staging / "x.whl").write_bytes(b"123")
    assert shelf.remove() == 15
    assert not shelf.folder.exists()
    assert shelf.remove() == 0


def test_a_checksum_is_the_specifications_and_tells_its_steps(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    steps: list[int] = []
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
    assert sha256_of(tmp_path / "f", steps.append) == expected
    assert steps == [3]


def test_a_file_is_written_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_whole(tmp_path / "f", b"one")
    write_whole(tmp_path / "f", b"two")
    sync_folder(tmp_path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("f", b"two")]
