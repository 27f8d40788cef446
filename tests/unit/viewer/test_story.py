from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from functools import reduce

import pytest
from hypothesis import given, settings
from msgspec import convert

from hostile_world import Tape, World
from journals import BEGAN, Writer
from lastcall.core import records as r
from lastcall.core.evolve import evolve
from lastcall.core.state import begin
from lastcall.nouns.hooks import HookPoint, HookVerdict
from lastcall.nouns.messages import TextBlock, ThinkingBlock
from lastcall.nouns.request import Choice, Purpose
from lastcall.nouns.result import (
    Attempt,
    CheckVerdict,
    Declined,
    Failed,
    FailureKind,
    GaveUp,
    Limit,
    OutOfAttempts,
    RunWarning,
    Usage,
    VerdictKind,
    outcome_name,
)
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause
from lastcall.viewer.entries import Form, Tone
from lastcall.viewer.story import Story
from lastcall.wire.journal import JournalStep, decode_line
from property_tapes import TAPES

SUMMARY = convert({"type": "SummarySaid", "request": 1, "message_id": "m", "text": "In short"}, r.SummarySaid)


def told(content, story=None):
    story = story or Story("s1")
    for line in content.split(b"\n")[:-1]:
        story.tell(decode_line(line))
    return story


def whole(content):
    return told(content).changes()


def gist(changes):
    return [(e.kind, e.title, e.name, e.word) for e in changes.entries]


def begun(*records):
    """A run of one turn, with these records after its request."""
    w = Writer()
    return whole(w.opened() + w.prompt("Do it") + w.step(*records))


def test_a_run_is_told_row_by_row():
    assert gist(whole(Writer().whole())) == [
        ("prompt", "Prompt", "", ""),
        ("turn", "Turn 1", "scripted", ""),
        ("text", "Says", "", ""),
        ("call", "Calls", "Read", "done"),
        ("turn", "Turn 2", "scripted", ""),
        ("call", "Calls", "Read", "failed"),
        ("turn", "Turn 3", "scripted", ""),
        ("attempt", "Attempt 1", "StructuredOutput", "rejected"),
        ("turn", "Turn 4", "scripted", ""),
        ("attempt", "Attempt 2", "StructuredOutput", "accepted"),
        ("end", "Answered", "", ""),
    ]


def test_the_summary_of_a_run_adds_up():
    [run] = whole(Writer().whole()).runs
    assert (run.outcome, run.word, run.tone, run.reason) == (
        "answered",
        "Answered",
        "good",
        "The object passed the contract.",
    )
    assert (run.turns, run.calls, run.input_tokens, run.output_tokens) == (4, 2, 400, 80)
    assert run.cost_usd == pytest.approx(0.0048)
    assert [(dot.n, dot.word, dot.place) for dot in run.attempts] == [(1, "rejected", 7), (2, "accepted", 9)]
    assert run.answer.text == '{"ticket": "INC-0012", "customers": 40}'
    assert run.models == ("scripted",)
    assert BEGAN < run.at < run.ended_at


def test_times_are_those_of_the_records():
    entries = whole(Writer().whole()).entries
    assert (entries[1].took_ms, entries[3].took_ms) == (850, 40)
    assert entries[1].facts == ("100 in", "20 out", "$0.0012")


def test_a_rejected_draft_has_its_problems_in_place_and_the_next_one_what_changed():
    entries = whole(Writer().whole()).entries
    first, second = entries[7], entries[9]
    [sent] = [p for p in first.parts if p.label == "What was sent"]
    assert [(x.text, x.marks) for x in sent.lines if x.marks] == [
        ('"ticket": "INC-12",', ("must match pattern",)),
        ('"customers": "many"', ("must be integer",)),
    ]
    [changed] = [p for p in second.parts if p.form is Form.CHANGES]
    assert [(x.side, x.text) for x in changed.lines if x.side] == [
        ("-", '"ticket": "INC-12",'), ("-", '"customers": "many"'), ("+", '"ticket": "INC-0012",'), ("+", '"customers": 40')]  # fmt: skip
    assert [p.label for p in first.parts] == ["What was sent", "What the model was told"]


def test_only_what_changed_is_told_again():
    w = Writer()
    story = told(w.opened() + w.prompt("x"))
    assert story.changes().contract is not None
    assert story.changes() == Story().changes()
    call = w.call("Read", {})
    told(w.reply(call), story)
    changes = story.changes(live=True)
    assert [(e.place, e.kind) for e in changes.entries] == [(1, "turn"), (2, "call")]
    assert changes.contract is None
    assert changes.session is None
    assert changes.live
    told(w.step(r.ToolStarted(call.call_id, "Read", True)), story)
    assert [(e.place, e.word) for e in story.changes().entries] == [(2, "running")]


def test_pieces_together_are_the_whole():
    lines = [line + b"\n" for line in Writer().whole().split(b"\n")[:-1]]
    story, runs, entries = Story("s1"), {}, {}
    for line in lines:
        changes = told(line, story).changes()
        runs.update({run.number: run for run in changes.runs})
        entries.update({entry.place: entry for entry in changes.entries})
    at_once = whole(b"".join(lines))
    assert tuple(runs.values()) == at_once.runs
    assert tuple(entries[n] for n in sorted(entries)) == at_once.entries


def test_what_was_taken_back_is_marked_and_its_attempts_too():
    w = Writer()
    content = w.opened() + w.prompt("x") + w.rejected({"ticket": "x"}, ("/ticket", "pattern", "m"), asks=False)
    content += w.step(r.FallbackNoted(1, "a", "b", "overloaded", "u", ("m1",), Usage(5, 6), Decimal("0.5")))
    changes = whole(content)
    assert [(e.kind, e.gone) for e in changes.entries if e.turn == 1][:2] == [("turn", True), ("attempt", True)]
    assert changes.entries[2].word == "retracted"
    assert "it was rejected before it was taken back" in changes.entries[2].facts
    assert changes.entries[-1].title == "Fallback"
    assert changes.runs[0].attempts[0].word == "retracted"
    assert changes.runs[0].input_tokens == 105


def test_an_id_that_two_replies_share_means_the_latest():
    w = Writer()
    content = w.opened() + w.prompt("x") + w.rejected({"ticket": "x"}, ("/ticket", "pattern", "m"))
    content += w.step(
        r.BlockSaid(2, "m1", TextBlock("again m1"), "u"), r.FallbackNoted(2, "a", "b", "overloaded", "u", ("m1",))
    )
    changes = whole(content)
    assert [(e.kind, e.gone) for e in changes.entries] == [
        ("prompt", False), ("turn", False), ("attempt", False), ("turn", False), ("text", True), ("fallback", False)
    ]  # fmt: skip
    assert changes.runs[0].attempts[0].word == "rejected"


def test_an_unreadable_attempt_shows_where_reading_stopped_and_is_compared_with_nothing():
    w = Writer()
    content = w.opened() + w.prompt("x") + w.rejected({"ticket": "a"}, ("/ticket", "pattern", "m"))
    bad = Unreadable('{"a": "x"y"}', UnreadableCause.UNESCAPED_QUOTE, "a quote is not escaped", 1, 10, 9, 12)
    content += w.step(
        r.BlockSaid(2, "m2", ToolCall("c7", "m2", "StructuredOutput", bad), "u"),
        r.Attempted(Attempt(2, "c7", "scripted", VerdictKind.UNREADABLE, (), bad.text)),
    )
    content += w.rejected({"ticket": "b"}, ("/ticket", "pattern", "m"))
    unreadable, after = (e for e in whole(content).entries if e.kind == "attempt" and e.title != "Attempt 1")
    assert [(p.form, p.at) for p in unreadable.parts if p.label == "What was sent"] == [(Form.CODE, 9)]
    assert not [p for p in unreadable.parts if p.form is Form.CHANGES]
    [changed] = [p for p in after.parts if p.form is Form.CHANGES]
    assert ("-", '"ticket": "a"') in [(x.side, x.text) for x in changed.lines]


def test_checks_that_came_before_their_attempt_are_told_with_it():
    changes = begun(
        r.Checked("c1", (CheckVerdict("a > 0", True, call_id="c1"),), True),
        r.Attempted(Attempt(1, "c1", "m", VerdictKind.HELD, (), "{}")),
        r.Checked("c1", (CheckVerdict("cmd", False, "no", 5, "c1"),), False),
        r.AttemptRevised("c1", VerdictKind.REJECTED),
    )
    attempt = changes.entries[-1]
    assert attempt.word == "rejected"
    [checks] = [p for p in attempt.parts if p.label == "Rules and checks"]
    assert checks.points == ("passed: a > 0", "failed: cmd (no)")
    assert [(v.name, v.passed, v.attempt) for v in changes.runs[0].checks] == [("a > 0", True, 1), ("cmd", False, 1)]


@pytest.mark.parametrize(
    ("record", "kind", "title", "summary"),
    [
        (r.Resumed(), "resumed", "Resumed", "What was asked and not answered is void."),
        (r.RetryNoted(1, 2, 5, 1500, Failed(FailureKind.OVERLOADED, "busy", 529)), "retry", "Retry 2 of 5", "Overloaded (HTTP 529): busy, after 1.5 s"),
        (r.FeatureDropped(1, "strict", "400"), "retry", "Asked again without a feature", "strict: 400"),
        (r.DeclineHeard("c", "no data", ("total",), False), "decline", "Declined, and was challenged", "no data Missing: total."),
        (r.Nudged(r.NudgeKind.ENFORCE, "Call the tool."), "nudge", "Asked for the object", "Call the tool."),
        (r.Warned(RunWarning("x", "looks odd", "/a")), "warning", "Warning", "/a: looks odd"),
        (r.LimitNoted(Limit.BUDGET, hit=True), "limit", "Limit reached", "budget"),
        (r.HooksHeard(HookPoint.STOP, "", HookVerdict(("wait",))), "hook", "Hook Stop", "wait"),
        (r.Compacted(()), "note", "History made shorter", "0 messages go on to the model."),
        (r.Imported(()), "note", "History taken over", "0 messages from elsewhere."),
        (SUMMARY, "note", "Summary", "In short"),
    ],
)  # fmt: skip
def test_what_happens_between_turns_is_a_row(record, kind, title, summary):
    entry = begun(record).entries[-1]
    assert (entry.kind, entry.title, entry.summary) == (kind, title, summary)


@pytest.mark.parametrize("kind", list(r.NudgeKind))
def test_every_nudge_has_words(kind):
    assert begun(r.Nudged(kind, "x")).entries[-1].title.startswith(("Told", "Asked"))


@pytest.mark.parametrize("kind", list(ResultKind))
def test_every_answer_of_a_call_has_a_word(kind):
    w = Writer()
    call = w.call("Read", {})
    changes = whole(
        w.opened() + w.prompt("x") + w.reply(call) + w.step(r.CallAnswered(ToolResult(call.call_id, kind, "text")))
    )
    assert changes.entries[-1].word
    assert not changes.entries[-1].pending


def test_a_summary_that_is_asked_for_is_no_turn():
    changes = begun(r.Asked(2, purpose=Purpose.SUMMARY))
    assert changes.entries[-1].title == "Summary of what is left out"
    assert changes.runs[0].turns == 1


def test_what_was_special_about_a_request_is_said():
    assert begun(r.Asked(2, Choice.FINISH, reserved=True)).entries[-1].facts == (
        "reserved last call",
        "the finishing tool was forced",
    )


@pytest.mark.parametrize(
    ("outcome", "word", "tone", "answer"),
    [
        (Declined("no", ("a", "b")), "Declined", Tone.WARN, ("a", "b")),
        (GaveUp("my words"), "Gave up", Tone.BAD, "my words"),
        (OutOfAttempts(1), "Out of attempts", Tone.BAD, '{"ticket": "x"}'),
    ],
)
def test_a_run_without_an_object_shows_what_is_left(outcome, word, tone, answer):
    w = Writer()
    changes = whole(
        w.opened() + w.prompt("x") + w.rejected({"ticket": "x"}, ("/ticket", "p", "m")) + w.step(r.Ended(outcome))
    )
    [run] = changes.runs
    assert (run.word, run.tone) == (word, tone)
    assert (run.answer.text or run.answer.points) == answer
    assert not [e for e in changes.entries if e.pending]


def test_a_reply_that_broke_off_says_why():
    changes = begun(r.RequestLost(1, Failed(FailureKind.NETWORK, "reset"), "u", took_ms=7))
    assert (changes.entries[-1].word, changes.entries[-1].summary) == ("broke off", "Network: reset")


def test_thoughts_are_folded_and_words_are_not():
    changes = begun(r.BlockSaid(1, "m", ThinkingBlock("hm"), "u"), r.BlockSaid(1, "m", TextBlock("hi"), "u"))
    assert [(e.kind, e.open) for e in changes.entries[-2:]] == [("thinking", False), ("text", True)]


def test_a_resumed_run_is_open_again():
    w = Writer()
    story = told(w.opened() + w.prompt("x") + w.step(r.Ended(GaveUp(""))))
    assert story.over
    told(w.step(r.Resumed()), story)
    assert not story.over


def test_records_that_no_run_precedes_harm_nothing():
    w = Writer()
    changes = whole(w.step(
        r.Warned(RunWarning("x", "m")), r.Attempted(Attempt(1, "c", "m", VerdictKind.REJECTED, (), "{}")), r.Ended(GaveUp("x")),
        r.CallAnswered(ToolResult("nobody", ResultKind.OK, "x")), r.AttemptRevised("nobody", VerdictKind.REJECTED),
        r.ToolStarted("nobody", "t", True), r.ReplyClosed(9, "m", None, Usage()), r.RequestLost(9, Failed(FailureKind.NETWORK, "x"), "u"),
    ))  # fmt: skip
    assert changes.runs == ()
    assert len(changes.entries) == 4


def test_the_contract_is_told_once_and_again_when_it_changes():
    w = Writer()
    story = told(w.opened())
    assert story.changes().contract.title == "Incident"
    told(w.opened(), story)
    assert story.changes().contract is None
    other = json.dumps({"title": "Other", "type": "object"})
    told(w.step(r.Opened("s1", "0.1.0", "native", "m", "/", 0.0, "other", other)), story)
    assert story.changes().contract.title == "Other"


def test_long_texts_are_cut_and_say_how_much_is_missing():
    [part] = begun(r.BlockSaid(1, "m", TextBlock("x" * 50_000), "u")).entries[-1].parts
    assert (len(part.text), part.left_out, part.unit) == (40_000, 10_000, "characters")


@settings(max_examples=40, deadline=None)
@given(TAPES)
def test_whatever_the_world_does_a_story_says_what_the_machine_says(data):
    world = World(Tape(data))
    with suppress(
        AssertionError
    ):  # whether the machine keeps its rules is for another test; its records are told all the same
        world.play()
    story = Story()
    entries = {}
    for n, record in enumerate(world.records):
        story.tell(JournalStep(float(n), (record,)))
        changes = story.changes()
        entries.update({entry.place: entry for entry in changes.entries})
        if changes.runs:
            run = changes.runs[-1]
    state = reduce(evolve, world.records, begin(world.setting))
    assert sorted(entries) == list(range(len(entries)))
    assert [(dot.n, dot.word) for dot in run.attempts] == [
        (a.n, a.verdict.value.replace("_", " ")) for a in state.attempts
    ]
    assert run.outcome == ("" if state.outcome is None else outcome_name(state.outcome))
    assert run.input_tokens == sum((usage for _, usage in state.usage_by_model), Usage()).input_tokens
    assert (run.cost_usd or 0) == pytest.approx(float(state.cost_usd or 0))
    assert not story.over or [e for e in entries.values() if e.pending and e.run == run.number] == []
    for dot in run.attempts:
        assert entries[dot.place].title == f"Attempt {dot.n}"


def test_endless_words_where_a_sentence_should_be_do_not_fill_the_page():
    endless = "w" * 100_000
    w = Writer()
    content = w.opened() + w.prompt(endless) + w.tool(endless, {}, endless) + w.step(
        r.DeclineHeard("c", endless, (endless,), True), r.Warned(RunWarning("x", endless)), r.FeatureDropped(2, "f", endless),
        r.RetryNoted(2, 1, 1, 1, Failed(FailureKind.SERVER, endless)), r.HooksHeard(HookPoint.STOP, "", HookVerdict((endless,))),
        r.Ended(Declined(endless)),
    )  # fmt: skip
    changes = whole(content)
    assert max(len(e.summary) + len(e.name) + len(e.title) for e in changes.entries) < 1_000
    [run] = changes.runs
    assert len(run.reason) <= 400
    assert len(run.prompt) <= 2_000
    assert changes.entries[-1].parts[0].left_out > 50_000
