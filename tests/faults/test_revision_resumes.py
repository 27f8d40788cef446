"""A run that revises a draft, killed after any of its steps and taken up from its journal, ends in the same object."""

from __future__ import annotations

import json

import pytest

from lastcall.core.evolve import evolve
from lastcall.core.request import build_request
from lastcall.nouns.result import Answered
from lastcall.wire.journal import JournalStep, decode_line, encode_step
from machine_tools import Play, call, finish

BODY = "The disk of db-1 filled up because log rotation was off; writes failed until the volume grew. " * 60
DRAFT = json.dumps({"title": BODY, "count": "3"}, separators=(",", ":"))
WHOLE = json.dumps({"title": BODY, "count": 3}, separators=(",", ":"))
FIX = json.dumps({"base": 1, "patch": [{"op": "replace", "path": "/count", "value": 3}]})


def goes_on(play: Play) -> None:
    """The world's part, to the end: a model that revises what it may, and a shell that answers."""
    for _ in range(8):
        if play.state.outcome is not None:
            return
        for call_id in play.state.running:
            play.tool(call_id)
        if play.state.outstanding:
            offered = any(tool.name == "RevisedOutput" for tool in build_request(play.state).tools)
            play.reply(*([call("c2", "RevisedOutput", FIX), call("c3", "Bash")] if offered else [finish("c1", DRAFT)]))


def whole_run() -> list[bytes]:
    """The journal's lines of a run that nobody kills."""
    play = Play()
    lines: list[bytes] = []
    take = play._take

    def kept(step: object) -> None:
        take(step)
        if step.records:  # type: ignore[attr-defined]
            lines.append(encode_step(step.records, at=1.0))  # type: ignore[attr-defined]

    play._take = kept  # type: ignore[method-assign]
    play.prompt()
    goes_on(play)
    assert isinstance(play.outcome, Answered)
    return lines


LINES = whole_run()


@pytest.mark.parametrize("survived", range(1, len(LINES)))
def test_it_ends_in_the_revised_object_wherever_it_was_killed(survived):
    play = Play()
    for line in LINES[:survived]:
        step = decode_line(line)
        assert isinstance(step, JournalStep)
        for record in step.records:
            play.state = evolve(play.state, record)
    play._names = 100
    play.resume()
    goes_on(play)
    assert isinstance(play.outcome, Answered)
    attachment = play.outcome.attachment
    assert attachment is not None
    assert (attachment.text, attachment.source) == (WHOLE, "revised")
    assert [a.base for a in play.state.attempts if a.verdict == "accepted"] == [1]


def test_the_run_is_killed_between_a_draft_and_its_revision_too():
    kinds = [record["type"] for line in LINES for record in json.loads(line)["records"]]
    assert kinds.count("Attempted") == 2
    assert kinds.index("Attempted") < len(kinds) - 10
