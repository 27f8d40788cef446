"""An envelope as a story: what is left of a run where its journal is gone, or lies on another machine.

An envelope holds the ledger, not the drafts of it, and no prompt. Fields that are not there, or are not what they should
be, are left out.

Must not go in here: what an envelope looks like (`wire.envelope`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lastcall.contract.json_text import write_json
from lastcall.nouns.result import VerdictKind
from lastcall.viewer import telling
from lastcall.viewer.entries import Changes, Dot, Entry, Form, Part, RunFacts, SessionFacts, Tone, Verdict
from lastcall.viewer.layout import lay_out

_NO_PROMPT = "(An envelope does not hold the prompt.)"


def story_of_envelope(frame: Mapping[str, Any]) -> Changes:
    """The story of a result frame, as far as it goes."""
    ours = _object(frame.get("lastcall"))
    attempts = _objects(ours.get("attempts"))
    entries = tuple(_attempt(attempt, place) for place, attempt in enumerate(attempts))
    word, tone = telling.outcome_tone(_text(ours.get("outcome")) or "unknown")
    reason = _text(ours.get("reason"))
    end = Entry(place=len(entries), kind="end", run=1, at=0.0, title=word, summary=reason, tone=tone)
    took_s = (_number(frame.get("duration_ms")) or 0) / 1000
    usage = _object(frame.get("usage"))
    numbers = {a.get("call_id"): n for n, a in enumerate(attempts, 1)}
    run = RunFacts(
        number=1,
        prompt=_NO_PROMPT,
        at=0.0,
        ended_at=took_s,
        outcome=_text(ours.get("outcome")) or "unknown",
        word=word,
        tone=tone,
        reason=reason,
        models=tuple(_object(frame.get("modelUsage"))),
        turns=int(_number(frame.get("num_turns")) or 0),
        attempts=tuple(Dot(n, e.word, e.tone, e.place) for n, e in enumerate(entries, 1)),
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        cost_usd=_number(frame.get("total_cost_usd")),
        answer=_answer(frame, ours),
        checks=tuple(
            Verdict(
                _text(c.get("name")), c.get("passed") is True, _text(c.get("message")),
                _count(c.get("took_ms")) or 0, numbers.get(c.get("call_id"), 0),
            )
            for c in _objects(ours.get("checks"))
        ),
        warnings=tuple(_located(w) for w in _objects(ours.get("warnings"))),
        effects=tuple(
            f"{_text(e.get('tool'))}: {_text(e.get('status'))}" for e in _objects(ours.get("side_effects"))
        ),
    )  # fmt: skip
    contract = _object(ours.get("contract"))
    session = SessionFacts(
        session_id=_text(frame.get("session_id")),
        digest=_text(contract.get("digest")),
        note="This is an envelope: its journal is not on this machine, so that drafts and turns are not shown.",
    )
    return Changes(session=session, runs=(run,), entries=(*entries, end))


def _attempt(attempt: Mapping[str, Any], place: int) -> Entry:
    verdict = _text(attempt.get("verdict"))
    known = VerdictKind(verdict) if verdict in set(VerdictKind) else None
    word, tone = telling.verdict_words(known) if known is not None else (verdict, Tone.PLAIN)
    problems = tuple(_located(p) for p in _objects(attempt.get("problems")))
    parts = (Part(form=Form.POINTS, label="Problems", points=problems),) if problems else ()
    return Entry(
        place=place, kind="attempt", run=1, at=0.0, title=f"Attempt {place + 1}", name=_text(attempt.get("model")),
        word=word, tone=tone, parts=parts, open=True,
    )  # fmt: skip


def _answer(frame: Mapping[str, Any], ours: Mapping[str, Any]) -> Part | None:
    for label, holder, key in (
        ("The object", frame, "structured_output"),
        ("The best draft, which did not pass", ours, "draft"),
    ):
        if key in holder:
            text = write_json(holder[key], numbers="exact")
            return telling.json_part(label, lay_out(text), text=text)
    said = _text(frame.get("result"))
    return telling.prose("The answer", said) if said else None


def _located(problem: Mapping[str, Any]) -> str:
    path, message = _text(problem.get("path")), _text(problem.get("message"))
    return f"{path}: {message}" if path else message


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    return None if isinstance(value, bool | str | list | dict) or value is None else float(value)


def _count(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
