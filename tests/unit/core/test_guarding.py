"""What is sent back once although it passes: told why, then taken with a warning; never in compat."""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.contract.verdicts import Accepted, Rejected
from lastcall.core.guarding import guarded
from lastcall.core.policy import Policy, compat, native
from lastcall.core.state import RunState, Setting, begin
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import Attempt, RunWarning, VerdictKind
from machine_tools import CONTRACT

WRAPPED = RunWarning("wrapped_object", "the object stands in one key that nobody declared", "/answer")
INSIDE = Accepted('{"answer":{"title":"Disk"}}', (WRAPPED,))
DRAFT = '{"title":"The disk of db-1 filled up because log rotation was off; writes failed from 02:10 until the volume grew.","count":"3"}'
COUNT = Problem("/count", "type", "must be integer", {"type": "integer"})
SHORT = Accepted('{"title":"Disk"}')


def state_of(*attempts: Attempt, policy: Policy | None = None) -> RunState:
    return replace(begin(Setting(policy or native(), CONTRACT)), attempts=attempts)


def rejected(n: int, *problems: Problem, draft: str = DRAFT) -> Attempt:
    return Attempt(n, f"c{n}", "m", VerdictKind.REJECTED, problems, draft)


def test_an_object_that_nothing_is_wrong_with_is_taken_as_it_is():
    assert guarded(state_of(), SHORT, CONTRACT) is SHORT
    assert guarded(state_of(rejected(1, COUNT, draft='{"title":"Disk","count":"3"}')), SHORT, CONTRACT) is SHORT


def test_a_wrapped_object_is_sent_back_once_with_the_way_out():
    found = guarded(state_of(), INSIDE, CONTRACT)
    assert isinstance(found, Rejected)
    (problem,) = found.problems
    assert (problem.path, problem.keyword, found.total) == ("/answer", "wrapped_object", 1)
    assert "send the same again" in problem.params["hint"]
    assert guarded(state_of(rejected(1, problem, draft=INSIDE.text)), INSIDE, CONTRACT) is INSIDE


def test_an_object_that_lost_what_a_draft_held_is_sent_back_once_and_then_taken_with_a_warning():
    found = guarded(state_of(rejected(1, COUNT)), SHORT, CONTRACT)
    assert isinstance(found, Rejected)
    (problem,) = found.problems
    assert problem.keyword == "degenerate"
    again = guarded(state_of(rejected(1, COUNT), rejected(2, problem, draft=SHORT.text)), SHORT, CONTRACT)
    assert again == Accepted(SHORT.text, (RunWarning("degenerate", problem.message, problem.path),))


def test_compat_sends_nothing_back():
    state = state_of(rejected(1, COUNT), policy=compat())
    assert guarded(state, SHORT, CONTRACT) is SHORT
    assert guarded(state, INSIDE, CONTRACT) is INSIDE
