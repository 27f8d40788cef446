"""Large rejected drafts may be revised: when it is offered, what comes of it, and what it survives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.contract.cel import cel_rule
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.actions import RunChecks, RunHooks
from lastcall.core.policy import native
from lastcall.core.request import build_request
from lastcall.core.revisions import Whole, kept_as, offers_revision, shown, whole_of
from lastcall.nouns.hooks import NOTHING_SAID, HookDecision, HookPoint, HookVerdict
from lastcall.nouns.request import Channel
from lastcall.nouns.result import Answered, OutOfAttempts, VerdictKind
from lastcall.nouns.tools import Arguments, ResultKind, Unreadable, UnreadableCause, define
from machine_tools import CHECKED, Play, call, contract_of, finish

BODY = "The disk of db-1 filled up because log rotation was off; writes failed until the volume grew. " * 60
WHOLE = json.dumps({"title": BODY, "count": 3}, separators=(",", ":"))
DRAFT = json.dumps({"title": BODY, "count": "3"}, separators=(",", ":"))
SMALL = '{"title":"Disk full","count":"3"}'
FIX = [{"op": "replace", "path": "/count", "value": 3}]


def revise(call_id: str, base: Any = 1, patch: Any = FIX) -> Any:
    return call(call_id, "RevisedOutput", json.dumps({"base": base, "patch": patch}))


def rejected(draft: str = DRAFT, **setting: Any) -> Play:
    """A run whose first object was rejected."""
    play = Play(**setting)
    play.prompt()
    play.reply(finish("c1", draft))
    return play


def offered(play: Play) -> bool:
    return "RevisedOutput" in [tool.name for tool in build_request(play.state).tools if tool.finishing]


def heard(play: Play, call_id: str, verdict: HookVerdict = NOTHING_SAID) -> None:
    play.hear(e.HooksFinished(HookPoint.BEFORE_CALL, call_id, verdict))


def last_words(records: list[r.Record]) -> str:
    return next(x.result.content for x in reversed(records) if isinstance(x, r.CallAnswered))


# -- when it is on offer --------------------------------------------------------------------------------------------


def test_the_first_request_of_a_run_never_offers_it():
    play = Play()
    play.prompt()
    assert not offered(play)
    assert not offers_revision(play.state)


def test_it_is_offered_after_a_large_rejected_draft_and_the_words_say_so():
    play = Play()
    play.prompt()
    words = last_words(play.reply(finish("c1", DRAFT)))
    assert offered(play)
    assert kept_as(play.state, "c1") == 1
    assert words.endswith("you may call RevisedOutput with base 1 and a JSON Patch of what changes.")


def test_bytes_count_not_characters():
    assert offered(rejected(json.dumps({"title": "é" * 2_100, "count": "3"}, ensure_ascii=False)))
    assert not offered(rejected(json.dumps({"title": "e" * 2_100, "count": "3"})))


def test_neither_a_small_draft_nor_one_that_cannot_be_read_nor_one_with_a_key_twice_can_be_revised():
    cut = Unreadable(DRAFT[:-1], UnreadableCause.TRUNCATED, "the text ends", 1, 9, 9, 9)
    for draft in (SMALL, cut, DRAFT[:-1] + ',"count":3}'):
        play = rejected(draft)
        assert play.verdicts in (["rejected"], ["unreadable"])
        assert not offered(play)
        assert kept_as(play.state, "c1") == 0


@pytest.mark.parametrize(
    "setting",
    [
        {"policy": native(revises=False)},
        {"channel": Channel.NATIVE},
        {"tools": (define("RevisedOutput", "somebody else's", {"type": "object"}),)},
    ],
)
def test_it_is_not_offered_where_it_is_off_or_cannot_be(setting):
    play = Play(**setting)
    play.prompt()
    play.reply(DRAFT if "channel" in setting else finish("c1", DRAFT))
    assert play.verdicts == ["rejected"]
    assert not offered(play)


def test_a_call_that_was_not_offered_is_a_call_of_an_unknown_tool():
    play = Play()
    play.prompt()
    play.reply(revise("c1"))
    assert play.state.attempts == ()
    assert play.state.running == ("c1",)


def test_a_draft_cannot_be_revised_in_the_reply_that_it_came_in():
    play = Play()
    play.prompt()
    play.starts()
    play.says(finish("c1", DRAFT), revise("c2"))
    play.stops()
    assert [a.call_id for a in play.state.attempts] == ["c1"]


# -- what comes of it -----------------------------------------------------------------------------------------------


def test_an_accepted_revision_is_the_object_marked_with_its_source_and_base():
    play = rejected()
    play.reply(revise("c2"))
    assert isinstance(play.outcome, Answered)
    attachment = play.outcome.attachment
    assert attachment is not None
    assert (attachment.text, attachment.source, attachment.call_id) == (WHOLE, "revised", "c2")
    assert [(a.n, a.verdict, a.base, a.draft) for a in play.state.attempts] == [
        (1, VerdictKind.REJECTED, 0, DRAFT),
        (2, VerdictKind.ACCEPTED, 1, WHOLE),
    ]
    assert play.answers()["c2"] is ResultKind.ACCEPTED


def test_a_rejected_revision_is_answered_with_the_problems_of_the_whole_and_is_a_draft_itself():
    play = rejected()
    words = last_words(play.reply(revise("c2", patch=[{"op": "remove", "path": "/title"}, *FIX])))
    assert "must have required property 'title'" in words
    assert kept_as(play.state, "c2") == 0  # what is left is small
    play.reply(revise("c3", patch=[{"op": "add", "path": "/more", "value": 1}, *FIX]))
    assert kept_as(play.state, "c3") == 3
    play.reply(revise("c4", base=3, patch=[{"op": "remove", "path": "/more"}]))
    assert isinstance(play.outcome, Answered)
    assert [a.base for a in play.state.attempts] == [0, 1, 1, 3]


def test_a_revision_that_does_not_apply_is_an_attempt_without_a_draft():
    play = rejected()
    words = last_words(play.reply(revise("c2", patch=[{"op": "remove", "path": "/nothing"}])))
    attempt = play.state.attempts[-1]
    assert (attempt.verdict, attempt.draft, attempt.base) == (VerdictKind.REJECTED, "", 0)
    assert json.loads(attempt.sent)["patch"][0]["path"] == "/nothing"
    assert words == (
        "The revision was not applied, and the draft is as it was. Correct this and call RevisedOutput again, or call "
        "StructuredOutput with the whole result:\n"
        "- /patch/0/path: there is no member 'nothing' in the object at the root (2 members)"
    )
    assert offered(play)


def test_a_wrong_base_and_unreadable_arguments_are_attempts_too():
    play = rejected()
    assert "/base: there is no kept draft of that name; kept: 1" in last_words(play.reply(revise("c2", base=7)))
    broken = Unreadable('{"base": 1, "patch": [', UnreadableCause.TRUNCATED, "the text ends", 1, 22, 22, 22)
    assert "not valid JSON" in last_words(play.reply(call("c3", "RevisedOutput", broken)))
    assert play.verdicts == ["rejected", "rejected", "unreadable"]


def test_different_revisions_with_the_same_problem_are_no_repetition_and_the_same_three_times_are():
    play = rejected()
    for n, value in enumerate("abc"):
        play.reply(revise(f"c{n + 2}", base=9, patch=[{"op": "add", "path": "/x", "value": value}]))
    assert play.outcome is None
    same = rejected()
    for n in range(3):
        same.reply(revise(f"c{n + 2}", base=9))
    assert same.outcome == OutOfAttempts(5, repeated=True)


def test_attempts_are_used_up_by_revisions_too():
    play = rejected(policy=native(max_attempts=2))
    play.reply(revise("c2", base=9))
    assert play.outcome == OutOfAttempts(2)


def test_a_secret_is_in_no_answer_to_a_revision():
    schema = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "key": {"type": "string", "maxLength": 4, "x-lastcall": {"secret": True}}},
    }  # fmt: skip
    play = rejected(json.dumps({"title": BODY, "key": "hunter2-hunter2"}), contract=contract_of(schema))
    for n, patch in enumerate(
        ([{"op": "test", "path": "/key", "value": "x"}], [{"op": "add", "path": "/key/0", "value": 1}], [])
    ):
        words = last_words(play.reply(revise(f"c{n + 2}", patch=patch)))
        assert "hunter2" not in words


# -- beside other things --------------------------------------------------------------------------------------------


def test_it_is_held_while_calls_beside_it_run_and_not_taken_if_one_fails():
    play = rejected()
    play.reply(revise("c2"), call("c3", "Bash"))
    assert play.outcome is None
    assert [h.attachment.text for h in play.state.held] == [WHOLE]
    records = play.tool("c3", fails=True)
    assert "number 2" in last_words(records)
    assert kept_as(play.state, "c2") == 2
    play.reply(revise("c4", base=2, patch=[]))
    assert isinstance(play.outcome, Answered)


def test_checks_are_asked_about_the_whole():
    play = rejected(contract=CHECKED)
    play.reply(revise("c2"))
    assert play.actions[-1] == RunChecks("c2", WHOLE)


def test_rules_are_asked_about_the_whole():
    play = rejected(contract=contract_of(rules=(cel_rule("count == 4 // four"),)))
    assert "four" in last_words(play.reply(revise("c2")))


def test_hooks_see_the_whole_object_under_the_name_that_they_watch():
    play = rejected(hooks=frozenset({HookPoint.BEFORE_CALL}))
    heard(play, "c1")
    play.reply(revise("c2"))
    (asked,) = [x for x in play.actions if isinstance(x, RunHooks) and x.call and x.call.call_id == "c2"]
    assert asked.call is not None
    assert (asked.call.name, asked.call.arguments) == ("StructuredOutput", Arguments(WHOLE))
    play.resume()
    assert play.actions[-1] == asked
    heard(play, "c2", HookVerdict(decision=HookDecision.DENY, reason="not so"))
    assert play.state.attempts[-1].problems[0].keyword == "hook"
    assert play.state.attempts[-1].draft == WHOLE


def test_what_hooks_put_in_its_place_is_judged():
    play = rejected(hooks=frozenset({HookPoint.BEFORE_CALL}))
    heard(play, "c1")
    play.reply(revise("c2"))
    heard(play, "c2", HookVerdict(arguments=WHOLE.replace(":3}", ":4}")))
    assert isinstance(play.outcome, Answered)
    assert play.state.attempts[-1].draft.endswith(":4}")


def test_hooks_are_not_asked_about_what_makes_no_whole():
    play = rejected(hooks=frozenset({HookPoint.BEFORE_CALL}))
    heard(play, "c1")
    play.reply(revise("c2", base=9))
    assert play.verdicts == ["rejected", "rejected"]
    unoffered = call("c9", "RevisedOutput", "[]")
    assert shown(play.state, unoffered) == unoffered


# -- what it survives -----------------------------------------------------------------------------------------------


def test_a_draft_that_was_taken_back_is_no_base():
    play = rejected(policy=native(eager=True))
    play.starts()
    play.says(finish("c2", DRAFT.replace('"3"', '"4"')))
    assert kept_as(play.state, "c2") == 2
    play.retries()
    assert kept_as(play.state, "c2") == 0
    words = last_words(play.reply(revise("c3", base=2)))
    assert "/base: that draft was taken back together with its reply; kept: 1" in words


def test_a_revision_in_a_reply_that_was_cut_off_is_not_taken():
    play = rejected()
    play.reply(revise("c2"), stop="max_tokens")
    assert play.verdicts == ["rejected", "cut_off"]
    assert offered(play)


def test_a_resumed_run_offers_and_takes_it_as_before():
    play = rejected()
    play.resume()
    assert offered(play)
    play.reply(revise("c2"))
    assert isinstance(play.outcome, Answered)


def test_a_new_message_begins_without_drafts():
    play = rejected()
    play.reply(finish("c2", WHOLE))
    play.prompt("again")
    assert not offered(play)


def test_a_whole_call_is_its_own_whole():
    sent = finish("c1")
    assert whole_of(rejected().state, sent) == Whole(sent)
