"""The property test of the machine is worth something: it finds each of these bugs within its own budget."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings

from hostile_world import Tape, World
from planted import planted
from property_tapes import EXAMPLES, TAPES

DECIDE, CALLS, EVOLVE = "lastcall.core.decide", "lastcall.core.calls", "lastcall.core.evolve"
TAKING_BACK = "lastcall.core.taking_back"
STATE, RESUME, HISTORY = "lastcall.core.state", "lastcall.core.resume", "lastcall.core.history"
LIMITS, NAMING = "lastcall.core.limits", "lastcall.core.naming"

_CUT_OFF_ATTEMPT = (
    "        if _finishes(state, call):\n"
    "            _note_attempt(draft, _Origin(call.call_id, call.message_id), _text(call), VerdictKind.CUT_OFF)\n"
)

BUGS = {
    "a request in flight is ignored": (
        DECIDE,
        "    if state.outcome is not None or state.outstanding:\n        return\n",
        "    if state.outcome is not None:\n        return\n",
    ),
    "open calls are ignored": (DECIDE, "    elif not state.running and not", "    elif not"),
    "open checks are ignored": (DECIDE, " and not state.checking", ""),
    "retracted attempts are forgotten": (
        TAKING_BACK,
        "attempts=tuple(_taken_back(a) if a.call_id in calls else a for a in state.attempts)",
        "attempts=tuple(a for a in state.attempts if a.call_id not in calls)",
    ),
    "a retracted attachment is kept": (
        TAKING_BACK,
        "attachments=tuple(a for a in state.attachments if a.message_id not in gone)",
        "attachments=state.attachments",
    ),
    "a retracted object is still held": (
        TAKING_BACK,
        "held=tuple(h for h in state.held if h.attachment.call_id not in calls)",
        "held=state.held",
    ),
    "a retracted call still runs": (
        TAKING_BACK,
        "running=tuple(x for x in state.running if x not in calls)",
        "running=state.running",
    ),
    "retracted words are sent again": (
        TAKING_BACK,
        "pending=tuple(e for e in state.pending if not _is_gone(e, gone, calls))",
        "pending=state.pending",
    ),
    "a retraction keeps what was not named": (
        DECIDE,
        "return tuple(dict.fromkeys((*named, *draft.state.reply.message_ids)))",
        "return named",
    ),
    "a late result is accepted": (
        DECIDE,
        "if event.result.call_id in draft.state.running:",
        "if event.result.call_id in draft.state.call_ids:",
    ),
    "a dead message is forgotten": (
        TAKING_BACK,
        "retracted_messages=state.retracted_messages | gone",
        "retracted_messages=state.retracted_messages",
    ),
    "events of another request are heard": (
        DECIDE,
        "            if draft.state.outstanding and event.request == draft.state.asked:\n                _heard(",
        "            if draft.state.outstanding:\n                _heard(",
    ),
    "nudged twice": (
        DECIDE,
        "    elif r.NudgeKind.ENFORCE not in state.nudges:",
        "    elif state.nudges.count(r.NudgeKind.ENFORCE) < 2:",
    ),
    "never nudged and never ended": (DECIDE, "        asking.end(draft, endings.gave_up(state))", "        pass"),
    "accepting without validating": (CALLS, "contract.judge(arguments)", "Accepted(arguments.text)"),
    "accepting text without validating": (
        CALLS,
        "_judge(draft, origin, Arguments(state.reply.text), state.contract)",
        "_take_object(draft, state.reply.text, Attachment(origin.call_id, origin.message_id, state.reply.text), ())",
    ),
    "a failed check is ignored": (DECIDE, "    if event.problems:\n        calls.check_failed", "    if 0:\n        calls.check_failed"),
    "acting after the end": (DECIDE, "elif state.outcome is None and state.run_id:", "elif state.run_id:"),
    "a cut-off reply is accepted": (
        CALLS,
        _CUT_OFF_ATTEMPT,
        "        if _finishes(state, call):\n            take(draft, call)\n            continue\n",
    ),
    "a cut-off reply's tools run": (
        CALLS,
        _CUT_OFF_ATTEMPT,
        "        if not _finishes(state, call):\n            take(draft, call)\n            continue\n",
    ),
    "an object does not wait": (CALLS, "waits = state.policy.holds and any(", "waits = False and any("),
    "a failed sibling is ignored": (CALLS, "if x.failed and state.policy.holds)", "if False)"),
    "a call is judged before hooks were asked": (CALLS, "    elif not hooking.ask_before(draft, whole.call):", "    else:"),
    "a call that hooks denied is judged": (CALLS, "    if verdict.decision is HookDecision.DENY:", "    if False:"),
    "a call is left without an answer": (
        CALLS,
        "    for call in state.unanswered if answers else ():",
        "    for call in ():",
    ),
    "two calls share an id": (NAMING, "    while free in state.call_ids or any(", "    while any("),
    "the cap is not kept": (STATE, "len(self.attempts) >= self.policy.max_attempts", "False"),
    "the turn limit is not kept": (LIMITS, "policy.max_turns is not None and state.replies >= policy.max_turns", "False"),
    "a summary is an attempt": (DECIDE, "    if draft.state.summing is not None:\n        if summing", "    if 0:\n        if summing"),
    "a crash repeats what was done": (RESUME, "if t.read_only}", "}"),
    "a crash leaves half a reply": (
        EVOLVE,
        "resumed = replace(void_open_reply(state), outstanding=False, running=())",
        "resumed = replace(state, outstanding=False, running=())",
    ),
    "an answer without its call is sent": (
        HISTORY,
        "not (block.call_id in asked and block.call_id in answered)",
        "block.call_id not in asked",
    ),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug):
    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        report_multiple_bugs=False,
    )  # fmt: skip
    @given(TAPES)
    def rules_hold(data):
        World(Tape(data)).play()

    with planted(*BUGS[bug]), pytest.raises(Exception):  # noqa: B017 -- whichever rule it breaks
        rules_hold()


def test_a_bug_is_gone_when_its_block_is_left():
    with planted(*BUGS["acting after the end"]):
        pass
    World(Tape(bytes(40))).play()
