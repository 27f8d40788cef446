"""What was submitted and has no record yet, as it lies on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lastcall.batches.provider_batch_ledger import ENDING, Asked, Place, open_ledger
from lastcall.errors import BadConfig, JournalError

ONE, TWO = Asked("k1", "d1"), Asked("k2", "d2")


def test_what_is_written_is_there_for_the_next_sitting(tmp_path: Path) -> None:
    output = str(tmp_path / "o.jsonl")
    with open_ledger(output) as ledger:
        ledger.intend("lc1", "https://host", [ONE, TWO])
        assert list(ledger.doubtful) == ["lc1"]
        ledger.submitted("lc1", "batch_1")
        ledger.intend("lc2", "https://host", [ONE])
    with open_ledger(output) as again:
        assert again.places_of(ONE) == [Place("lc1", 0), Place("lc2", 0)]
        assert again.places_of(Asked("k1", "another")) == []
        assert (again.batches, list(again.doubtful)) == ({"lc1": "batch_1"}, ["lc2"])
        again.dropped("lc2")
        again.recorded("k2")
        assert (again.places_of(ONE), again.places_of(TWO), again.is_outstanding) == ([Place("lc1", 0)], [], True)


def test_the_file_goes_when_nothing_is_outstanding(tmp_path: Path) -> None:
    path = tmp_path / f"o.jsonl{ENDING}"
    with open_ledger(str(tmp_path / "o.jsonl")) as ledger:
        ledger.intend("lc1", "https://host", [ONE])
        assert path.stat().st_mode & 0o777 == 0o600
        ledger.submitted("lc1", "batch_1")
        ledger.recorded("k1")
        ledger.recorded("k1")
    assert not path.exists()
    ledger.close()


def test_every_cut_of_the_file_opens_with_the_lines_that_are_whole(tmp_path: Path) -> None:
    output = str(tmp_path / "o.jsonl")
    path = Path(output + ENDING)
    with open_ledger(output) as ledger:
        ledger.intend("lc1", "https://host", [ONE])
        first = path.stat().st_size
        ledger.submitted("lc1", "batch_1")
    content = path.read_bytes()
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        with open_ledger(output) as again:
            assert again.places_of(ONE) == ([Place("lc1", 0)] if cut >= first else [])
            assert again.batches == {}
            assert path.stat().st_size == (first if cut >= first else 0)


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / f"o.jsonl{ENDING}"
    path.write_text('{"type":"intended"}\nnotes of mine\n')
    with pytest.raises(BadConfig, match="line 1 says nothing of a batch"):
        open_ledger(str(tmp_path / "o.jsonl"))
    assert path.read_text() == '{"type":"intended"}\nnotes of mine\n'


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be written down"):
        open_ledger(str(tmp_path / "nowhere" / "o.jsonl"))
    os.mkdir(tmp_path / f"f{ENDING}")
    with pytest.raises(JournalError, match="cannot be written down"):
        open_ledger(str(tmp_path / "f"))
