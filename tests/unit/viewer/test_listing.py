from __future__ import annotations

import os

from journals import Writer, place
from lastcall.core import records as r
from lastcall.journal.sessions import Sessions
from lastcall.nouns.result import GaveUp
from lastcall.viewer import listing
from lastcall.viewer.listing import list_sessions


def rows(state):
    return {row.id: row for row in list_sessions(Sessions(str(state))).runs}


def old(path, at=1.0):
    os.utime(path, (at, at))


def test_sessions_are_listed_with_who_they_are_and_how_they_ended(tmp_path):
    old(place(tmp_path, "done", Writer("done").whole("Do it")), 3.0)
    w = Writer("cut", model="other", cwd="/srv")
    old(place(tmp_path, "cut", w.opened() + w.prompt("Cut off")), 2.0)
    old(place(tmp_path, "bad", b"garbage\n"))
    found = rows(tmp_path)
    assert list(found) == ["done", "cut", "bad"]
    assert (found["done"].word, found["done"].prompt, found["done"].model, found["done"].place) == (
        "Answered",
        "Do it",
        "scripted",
        "/home/u/project",
    )
    assert (found["cut"].word, found["cut"].place) == ("unfinished", "/srv")
    assert found["bad"].word == "unreadable"
    assert "no JSON" in found["bad"].note


def test_a_run_that_was_just_written_to_goes_on(tmp_path):
    w = Writer("live")
    place(tmp_path, "live", w.opened() + w.prompt("x"))
    assert rows(tmp_path)["live"].word == "running"


def test_the_latest_run_counts(tmp_path):
    w = Writer("two")
    old(
        place(
            tmp_path, "two", w.opened() + w.prompt("1") + w.accepted({}) + w.prompt("2") + w.step(r.Ended(GaveUp("")))
        )
    )
    assert rows(tmp_path)["two"].word == "Gave up"
    old(place(tmp_path, "two", w.opened() + w.prompt("1") + w.accepted({}) + w.prompt("2")))
    assert rows(tmp_path)["two"].word == "unfinished"


def test_a_last_line_of_any_length_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "_TAIL", 16)
    old(place(tmp_path, "s", Writer("s").whole()))
    assert rows(tmp_path)["s"].word == "Answered"


def test_half_a_line_at_the_end_is_left_out(tmp_path):
    old(place(tmp_path, "s", Writer("s").whole() + b'{"v":1,"ki'))
    assert rows(tmp_path)["s"].word == "Answered"


def test_older_ones_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "MOST", 2)
    for n in range(5):
        place(tmp_path, f"s{n}", Writer(f"s{n}").opened())
    found = list_sessions(Sessions(str(tmp_path)))
    assert (len(found.runs), found.left_out) == (2, 3)


def test_the_sessions_of_one_directory_alone(tmp_path):
    place(tmp_path, "here", Writer("here").opened(), project="-home-u-project")
    place(tmp_path, "there", Writer("there").opened(), project="-elsewhere")
    assert [row.id for row in list_sessions(Sessions(str(tmp_path)), "/home/u/project").runs] == ["here"]
