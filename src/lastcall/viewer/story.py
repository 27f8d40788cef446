"""Records to what a page shows: a fold, step by step, that knows what changed since it was last asked.

The same fold serves a finished journal, one that is being written, and a server. It decides nothing about a run: whatever
it says stands in a record.

Must not go in here: words about single records (`viewer.telling`), files (`viewer.tailing`), JSON (`viewer.layout`).
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final, assert_never

from msgspec.structs import replace

from lastcall.core import records as r
from lastcall.nouns.attachment import Problem
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.request import Purpose
from lastcall.nouns.result import (
    Answered,
    Attempt,
    Declined,
    GaveUp,
    Outcome,
    Usage,
    VerdictKind,
    outcome_name,
    reason,
)
from lastcall.nouns.tools import ResultKind, ToolCall, Unreadable
from lastcall.viewer import telling
from lastcall.viewer.attempts import Ledger
from lastcall.viewer.entries import (
    Changes,
    ContractFacts,
    Dot,
    Entry,
    Form,
    Part,
    RunFacts,
    SessionFacts,
    Tone,
    Verdict,
)
from lastcall.viewer.layout import lay_out
from lastcall.viewer.schema_tree import contract_facts
from lastcall.wire.journal import JournalStep

_PROMPT: Final = 2_000
_NAME: Final = 200


class Story:
    """A session as it unfolds. `tell` it the steps in order; `changes` is what a page does not know yet."""

    def __init__(self, session_id: str = "") -> None:
        self._session = SessionFacts(session_id=session_id)
        self._contract: ContractFacts | None = None
        self._runs: list[RunFacts] = []
        self._entries: list[Entry] = []
        self._changed_entries: dict[int, None] = {}
        self._changed_runs: dict[int, None] = {}
        self._session_changed = self._contract_changed = False
        self._at = 0.0
        self._turn = 0
        self._turn_places: dict[int, int] = {}
        self._places: dict[CallId, int] = {}
        self._calls: dict[CallId, ToolCall] = {}
        self._started: dict[CallId, float] = {}
        self._reply_calls: list[ToolCall] = []
        self._messages: dict[MessageId, list[int]] = {}
        self._attempts = Ledger()

    @property
    def over(self) -> bool:
        """Whether the latest run has ended."""
        return bool(self._runs) and bool(self._runs[-1].outcome)

    def tell(self, step: JournalStep) -> None:
        """Take one step in."""
        self._at = step.at
        for record in step.records:
            self._take(record)

    def note(self, words: str) -> None:
        """Say something about the file as a whole."""
        if words != self._session.note:
            self._session = replace(self._session, note=words)
            self._session_changed = True

    def changes(self, *, live: bool = False) -> Changes:
        """What changed since this was last asked; the first time, everything."""
        changed = Changes(
            session=self._session if self._session_changed else None,
            contract=self._contract if self._contract_changed else None,
            runs=tuple(self._runs[n] for n in sorted(self._changed_runs)),
            entries=tuple(self._entries[n] for n in sorted(self._changed_entries)),
            live=live,
        )
        self._session_changed = self._contract_changed = False
        self._changed_runs.clear()
        self._changed_entries.clear()
        return changed

    # -- records ----------------------------------------------------------------------------------------------------

    def _take(self, record: r.Record) -> None:  # noqa: C901, PLR0912, PLR0915 -- one line a record
        match record:
            case r.Opened():
                self._opened(record)
            case r.Started():
                self._began(record)
            case r.Resumed():
                self._add("resumed", "Resumed", summary="What was asked and not answered is void.", tone=Tone.CALM)
                self._run(outcome="", ended_at=None, word="running", tone=Tone.CALM, reason="")
            case r.Ended():
                self._ended(record.outcome)
            case r.Asked():
                self._asked(record)
            case r.ReplyBegan():
                self._reply_began(record)
            case r.BlockSaid():
                self._block_said(record)
            case r.ReplyClosed():
                self._reply_closed(record)
            case r.RequestLost():
                self._lost(record)
            case r.RetryNoted():
                self._spend(record.usage, record.cost_usd)
                self._take_back(record.retracted)
                self._add("retry", *telling.retry(record), tone=Tone.WARN)
            case r.FallbackNoted():
                self._spend(record.usage, record.cost_usd)
                self._take_back(record.retracted)
                self._add("fallback", *telling.fallback(record), tone=Tone.WARN)
            case r.FeatureDropped():
                self._take_back(record.retracted)
                self._add("retry", *telling.dropped(record), tone=Tone.WARN)
            case r.ToolStarted():
                self._tool_started(record)
            case r.CallAnswered():
                self._answered(record)
            case r.Attempted():
                self._attempted(record.attempt)
            case r.AttemptRevised():
                self._revised(record.call_id, record.verdict, record.problems)
            case r.SummarySaid():
                self._add("note", "Summary", telling.shorten(record.text), parts=_prose(record.text))
            case r.Imported():
                self._add("note", "History taken over", f"{len(record.messages):,} messages from elsewhere.")
            case r.HeldBack() | r.HooksAsked():
                pass  # the attempt's verdict says it; what hooks answer is told
            case r.Checked():
                self._checked(record)
            case r.Attached():
                self._attached(record)
            case r.DeclineHeard():
                self._add("decline", *telling.decline(record), tone=Tone.WARN)
            case r.Nudged():
                self._add("nudge", *telling.nudge(record), tone=Tone.CALM, parts=_prose(record.text))
            case r.Noted():
                self._add("note", "Told to the model", parts=_prose("\n".join(record.texts)))
            case r.Bridged():
                self._add("note", "Told to the model", parts=_prose(f"{record.told}\n{record.said}"))
            case r.Compacted():
                self._add("note", "History made shorter", f"{len(record.messages):,} messages go on to the model.")
            case r.HooksHeard():
                self._hooks(record)
            case r.Warned():
                words = telling.warning(record.warning)
                self._add("warning", "Warning", words, tone=Tone.WARN)
                self._run(warnings=(*self._runs[-1].warnings, words) if self._runs else ())
            case r.LimitNoted():
                self._add("limit", *telling.limit(record), tone=Tone.WARN)
            case _:
                assert_never(record)

    def _opened(self, record: r.Opened) -> None:
        known = (self._session.digest, self._session.rules) == (record.contract_digest, record.rules)
        if record.schema_text and not (known and self._contract):
            self._contract = contract_facts(record.schema_text, record.profile, record.rules)
            self._contract_changed = True
        self._session = SessionFacts(
            session_id=record.session_id or self._session.session_id,
            title=self._contract.title if self._contract else "",
            model=record.model,
            profile=record.profile,
            version=record.version,
            cwd=record.cwd,
            digest=record.contract_digest,
            rules=record.rules,
            note=self._session.note,
        )
        self._session_changed = True

    def _began(self, record: r.Started) -> None:
        prompt = telling.prompt(record.blocks)
        shown = telling.shorten(prompt, _PROMPT)
        self._runs.append(RunFacts(number=len(self._runs) + 1, prompt=shown, at=record.at))
        self._changed_runs[len(self._runs) - 1] = None
        self._turn, self._attempts = 0, Ledger()
        self._add("prompt", "Prompt", parts=_prose(prompt), open=True)

    def _ended(self, outcome: Outcome) -> None:
        words, tone = telling.outcome_words(outcome)
        for n in self._changed_or_pending():
            self._change(n, pending=False)
        why = reason(outcome)
        short = telling.sentence(why)
        self._add("end", words, short, tone=tone, parts=() if short == why else _prose(why))
        self._run(
            outcome=outcome_name(outcome), ended_at=self._at, word=words, tone=tone, reason=short,
            answer=self._answer(outcome),
        )  # fmt: skip

    def _changed_or_pending(self) -> list[int]:
        return [e.place for e in self._entries[-64:] if e.pending]

    def _answer(self, outcome: Outcome) -> Part | None:
        match outcome:
            case Answered(attachment=None, text=text) | GaveUp(text=text):
                return telling.prose("The answer", text) if text else None
            case Answered(attachment=attachment):
                assert attachment is not None
                placed = lay_out(attachment.text)
                label = "The object" if attachment.source == "call" else f"The object ({attachment.source})"
                return telling.json_part(label, placed, text=attachment.text)
            case Declined(missing=missing):
                return Part(form=Form.POINTS, label="Missing", points=missing) if missing else None
            case _:
                return self._attempts.best_draft()

    # -- turns ------------------------------------------------------------------------------------------------------

    def _asked(self, record: r.Asked) -> None:
        if record.purpose is Purpose.TURN:
            self._turn += 1
            self._run(turns=self._turn)
        self._messages.clear()
        self._reply_calls.clear()
        title, facts = telling.asked(record, self._turn)
        self._turn_places[record.number] = self._add("turn", title, facts=facts, pending=True)

    def _reply_began(self, record: r.ReplyBegan) -> None:
        self._messages.setdefault(record.message_id, [])
        place = self._turn_places.get(record.request)
        if place is not None:
            self._messages[record.message_id].append(place)
            self._change(place, name=record.model)
        if self._runs and record.model not in self._runs[-1].models:
            self._run(models=(*self._runs[-1].models, record.model))

    def _block_said(self, record: r.BlockSaid) -> None:
        kind, title, summary, parts, opened = telling.block(record.block)
        call = record.block if isinstance(record.block, ToolCall) else None
        place = self._add(
            kind,
            title,
            summary,
            name=call.name[:_NAME] if call else "",
            parts=parts,
            open=opened,
            pending=call is not None,
        )
        self._messages.setdefault(record.message_id, []).append(place)
        if call is not None:
            self._places[call.call_id] = place
            self._calls[call.call_id] = call
            self._reply_calls.append(call)

    def _reply_closed(self, record: r.ReplyClosed) -> None:
        self._spend(record.usage, record.cost_usd)
        place = self._turn_places.get(record.request)
        if place is not None:
            word, tone = telling.stop(record)
            facts = (*self._entries[place].facts, *telling.spent(record.usage, record.cost_usd))
            self._change(place, took_ms=record.took_ms, word=word, tone=tone, facts=facts, pending=False)

    def _lost(self, record: r.RequestLost) -> None:
        self._spend(record.usage, None)
        place = self._turn_places.get(record.request)
        summary = telling.sentence(reason(record.failure))
        if place is not None:
            self._change(place, took_ms=record.took_ms, word="broke off", tone=Tone.BAD, summary=summary, pending=False)
        else:
            self._add("retry", "Request lost", summary, tone=Tone.BAD)

    def _spend(self, usage: Usage, cost_usd: Decimal | None) -> None:
        if not self._runs:
            return
        run = self._runs[-1]
        spent = Usage(run.input_tokens, run.output_tokens) + usage
        cost = run.cost_usd if cost_usd is None else float(cost_usd) + (run.cost_usd or 0)
        self._run(input_tokens=spent.input_tokens, output_tokens=spent.output_tokens, cost_usd=cost)

    def _take_back(self, messages: Iterable[MessageId]) -> None:
        """What the latest reply brought through these messages; an id that an earlier reply had too means this one."""
        gone = set(messages)
        for message_id in gone:
            for place in self._messages.pop(message_id, ()):
                self._change(place, gone=True, pending=False)
        for call in self._reply_calls:
            if call.message_id in gone:
                self._revised(call.call_id, VerdictKind.RETRACTED, ())
        self._reply_calls.clear()

    # -- calls ------------------------------------------------------------------------------------------------------

    def _tool_started(self, record: r.ToolStarted) -> None:
        self._started[record.call_id] = self._at
        place = self._places.get(record.call_id)
        self._run(calls=self._runs[-1].calls + 1 if self._runs else 0)
        if place is not None:
            facts = () if record.read_only else ("may change things",)
            self._change(place, at=self._at, word="running", tone=Tone.CALM, facts=facts)

    def _answered(self, record: r.CallAnswered) -> None:
        result = record.result
        place = self._places.get(result.call_id)
        if place is None:
            return
        if result.call_id in self._attempts and result.kind is ResultKind.ACCEPTED:
            self._change(place, pending=False)
        elif result.call_id in self._attempts:
            told = Part(form=Form.PROSE, label="What the model was told", text=result.content)
            self._change(place, parts=(*self._entries[place].parts, told), pending=False)
        else:
            self._tool_answered(place, record)

    def _tool_answered(self, place: int, record: r.CallAnswered) -> None:
        result = record.result
        word, tone = telling.answer_words(result.kind)
        self._change(
            place, word=word, tone=tone, pending=False,
            took_ms=record.took_ms if result.call_id in self._started else None,
            parts=(*self._entries[place].parts, telling.answer(result)),
        )  # fmt: skip
        if self._runs and "may change things" in self._entries[place].facts:
            self._run(effects=(*self._runs[-1].effects, f"{self._entries[place].name}: {word}"))

    def _attempted(self, attempt: Attempt) -> None:
        call = self._calls.get(attempt.call_id)
        stopped = call.arguments.offset if call and isinstance(call.arguments, Unreadable) else None
        self._attempts.add(attempt, stopped)
        if attempt.call_id not in self._places:
            self._places[attempt.call_id] = self._add("attempt", "")
        self._show_attempt(attempt.call_id)

    def _revised(self, call_id: CallId, verdict: VerdictKind, problems: tuple[Problem, ...]) -> None:
        if call_id in self._attempts:
            self._attempts.revise(call_id, verdict, problems)
            self._show_attempt(call_id)

    def _checked(self, record: r.Checked) -> None:
        n = self._attempts.check(record.call_id, record.verdicts)
        if record.call_id in self._attempts:
            self._show_attempt(record.call_id)
        if self._runs:
            told = tuple(Verdict(v.name, v.passed, v.message, v.took_ms, n) for v in record.verdicts)
            self._run(checks=(*self._runs[-1].checks, *told))

    def _attached(self, record: r.Attached) -> None:
        place = self._places.get(record.attachment.call_id)
        if place is not None and record.answered_before:
            unseen = f"written before {len(record.answered_before)} answers were seen"
            self._change(place, facts=(*self._entries[place].facts, unseen))

    def _show_attempt(self, call_id: CallId) -> None:
        attempt, place = self._attempts[call_id], self._places[call_id]
        word, tone = telling.verdict_words(attempt.verdict)
        told = tuple(p for p in self._entries[place].parts if p.label == "What the model was told")
        self._change(
            place, kind="attempt", title=f"Attempt {attempt.n}", word=word, tone=tone, open=True, summary="",
            facts=telling.attempt_facts(attempt),
            parts=(*self._attempts.parts(call_id), *told),
        )  # fmt: skip
        dots = {dot.n: dot for dot in (self._runs[-1].attempts if self._runs else ())}
        dots[attempt.n] = Dot(attempt.n, word, tone, place)
        self._run(attempts=tuple(dots.values()))

    def _hooks(self, record: r.HooksHeard) -> None:
        words = telling.hooks(record)
        if words:
            self._add("hook", f"Hook {record.point.value}", words, tone=Tone.CALM)

    # -- rows -------------------------------------------------------------------------------------------------------

    def _add(self, kind: str, title: str, summary: str = "", **fields: object) -> int:
        """A new row; its place."""
        place = len(self._entries)
        entry = Entry(
            place=place,
            kind=kind,
            run=max(1, len(self._runs)),
            at=self._at,
            turn=self._turn,
            title=title,
            summary=summary,
        )
        self._entries.append(replace(entry, **fields))
        self._changed_entries[place] = None
        return place

    def _change(self, place: int, **changes: object) -> None:
        self._entries[place] = replace(self._entries[place], **changes)
        self._changed_entries[place] = None

    def _run(self, **changes: object) -> None:
        if self._runs:
            self._runs[-1] = replace(self._runs[-1], **changes)
            self._changed_runs[len(self._runs) - 1] = None


def _prose(text: str) -> tuple[Part, ...]:
    return (telling.prose("", text),)
