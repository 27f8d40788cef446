"""A real run once, the same run again without the model."""

from __future__ import annotations

import pytest

import lastcall
from lastcall.nouns.result import Failed
from lastcall.testing import Recording, ScriptedModel

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}, "key": {"type": "string"}}, "required": ["n"]}
SECRET = "correct-horse-battery"
LIKE_A_KEY = "sk-ant-0123456789abcdef0123"


def record(path):
    replies = [
        {"object": {"n": "one"}},
        {"object": {"n": 1, "key": f"{SECRET} and {LIKE_A_KEY} and hunter2hunter2"}},
    ]
    recording = Recording(
        path, ScriptedModel(*replies), environment={"SOME_API_KEY": SECRET}, secrets=("hunter2hunter2",)
    )
    assert not recording.replays
    return lastcall.run("Count.", output=COUNT, model=recording)


def test_a_replay_is_the_recorded_run_without_a_model(tmp_path):
    path = tmp_path / "deep" / "count.jsonl"
    first = record(path)
    again = Recording(path)
    assert again.replays
    assert again.deployment.model == "scripted"
    second = lastcall.run("Count.", output=COUNT, model=again)
    assert second.output["n"] == first.output["n"] == 1
    assert [a.verdict for a in second.attempts] == [a.verdict for a in first.attempts] == ["rejected", "accepted"]
    assert second.usage == first.usage


def test_no_secret_reaches_the_file(tmp_path):
    path = tmp_path / "count.jsonl"
    result = record(path)
    assert SECRET in result.output["key"]
    text = path.read_text("utf-8")
    assert [word for word in (SECRET, LIKE_A_KEY, "hunter2") if word in text] == []


def test_another_question_than_the_recorded_one_fails_and_says_so(tmp_path):
    path = tmp_path / "count.jsonl"
    record(path)
    result = lastcall.run("Count twice.", output=COUNT, model=Recording(path))
    assert isinstance(result.outcome, Failed)
    assert "request 1 differs from the recorded one; delete count.jsonl" in result.reason
    assert lastcall.run("Count twice.", output=COUNT, model=Recording(path, exact=False)).output["n"] == 1


def test_more_questions_than_were_recorded_fail_and_say_so(tmp_path):
    path = tmp_path / "count.jsonl"
    lastcall.run("Count.", output=COUNT, model=Recording(path, ScriptedModel("No.", {"object": {"n": 1}})))
    strict = {**COUNT, "required": ["n", "key"]}
    result = lastcall.run("Count.", output=strict, model=Recording(path, exact=False))
    assert "the recording holds 2 requests, and this is one more" in result.reason


def test_a_file_that_is_no_recording_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    for text in ("", "{}\n", "nonsense\n"):
        path.write_text(text, "utf-8")
        with pytest.raises(lastcall.UsageError, match="no recording"):
            Recording(path)


def test_where_requests_are_forbidden_nothing_is_recorded(tmp_path):
    with pytest.raises(lastcall.UsageError, match="forbidden"):
        Recording(tmp_path / "x", "haiku", environment={"LASTCALL_FORBID_REQUESTS": "1", "ANTHROPIC_API_KEY": "k" * 9})


def test_a_place_where_nothing_can_be_written_is_refused_before_anything_is_asked(tmp_path):
    (tmp_path / "file").write_text("x")
    model = ScriptedModel({"object": {"n": 1}})
    with pytest.raises(lastcall.UsageError, match="cannot be written"):
        Recording(tmp_path / "file" / "count.jsonl", model)
    assert model.requests == ()


def test_a_recording_that_cannot_be_finished_leaves_nothing_that_looks_like_one(tmp_path):
    path = tmp_path / "deep" / "count.jsonl"
    recording = Recording(path, ScriptedModel({"object": {"n": 1}}))
    path.parent.rmdir()
    with pytest.raises(lastcall.UsageError, match="No such file"):
        lastcall.run("Count.", output=COUNT, model=recording)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_holds_nothing_beside_its_file(tmp_path):
    record(tmp_path / "count.jsonl")
    assert [place.name for place in tmp_path.iterdir()] == ["count.jsonl"]
