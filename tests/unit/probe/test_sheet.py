"""The file of a probe: a checkpoint that any crash leaves readable, and that takes no other probe's trials."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.errors import BadConfig
from lastcall.probe.endings import Ending
from lastcall.probe.sheet import Sheet, open_sheet, parse_sheet, read_sheet
from probe_tools import case, plan, trial


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "p.jsonl")


def written(path, *trials, made=None):
    sheet = open_sheet(path, made or plan())
    for one in trials:
        sheet.add(one)
    sheet.close()
    with open(path, "rb") as file:
        return file.read()


def test_what_was_added_is_read_again_whole(path):
    trials = (trial(), trial(number=2, ending=Ending.EXHAUSTED, attempts=3, object_text=None, cost_usd=None))
    written(path, *trials)
    assert read_sheet(path) == Sheet(plan(), trials)


def test_the_file_is_its_owners_alone(path):
    written(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_probe_goes_on_where_it_stood_also_with_more_trials_and_a_later_lastcall(path):
    written(path, trial())
    sheet = open_sheet(path, plan(trials=9, lastcall="0.2.0"))
    assert sheet.trials == (trial(),)
    sheet.add(trial(number=2))
    sheet.close()
    assert [t.round for t in read_sheet(path).trials] == [1, 2]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "other"}, "its model is scripted, not other"),
        ({"seed": 8}, "its seed is 7, not 8"),
        ({"temperature": 0.5}, "its temperature is None, not 0.5"),
        ({"max_attempts": 2}, "its max_attempts is 5, not 2"),
        ({"declines": False}, "its declines is True, not False"),
        ({"cases": (case(prompt="Another."),)}, "it asks other cases"),
    ],
)
def test_another_probe_is_refused_and_the_file_is_left_as_it_was(path, change, why):
    before = written(path, trial())
    with pytest.raises(BadConfig, match=why):
        open_sheet(path, plan(**change))
    with open(path, "rb") as file:
        assert file.read() == before


@given(st.integers(min_value=0))
def test_any_cut_of_the_file_loses_at_most_the_trial_in_the_making(tmp_path_factory, at):
    folder = tmp_path_factory.mktemp("cut")
    trials = (trial(), trial(number=2))
    whole = written(str(folder / "whole"), *trials)
    cut = whole[: at % (len(whole) + 1)]
    path = str(folder / "cut")
    with open(path, "wb") as file:
        file.write(cut)
    sheet = open_sheet(path, plan())
    acknowledged = cut.count(b"\n") - 1
    assert sheet.trials == trials[: max(0, acknowledged)]
    for one in trials[len(sheet.trials) :]:
        sheet.add(one)
    sheet.close()
    with open(path, "rb") as file:
        assert file.read() == whole


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"hello\n", 1),
        (b"hello", 1),
        (b'{"type":"trial"}\n', 1),
        (b"\xff\n", 1),
        (b"[" * 100_000 + b"\n", 1),
        (b"\n", 1),
    ],
)
def test_a_file_that_is_no_probe_is_refused_and_left_alone(path, content, line):
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(BadConfig, match=f"line {line} is no line of a probe"):
        open_sheet(path, plan())
    with open(path, "rb") as file:
        assert file.read() == content


def test_damage_in_the_middle_names_its_line(path):
    lines = written(path, trial(), trial(number=2)).splitlines(keepends=True)
    with pytest.raises(BadConfig, match="line 2 is no line"):
        parse_sheet(lines[0] + b"{}\n" + lines[2], where=path)


def test_a_later_format_is_refused(path):
    content = written(path).replace(b'"version":1', b'"version":2', 1)
    with pytest.raises(BadConfig, match=r"a later lastcall \(0\.1\.0\)"):
        parse_sheet(content, where=path)


def test_two_probes_cannot_write_one_file(path):
    first = open_sheet(path, plan())
    with pytest.raises(BadConfig, match="another probe is writing"):
        open_sheet(path, plan())
    first.close()
    open_sheet(path, plan()).close()


def test_places_that_cannot_take_it_are_refused_in_a_sentence(tmp_path):
    for place, why in (
        (tmp_path, "cannot be kept"),
        (tmp_path / "no" / "p", "cannot be kept"),
        ("/dev/null", "no regular"),
    ):
        with pytest.raises(BadConfig, match=why):
            open_sheet(str(place), plan())
    with pytest.raises(BadConfig, match="cannot be read"):
        read_sheet(str(tmp_path / "none"))
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(BadConfig, match="no probe in this file"):
        read_sheet(str(tmp_path / "empty"))


def test_a_full_disk_leaves_whole_lines(path, monkeypatch):
    sheet = open_sheet(path, plan())
    sheet.add(trial())
    with open(path, "rb") as file:
        before = file.read()
    real = os.write

    def half(fd, line):
        if len(line) > 20:
            return real(fd, line[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(BadConfig, match="No space left"):
        sheet.add(trial(number=2, reason="x" * 5))
    monkeypatch.undo()
    with open(path, "rb") as file:
        assert file.read().startswith(before)
    sheet.close()
    assert read_sheet(path).trials == (trial(),)


def test_of_a_case_and_round_the_latest_trial_counts_and_uncounted_ones_do_not():
    lost = trial(counted=False, ending=Ending.FAILED)
    sheet = Sheet(plan(), (lost, trial(attempts=2, ending=Ending.REPAIRED), trial(), trial(number=2)))
    assert sheet.counted == (trial(), trial(number=2))
