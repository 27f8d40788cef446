from __future__ import annotations

import json
import os

import pytest

from journals import Writer, place
from lastcall.cli.view_targets import ToFollow, ToShow, choose
from lastcall.errors import BadConfig

ENVELOPE = {
    "type": "result",
    "session_id": "gone",
    "lastcall": {"outcome": "answered", "reason": "The object passed the contract."},
}
RECORD = {"key": "k1", "row": 1, "outcome": "answered", "made_by": {"prompt": "p", "contract": "c", "model": "m"}}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("LASTCALL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def write(tmp_path, content, name="x.json"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode() + b"\n")
    return str(path)


def test_a_session_is_named_by_its_id_or_the_beginning_of_it(state):
    path = place(state, "abcdef", Writer("abcdef").whole())
    assert choose("abcdef") == choose("abc") == ToFollow(str(path), "abcdef")
    with pytest.raises(BadConfig, match="there is no session zzz"):
        choose("zzz")


def test_a_journal_is_known_by_its_first_line(tmp_path):
    path = write(tmp_path, Writer("s1").whole(), "copy.jsonl")
    assert choose(path) == ToFollow(path, "copy")
    assert "INC-0012" in choose(path).page()


def test_an_envelope_leads_to_its_journal_or_tells_what_it_holds(tmp_path, state):
    shown = choose(write(tmp_path, ENVELOPE))
    assert isinstance(shown, ToShow)
    assert "This is an envelope" in shown.page()
    path = place(state, "gone", Writer("gone").whole())
    assert choose(write(tmp_path, ENVELOPE)) == ToFollow(str(path), "gone")


@pytest.mark.parametrize("session", ["../../etc", "", None, 7])
def test_an_envelope_with_a_strange_session_is_shown_all_the_same(tmp_path, session):
    assert "This is an envelope" in choose(write(tmp_path, {**ENVELOPE, "session_id": session})).page()


def test_a_log_of_frames_is_known_by_its_last_line(tmp_path):
    log = b'{"type":"system"}\n{"type":"assistant"}\n' + json.dumps(ENVELOPE).encode() + b"\n"
    assert "This is an envelope" in choose(write(tmp_path, log)).page()


def test_an_indented_envelope_is_one_too(tmp_path):
    assert "This is an envelope" in choose(write(tmp_path, json.dumps(ENVELOPE, indent=2).encode())).page()


def test_the_output_of_a_batch_becomes_its_report_also_while_it_is_written(tmp_path):
    lines = b"".join(json.dumps({**RECORD, "key": f"k{n}", "row": n}).encode() + b"\n" for n in range(3))
    page = choose(write(tmp_path, lines + b'{"key":"k9","ro', "rows.jsonl")).page()
    assert "rows.jsonl" in page
    assert "<figure" in page


def test_a_line_of_a_batch_that_is_no_record_is_named(tmp_path):
    path = write(tmp_path, json.dumps(RECORD).encode() + b"\nnonsense\n")
    with pytest.raises(BadConfig, match="no record of a batch") as caught:
        choose(path).page()
    assert caught.value.where == f"{path}, line 2"


def test_a_probe_becomes_its_page(tmp_path):
    plan = {
        "type": "probe",
        "version": 1,
        "lastcall": "0.1.0",
        "suite": "keywords",
        "model": "scripted",
        "cases": [],
        "trials": 3,
        "seed": 1,
    }
    assert "<h1" in choose(write(tmp_path, plan, "probe.jsonl")).page()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]\n", b"text", b"\xff\xfe", b'{"type":"result"', b"\n\n", b'{"a":1}\n{"b":2}\n']
)
def test_what_is_none_of_these_is_refused(tmp_path, content):
    with pytest.raises(BadConfig, match="nothing that can be shown"):
        choose(write(tmp_path, content))


def test_places_that_hold_nothing_are_refused(tmp_path):
    with pytest.raises(BadConfig, match="this is a directory"):
        choose(str(tmp_path))
    with pytest.raises(BadConfig, match="no such file"):
        choose(str(tmp_path / "gone.json"))
    link = tmp_path / "link"
    os.symlink(tmp_path / "gone", link)
    with pytest.raises(BadConfig, match="cannot be read: No such file"):
        choose(str(link))
