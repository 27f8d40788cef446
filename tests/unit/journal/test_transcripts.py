"""Transcripts of the reference on the disk."""

import json
import os

import pytest

from lastcall.core.records import Imported
from lastcall.errors import BadConfig, JournalError
from lastcall.journal.transcripts import find_transcript, latest_transcript, load_transcript
from lastcall.nouns.messages import TextBlock, UserMessage

ID = "aaaaaaaa-0000-4000-8000-000000000001"
RECORD = {"type": "user", "uuid": "u", "sessionId": ID, "message": {"role": "user", "content": "hi"}}


def folder(home):
    place = home / ".claude" / "projects" / "-srv-my-project"
    place.mkdir(parents=True)
    return place


def test_a_transcript_is_found_by_id_in_its_own_working_directory_only(tmp_path):
    path = folder(tmp_path) / f"{ID}.jsonl"
    path.write_text(json.dumps(RECORD) + "\n")
    assert find_transcript(str(tmp_path), "/srv/my.project", ID) == str(path)
    assert find_transcript(str(tmp_path), "/srv/other", ID) is None
    assert find_transcript("", "/srv/my.project", ID) is None
    assert find_transcript(str(tmp_path), "/srv/my.project", "../secrets") is None
    assert load_transcript(str(path)) == (Imported((UserMessage((TextBlock("hi"),)),)),)


def test_the_latest_is_the_one_that_was_written_last(tmp_path):
    place = folder(tmp_path)
    for age, name in ((50, "old"), (10, "new")):
        path = place / f"{name}.jsonl"
        path.write_text("x")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (place / "memory").mkdir()
    (place / "notes.txt").write_text("x")
    found = latest_transcript(str(tmp_path), "/srv/my.project")
    assert (found.session_id, found.path, found.size_bytes) == ("new", str(place / "new.jsonl"), 1)
    assert latest_transcript(str(tmp_path), "/elsewhere") is None
    assert latest_transcript("", "/srv/my.project") is None


def test_an_empty_one_holds_no_conversation_and_a_missing_one_cannot_be_read(tmp_path):
    path = tmp_path / f"{ID}.jsonl"
    path.write_text("\n{\n")
    with pytest.raises(BadConfig, match=f"No conversation found with session ID: {ID}"):
        load_transcript(str(path))
    with pytest.raises(JournalError, match="cannot be read"):
        load_transcript(str(tmp_path / "gone.jsonl"))
