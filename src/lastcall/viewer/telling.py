"""Words and parts for single records: what a page says of a reply, a call, an attempt, a limit.

Must not go in here: which entry they belong to (`viewer.story`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, assert_never

from lastcall.core import records as r
from lastcall.nouns.messages import AssistantBlock, OpaqueBlock, TextBlock, ThinkingBlock, UserBlock
from lastcall.nouns.request import Choice, Purpose
from lastcall.nouns.result import Attempt, CheckVerdict, Outcome, RunWarning, Usage, VerdictKind, outcome_name, reason
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable
from lastcall.viewer.entries import Form, Part, Tone
from lastcall.viewer.layout import Placed, lay_out, mark

LONGEST: Final = 40_000
"""Characters of one text that a page shows."""
SENTENCE: Final = 400
"""Characters of what should be a sentence."""
_SUMMARY: Final = 160

_VERDICTS: Final = {
    VerdictKind.ACCEPTED: Tone.GOOD,
    VerdictKind.REJECTED: Tone.BAD,
    VerdictKind.UNREADABLE: Tone.BAD,
    VerdictKind.CUT_OFF: Tone.WARN,
    VerdictKind.RETRACTED: Tone.WARN,
    VerdictKind.HELD: Tone.HELD,
    VerdictKind.DECLINED: Tone.WARN,
    VerdictKind.INTERRUPTED: Tone.WARN,
}
_ANSWERS: Final = {
    ResultKind.OK: ("done", Tone.GOOD),
    ResultKind.FAILED: ("failed", Tone.BAD),
    ResultKind.DENIED: ("denied", Tone.WARN),
    ResultKind.UNKNOWN_TOOL: ("no such tool", Tone.BAD),
    ResultKind.BAD_INPUT: ("bad input", Tone.BAD),
    ResultKind.CANCELLED: ("cancelled", Tone.WARN),
    ResultKind.INTERRUPTED: ("interrupted", Tone.WARN),
    ResultKind.CUT_OFF: ("cut off, not run", Tone.WARN),
    ResultKind.ACCEPTED: ("accepted", Tone.GOOD),
    ResultKind.REJECTED: ("rejected", Tone.BAD),
    ResultKind.HELD: ("held", Tone.HELD),
    ResultKind.BLOCKED: ("blocked by a hook", Tone.WARN),
}
_OUTCOMES: Final = {"answered": Tone.GOOD, "declined": Tone.WARN, "stopped": Tone.WARN, "cancelled": Tone.WARN}
_NUDGES: Final = {
    r.NudgeKind.ENFORCE: "Asked for the object",
    r.NudgeKind.CUT_OFF: "Told that the reply was cut off",
    r.NudgeKind.NO_OUTPUT: "Told that the reply was empty",
    r.NudgeKind.FEEDBACK: "Told what was wrong",
    r.NudgeKind.MALFORMED: "Told that the reply was malformed",
    r.NudgeKind.STOP_HOOK: "Told to go on by a hook",
    r.NudgeKind.INTERRUPT: "Told that it was interrupted",
    r.NudgeKind.REPEATING: "Told that it goes in circles",
}
_LETTERS: Final = "characters"
Told = tuple[str, str]
"""Title and summary."""


def outcome_words(outcome: Outcome) -> tuple[str, Tone]:
    """The outcome in a word or three, and how that is."""
    return outcome_tone(outcome_name(outcome))


def outcome_tone(name: str) -> tuple[str, Tone]:
    """The same for an outcome's slug, as an envelope tells it."""
    return name.replace("_", " ").capitalize(), _OUTCOMES.get(name, Tone.BAD)


def verdict_words(verdict: VerdictKind) -> tuple[str, Tone]:
    """What became of an attempt."""
    return verdict.value.replace("_", " "), _VERDICTS[verdict]


def answer_words(kind: ResultKind) -> tuple[str, Tone]:
    """How a call was answered."""
    return _ANSWERS[kind]


def prompt(blocks: Sequence[UserBlock]) -> str:
    """The text of a prompt; what is no text is named."""
    return "\n".join(b.text if isinstance(b, TextBlock) else f"[{_kind(b)}]" for b in blocks)


def _kind(block: UserBlock) -> str:
    return block.kind if isinstance(block, OpaqueBlock) else "an answer"


def asked(record: r.Asked, turn: int) -> tuple[str, tuple[str, ...]]:
    """A turn's title and what was special about its request."""
    facts = []
    if record.reserved:
        facts.append("reserved last call")
    if record.choice is Choice.FINISH:
        facts.append("the finishing tool was forced")
    return ("Summary of what is left out" if record.purpose is not Purpose.TURN else f"Turn {turn}"), tuple(facts)


def block(said: AssistantBlock) -> tuple[str, str, str, tuple[Part, ...], bool]:
    """Kind, title, summary, parts of what the model said, and whether it is shown at once."""
    match said:
        case TextBlock(text=text):
            return "text", "Says", "", (prose("", text),), True
        case ThinkingBlock(text=text):
            return "thinking", "Thinks", shorten(text), (prose("", text),), False
        case OpaqueBlock(kind=kind, value=value):
            text = json.dumps(value, ensure_ascii=False, default=str)
            return "opaque", "Block", kind, (json_part("", lay_out(text), text=text),), False
        case ToolCall(arguments=arguments):
            summary, part = _input(arguments)
            return "call", "Calls", summary, (part,), False
        case _:
            assert_never(said)


def _input(arguments: Arguments | Unreadable) -> tuple[str, Part]:
    match arguments:
        case Arguments(text=text):
            return shorten(text), json_part("Input", lay_out(text), text=text)
        case Unreadable(text=text, message=message, offset=offset):
            return shorten(message), code("Input, unreadable", text, at=offset)
        case _:
            assert_never(arguments)


def stop(record: r.ReplyClosed) -> tuple[str, Tone]:
    """How a reply ended, where that is worth a word."""
    if record.cut:
        return f"cut off: {record.stop_reason or 'the stream ended'}", Tone.WARN
    if record.stop_reason in (None, "tool_use", "end_turn"):
        return "", Tone.PLAIN
    return str(record.stop_reason), Tone.CALM


def spent(usage: Usage, cost_usd: Decimal | None) -> tuple[str, ...]:
    """Tokens and money in words."""
    facts = []
    if usage.input_tokens is not None:
        cached = usage.cache_read_input_tokens
        facts.append(f"{usage.input_tokens:,} in" + (f" ({cached:,} more cached)" if cached else ""))
    if usage.output_tokens is not None:
        facts.append(f"{usage.output_tokens:,} out")
    if cost_usd:
        facts.append(f"${cost_usd:.4f}")
    return tuple(facts)


def answer(result: ToolResult) -> Part:
    """What a tool answered."""
    if result.blocks:
        return json_part("Answer", lay_out(result.content))
    return code("Answer", result.content)


def attempt_facts(attempt: Attempt) -> tuple[str, ...]:
    """What is worth saying of an attempt in its head."""
    facts = []
    if attempt.before is not None:
        facts.append(f"it was {attempt.before.value.replace('_', ' ')} before it was taken back")
    if attempt.problems:
        facts.append(f"{len(attempt.problems)} problem{'s' * (len(attempt.problems) != 1)}")
    return tuple(facts)


def draft_parts(attempt: Attempt, placed: Placed, stopped: int | None) -> tuple[Part, ...]:
    """The draft with its problems in place; those that have none as a list before it."""
    if not attempt.draft:
        loose = tuple(problem.message for problem in attempt.problems)
        return (Part(form=Form.POINTS, label="Problems", points=loose),) if loose else ()
    if attempt.verdict is VerdictKind.UNREADABLE or stopped is not None:
        words = tuple(problem.message for problem in attempt.problems)
        return (
            Part(form=Form.POINTS, label="Problems", points=words),
            code("What was sent", attempt.draft, at=stopped),
        )
    lines, loose = mark(placed, attempt.problems)
    parts = (Part(form=Form.POINTS, label="Problems", points=loose),) if loose else ()
    shown = Part(form=Form.JSON, label="What was sent", lines=lines, left_out=placed.left_out, unit="lines")
    return (*parts, shown)


def check_parts(checks: Sequence[CheckVerdict]) -> tuple[Part, ...]:
    """The rules and checks that an object went through."""
    if not checks:
        return ()
    words = (f"{'passed' if c.passed else 'failed'}: {c.name}{f' ({c.message})' if c.message else ''}" for c in checks)
    return (Part(form=Form.POINTS, label="Rules and checks", points=tuple(words)),)


def retry(record: r.RetryNoted) -> Told:
    """A transport's retry."""
    wait = f", after {record.delay_ms / 1000:.1f} s"
    return f"Retry {record.attempt} of {record.max_retries}", f"{sentence(reason(record.failure))}{wait}"


def fallback(record: r.FallbackNoted) -> Told:
    """Another model took over."""
    taken = ", what the first one said was taken back" if record.retracted else ""
    return "Fallback", f"{record.from_model} \u2192 {record.to_model} ({record.trigger}){taken}"


def dropped(record: r.FeatureDropped) -> Told:
    """A feature that the deployment does not have."""
    return "Asked again without a feature", sentence(f"{record.feature}: {record.detail}")


def decline(record: r.DeclineHeard) -> Told:
    """The decline tool was called."""
    missing = f" Missing: {', '.join(record.missing)}." if record.missing else ""
    return ("Declined" if record.accepted else "Declined, and was challenged"), sentence(f"{record.reason}{missing}")


def nudge(record: r.Nudged) -> Told:
    """What lastcall said on its own."""
    return _NUDGES[record.kind], shorten(record.text)


def warning(told: RunWarning) -> str:
    """A warning with its place."""
    return sentence(f"{told.path}: {told.message}" if told.path else told.message)


def limit(record: r.LimitNoted) -> Told:
    """A limit that is near or passed."""
    return ("Limit reached" if record.hit else "Limit near"), record.limit.value.replace("_", " ")


def hooks(record: r.HooksHeard) -> str:
    """What hooks said; empty where they said nothing."""
    verdict = record.verdict
    told = [*verdict.blocked]
    if verdict.decision.value:
        told.append(f"{verdict.decision.value} {verdict.reason}".strip())
    if verdict.arguments is not None:
        told.append("changed the input")
    told += [f"told the model: {text}" for text in verdict.context]
    if verdict.halt is not None:
        told.append(f"ended the run {verdict.halt}".strip())
    return sentence("; ".join(told))


# -- parts ----------------------------------------------------------------------------------------------------------


def prose(label: str, text: str) -> Part:
    """Text to be read."""
    return Part(form=Form.PROSE, label=label, text=text[:LONGEST], left_out=max(0, len(text) - LONGEST), unit=_LETTERS)


def code(label: str, text: str, *, at: int | None = None) -> Part:
    """Text whose columns matter; `at` is where reading it stopped."""
    left_out = max(0, len(text) - LONGEST)
    return Part(form=Form.CODE, label=label, text=text[:LONGEST], at=at, left_out=left_out, unit=_LETTERS)


def json_part(label: str, placed: Placed, *, text: str = "") -> Part:
    """JSON as lines; `text` is what a copy takes."""
    copy = text if len(text) <= LONGEST else ""
    return Part(form=Form.JSON, label=label, lines=placed.lines, text=copy, left_out=placed.left_out, unit="lines")


def sentence(text: str) -> str:
    """What should be a sentence, cut where it is none."""
    return shorten(text, SENTENCE)


def shorten(text: str, length: int = _SUMMARY) -> str:
    """The beginning, on one line if it is short."""
    flat = " ".join(text[: length * 4].split()) if length == _SUMMARY else text
    return flat if len(flat) <= length else f"{flat[: length - 1]}\u2026"
