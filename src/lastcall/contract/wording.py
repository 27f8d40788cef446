"""Every sentence that lastcall says to the model. Wording apart from checking: problems come in, sentences go out.

The compat texts are the reference's, recorded; the native ones say besides what would be right, and never echo a value at
length: at most 4 KB go back whatever was sent, all of it characters that UTF-8 can carry. Where the object comes as the
reply's text (`Channel.NATIVE`), no finishing tool is spoken of.

Must not go in here: deciding anything; sentences for people (`nouns.result.reason`, the command).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, assert_never

from lastcall.contract.json_text import excerpt, write_json
from lastcall.contract.verdicts import CannotRead, Rejected, WrongInput
from lastcall.errors import LastcallBug
from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel
from lastcall.nouns.tools import Unreadable, UnreadableCause

FEEDBACK_BYTES: Final = 4096
"""The most that goes back to the model for one rejected attempt."""

_COMPAT_CHARS: Final = 10_000
"""The reference's limit for one error text."""

_LINE_BYTES: Final = 1500
"""The most of one problem's line."""

_SHOWN: Final = 120
"""Characters of one value or list in a sentence."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

# -- fixed sentences ------------------------------------------------------------------------------------------------

ACCEPTED: Final = "Structured output provided successfully"
DECLINE_ACCEPTED: Final = "The decline was recorded."
DECLINE_CHALLENGED: Final = (
    "Before the task is given up: use what the prompt and the tools offer. If a result can be given honestly, call "
    "StructuredOutput with it. If not, call DeclineOutput again and name what is missing; it will then be accepted."
)
MALFORMED_CALL: Final = "Your tool call was malformed and could not be parsed. Please retry."
NO_VISIBLE_OUTPUT: Final = (
    "[Your previous response had no visible output. Please continue and produce a user-visible response.]"
)

_ENFORCE_COMPAT: Final = (
    "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now."
)
_ENFORCE_NATIVE: Final = (
    "This run ends with a call of StructuredOutput, and there was none in the last reply. Please call it now with the "
    "result as the schema describes it; text alone does not reach the caller."
)
_ENFORCE_JSON: Final = (
    "This run ends with a JSON object that fits the schema, and there was none in the last reply. Please answer with that "
    "object now, and with nothing else."
)
_ENFORCE_FORCED: Final = " If it cannot be given honestly, call DeclineOutput and say why."


def enforce(profile: Profile, channel: Channel, *, forced: bool, declines: bool) -> str:
    """The nudge after a reply that stopped without the call. A forced one names the honest way out, if there is one."""
    if profile is Profile.COMPAT:
        return _ENFORCE_COMPAT
    if channel is Channel.NATIVE:
        return _ENFORCE_JSON
    return _ENFORCE_NATIVE + (_ENFORCE_FORCED if forced and declines else "")


def go_on(stop_reason: str | None, profile: Profile, channel: Channel) -> str:
    """What a model is told whose reply was cut off."""
    if profile is Profile.COMPAT:
        return (
            "Output token limit hit. Resume directly \u2014 no apology, no recap. Pick up mid-thought if that is where "
            "the cut happened. Break remaining work into smaller pieces."
        )
    if stop_reason == "max_tokens" and channel is Channel.NATIVE:
        return (
            "The last reply was cut off at the output limit. Answer again with the whole JSON object, and be shorter."
        )
    if stop_reason == "max_tokens":
        return "The last reply was cut off at the output limit. Go on from there, and be shorter."
    return (
        "The last reply was cut off because the context is full. Finish now, with what you have, as shortly as you can."
    )


def output_limit(stop_reason: str | None) -> str:
    """Why a run ended whose replies were cut off again and again."""
    if stop_reason == "max_tokens":
        return "the model's replies hit the output token limit again and again"
    return "the conversation no longer fits the model's context window"


def cut_off_call(stop_reason: str | None) -> str:
    """The answer to a call in a reply that was cut off."""
    why = {
        "max_tokens": "hit the output token limit",
        "refusal": "was ended by the model's safeguards",
        "model_context_window_exceeded": "ran out of context",
    }.get(stop_reason or "", "did not end")
    return (
        f"This call was not executed: the reply it stands in {why}, so it may be incomplete. If it is still needed, send "
        "it again, whole and shorter."
    )


def interrupted_call(*, restarts: bool) -> str:
    """The answer to a call that was open when the run stopped."""
    if restarts:
        return (
            "Interrupted: the run stopped while this call was open, and it is unknown whether it took effect. Check before "
            "doing it again."
        )
    return "Interrupted: the run ended while this call was open; it is unknown whether it took effect."


def held_back(failed: int, *, kept: int = 0) -> str:
    """The answer to an object that was sent together with calls of which some failed. `kept` is as in `rejection`."""
    return (
        f"Not taken: {failed} of the calls sent together with it failed, and the object was written before their results "
        f"were known. Look at the results, then call StructuredOutput again.{_revisable(kept)}"
    )


def _revisable(kept: int) -> str:
    """The way that is shorter than writing a large draft again."""
    if not kept:
        return ""
    return (
        f"\nThis draft is kept as number {kept}: instead of writing all of it again, you may call RevisedOutput with base "
        f"{kept} and a JSON Patch of what changes."
    )


def denied(name: str) -> str:
    """The answer to a call that a rule denies (the reference's words)."""
    return f"Permission to use {name} has been denied."


def bad_decline(problem: Problem) -> str:
    """The answer to a decline that does not say why."""
    return f"DeclineOutput was not understood: {problem.path or 'input'}: {problem.message}."


# -- rejections -----------------------------------------------------------------------------------------------------


def rejection(
    verdict: Rejected | CannotRead | WrongInput,
    profile: Profile,
    channel: Channel = Channel.TOOL,
    *,
    repeats: int = 1,
    kept: int = 0,
) -> str:
    """What the model is told about a rejected attempt.

    `repeats`: in how many replies in a row it sent just this. `kept`: the number under which its draft is kept for a
    revision, 0 if it is not.
    """
    again = repeats >= 2 and profile is Profile.NATIVE
    match verdict:
        case CannotRead(fault=fault):
            words = _unreadable(fault, "reply") if channel is Channel.NATIVE else unreadable(fault, profile)
            return (_NOTHING_CHANGED if again else "") + words
        case WrongInput(issue=issue):
            return wrong_input(issue)
        case Rejected() if profile is Profile.COMPAT:
            return _rejected_compat(verdict)
        case Rejected(problems=(first, *_)) if again:
            words = f"The first problem alone: {sentence(first)}. Change that value, or send another result."
            return _NOTHING_CHANGED + words + _revisable(kept)
        case Rejected():
            return _rejected(verdict, channel, kept)
        case _:
            assert_never(verdict)


def unreadable(fault: Unreadable, profile: Profile, *, tool: str = "StructuredOutput") -> str:
    """The answer to a call of any tool whose arguments could not be read."""
    return _unreadable_compat(fault, tool) if profile is Profile.COMPAT else _unreadable(fault, "arguments")


def wrong_input(issue: str) -> str:
    """The answer to a call of any tool whose arguments do not fit its input schema (the reference's form)."""
    return f"<tool_use_error>InputValidationError: {issue}</tool_use_error>"


def _rejected_compat(verdict: Rejected) -> str:
    """The reference's text; a long one keeps head and tail, and a breached budget is its engine's own message."""
    if verdict.problems[0].keyword == "budget":
        return verdict.problems[0].message
    text = f"Output does not match required schema: {joined(verdict.problems)}"
    if len(text) <= _COMPAT_CHARS:
        return text
    half = _COMPAT_CHARS // 2
    return f"{text[:half]}\n\n... [{len(text) - _COMPAT_CHARS} characters truncated] ...\n\n{text[-half:]}"


def joined(problems: tuple[Problem, ...]) -> str:
    """Problems in the reference's form: `path-or-root: message`, joined with `, `."""
    return ", ".join(f"{p.path or 'root'}: {p.message}" for p in problems)


_BEYOND_SCHEMA: Final = frozenset(
    {"rule", "check", "quote", "evidence", "type_validator", "degenerate", "wrapped_object"}
)
"""Keywords of problems that an object may have which fits its schema."""
_NOTHING_CHANGED: Final = "Nothing changed: this is what was already rejected. "
_OF_REVISION: Final = "patch"
"""The keyword of problems of a revision itself (`contract.revision`)."""
_NOT_REVISED: Final = (
    "The revision was not applied, and the draft is as it was. Correct this and call RevisedOutput again, or call "
    "StructuredOutput with the whole result:"
)


def _rejected(verdict: Rejected, channel: Channel, kept: int) -> str:
    if verdict.problems and all(p.keyword == _OF_REVISION for p in verdict.problems):
        return _bounded(_NOT_REVISED, (f"- {sentence(p)}" for p in verdict.problems), verdict.total)
    how = "answer with the whole JSON object" if channel is Channel.NATIVE else "call StructuredOutput"
    beyond = bool(verdict.problems) and all(p.keyword in _BEYOND_SCHEMA for p in verdict.problems)
    what = "fits the schema, but it was not accepted" if beyond else "does not match the schema"
    head = f"The output {what}. Correct these and {how} again:"
    return _bounded(head, (f"- {sentence(p)}" for p in verdict.problems), verdict.total, _revisable(kept))


def _bounded(head: str, lines: Iterable[str], total: int, tail: str = "") -> str:
    """Head, as many lines as the budget holds, and the tail; how many more lines there are is said."""
    out, left = [head], FEEDBACK_BYTES - len(head.encode()) - len(tail.encode()) - 40
    for line in lines:
        left -= len(line.encode()) + 1
        if left < 0:
            break
        out.append(line)
    if total >= len(out):
        out.append(f"+{total - len(out) + 1} more")
    return "\n".join(out) + tail


def _line(text: str) -> str:
    """A text of bounded size. Half pairs become U+FFFD; line breaks of the other side's words stay."""
    whole = _SURROGATE.sub("\ufffd", text)
    raw = whole.encode()
    return whole if len(raw) <= _LINE_BYTES else raw[: _LINE_BYTES - 3].decode("utf-8", "ignore") + "…"


def sentence(problem: Problem) -> str:
    """One problem for the model: where, what, and what would be right, in at most 1,500 bytes."""
    return _line(f"{_place(problem.path)}: {problem.message}{_rich(problem)}")


def _place(path: str) -> str:
    """A pointer that stays readable: shortened in the middle when it is very long."""
    if not path:
        return "root"
    if len(path) <= 200:
        return path
    return f"{path[:90]}…{path[-90:]}"


def _rich(problem: Problem) -> str:
    """What the plain message lacks: allowed values, the figure counted, the name meant."""
    params = problem.params
    parts: list[str] = []
    match problem.keyword:
        case "enum":
            parts.append(f": {_listed(params.get('allowedValues'))}")
        case "const":
            parts.append(f" {_short(params.get('allowedValue'))}")
        case "additionalProperties" | "unevaluatedProperties":
            name = params.get("additionalProperty", params.get("unevaluatedProperty"))
            parts.append(f" ({_short(name)} is not allowed)")
        case "propertyNames":
            parts.append(f" ({_short(params.get('propertyName'))})")
        case "oneOf":
            parts.append(_passing(params))
        case _:
            pass
    if "got" in params:
        parts.append(f" (got {params['got']})")
    if "hint" in params:
        parts.append(f"; {params['hint']}")
    return "".join(parts)


def _passing(params: Mapping[str, Any]) -> str:
    passing = params.get("passingSchemas")
    if not passing:
        return " (none matches)"
    return f" (branches {', '.join(str(n) for n in passing)} all match)"


def _listed(values: object) -> str:
    if not isinstance(values, list | tuple):
        return _short(values)
    shown: list[str] = []
    length = 0
    for value in values:
        text = _short(value)
        length += len(text)
        if length > 800:
            shown.append(f"… {len(values) - len(shown)} more")
            break
        shown.append(text)
    return ", ".join(shown)


def _short(value: Any) -> str:
    try:
        text = write_json(value, numbers="exact")
    except LastcallBug:  # a figure of somebody's own rule that is no JSON
        text = str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


# -- unreadable arguments -------------------------------------------------------------------------------------------

_CAUSES: Final[Mapping[UnreadableCause, str]] = {
    UnreadableCause.EMPTY: "Send the whole JSON object.",
    UnreadableCause.TRUNCATED: "The text ends too early; it may have hit the output limit. Send it whole, and shorter.",
    UnreadableCause.UNESCAPED_QUOTE: 'Write a quote inside a string as \\".',
    UnreadableCause.RAW_CONTROL: "Write a line break inside a string as \\n, a tab as \\t.",
    UnreadableCause.BAD_ESCAPE: 'Only \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX are escapes; write a backslash as \\\\.',
    UnreadableCause.NOT_A_NUMBER: "NaN and Infinity are no JSON; use a number, or null where the schema allows it.",
    UnreadableCause.TRAILING_TEXT: "Nothing may follow the object.",
    UnreadableCause.FENCED: "Send the bare object, without a Markdown fence.",
    UnreadableCause.TOO_DEEP: "Nest less deeply.",
    UnreadableCause.TOO_LONG: "Send less.",
    UnreadableCause.BAD_UNICODE: "Half of a surrogate pair is no character; write the character itself.",
    UnreadableCause.SYNTAX: "",
}


def unreadable_problem(fault: Unreadable) -> Problem:
    """The ledger's line for arguments that could not be read."""
    return Problem(
        "", "unreadable", fault.message, {"cause": fault.cause.value, "line": fault.line, "column": fault.column}
    )


def _unreadable(fault: Unreadable, subject: str) -> str:
    near = excerpt(fault.text, fault.offset)
    around = f", near `{near}`" if near else ""
    place = f" at line {fault.line}, column {fault.column}{around}" if fault.length else ""
    advice = _CAUSES[fault.cause]
    verb = "is" if subject == "reply" else "are"
    return f"{_line(f'The {subject} {verb} not valid JSON: {fault.message}{place}')}. {advice}".rstrip()


def _unreadable_compat(fault: Unreadable, tool: str) -> str:
    size = len(fault.text.encode("utf-8", "surrogatepass"))
    return (
        f"<tool_use_error>InputValidationError: {tool} was called with input that could not be parsed as JSON.\n"
        f"You sent (first {min(size, 200)} of {size} bytes): {fault.text[:200]}\n"
        "Common causes: unescaped backslashes in file paths (use / or \\\\), unescaped control characters, or truncated "
        "output. Retry with valid JSON.</tool_use_error>"
    )
