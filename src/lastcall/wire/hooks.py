"""Hooks as the reference writes them: settings to rules, what a hook is given, what its answer means.

A rule says at which point which hooks are asked, and for which tools. A hook's answer is an exit code with text, or a JSON
object; the answers of all hooks of one point become one `HookVerdict`. The strictest one counts.

Must not go in here: running anything (`runtime.hooks`), what a verdict does to a run (`core`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, assert_never

from msgspec import Struct

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.errors import BadConfig
from lastcall.nouns.hooks import OF_REFERENCE, HookDecision, HookPoint, HookVerdict
from lastcall.nouns.profile import Profile, Reference
from lastcall.wire.json import encode_value

BLOCKS: Final = 2
"""The exit code with which a hook keeps something back."""
_PLAIN_MATCHER = re.compile(r"[\w|]+")
_DECISIONS: Final = {
    "allow": HookDecision.ALLOW,
    "approve": HookDecision.ALLOW,
    "ask": HookDecision.ASK,
    "deny": HookDecision.DENY,
    "block": HookDecision.DENY,
}
_STRICTNESS: Final = (HookDecision.DENY, HookDecision.ASK, HookDecision.ALLOW, HookDecision.NONE)
_NO_REASON: Final = "Blocked by hook"
_OF_TOOLS: Final = frozenset({HookPoint.BEFORE_CALL, HookPoint.AFTER_CALL, HookPoint.AFTER_FAILURE})


class CommandHook(Struct, frozen=True):
    """A shell command that gets the question on its standard input."""

    command: str
    timeout_s: float | None = None


class CallbackHook(Struct, frozen=True):
    """A callback of the client that drives the session."""

    callback_id: str
    timeout_s: float | None = None


Hook = CommandHook | CallbackHook


class HookRule(Struct, frozen=True):
    """Hooks of one point. `matcher` is about the tool's name: `""` or `*` is all, else names or a regular expression."""

    point: HookPoint
    matcher: str
    hooks: tuple[Hook, ...]

    def concerns(self, tool: str) -> bool:
        """Whether the rule is about this tool (points that have none: `""`)."""
        if self.point not in _OF_TOOLS or self.matcher in ("", "*"):
            return True
        if _PLAIN_MATCHER.fullmatch(self.matcher):
            return tool in self.matcher.split("|")
        return re.search(self.matcher, tool) is not None


# -- settings -------------------------------------------------------------------------------------------------------


def read_rules(hooks: Any, *, where: str, profile: Profile) -> tuple[HookRule, ...]:
    """The rules in the `hooks` of a settings file.

    Raises `BadConfig` naming the place for what cannot be meant; in compat what is unknown means nothing, as in the
    reference.
    """
    if not isinstance(hooks, Mapping):
        raise BadConfig("`hooks` is no object", hint='Write {"Stop": [{"hooks": [...]}]}.', where=where)
    rules = []
    for name, groups in hooks.items():
        point = _point(name, where, profile)
        if point is None:
            continue
        listed = groups if isinstance(groups, list) else [None]
        rules += [_rule(point, group, where, profile) for group in listed]
    return tuple(rule for rule in rules if rule.hooks)


def read_client_rules(hooks: Any) -> tuple[HookRule, ...]:
    """The rules that a client gives with `initialize`; what is not of their form means nothing."""
    rules = []
    known = OF_REFERENCE
    for name, groups in hooks.items() if isinstance(hooks, Mapping) else ():
        for group in groups if isinstance(groups, list) and name in known else ():
            ids = group.get("hookCallbackIds") if isinstance(group, Mapping) else None
            if isinstance(ids, list):
                timeout, matcher = group.get("timeout"), group.get("matcher")
                asked = tuple(CallbackHook(str(i), _seconds(timeout)) for i in ids)
                rules.append(HookRule(HookPoint(name), matcher if isinstance(matcher, str) else "", asked))
    return tuple(rules)


def _point(name: str, where: str, profile: Profile) -> HookPoint | None:
    known = OF_REFERENCE if profile is Profile.COMPAT else frozenset(HookPoint)
    if name in known:
        return HookPoint(name)
    if profile is Profile.COMPAT:
        return None
    raise BadConfig(f"there is no hook point {name!r}", hint=f"There are: {', '.join(HookPoint)}.", where=where)


def _rule(point: HookPoint, group: Any, where: str, profile: Profile) -> HookRule:
    place = f"{where}, hooks.{point.value}"
    if not isinstance(group, Mapping) or not isinstance(group.get("hooks"), list):
        raise BadConfig("a group of hooks is no object with `hooks`", hint='Write {"hooks": [...]}.', where=place)
    matcher = group.get("matcher") or ""
    if not isinstance(matcher, str):
        raise BadConfig("`matcher` is no text", hint="Write a tool's name or a regular expression.", where=place)
    try:
        re.compile(matcher if matcher != "*" else "")
    except re.error as error:
        why = f"the matcher {matcher!r} is no regular expression: {error}"
        raise BadConfig(why, hint="Write a tool's name.", where=place) from None
    found = (_hook(entry, place, profile) for entry in group["hooks"])
    return HookRule(point, matcher, tuple(hook for hook in found if hook is not None))


def _hook(entry: Any, place: str, profile: Profile) -> Hook | None:
    if isinstance(entry, Mapping) and entry.get("type") == "command" and isinstance(entry.get("command"), str):
        return CommandHook(entry["command"], _seconds(entry.get("timeout")))
    if profile is Profile.COMPAT:
        return None
    raise BadConfig("a hook is no command", hint='Write {"type": "command", "command": "..."}.', where=place)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    seconds = float(value)
    return seconds if 0 < seconds < float("inf") else None


# -- one hook's answer ----------------------------------------------------------------------------------------------


class Answer(Struct, frozen=True):
    """What one hook did. `name` is how it is named in sentences (a command: its text; a callback: nothing).

    `value` is the JSON object it answered with; without one `code`, `stdout` and `stderr` speak. `failed` says that it
    could not be asked, with the reason in `stderr`.
    """

    name: str
    code: int = 0
    stdout: str = ""
    stderr: str = ""
    value: Mapping[str, Any] | None = None
    failed: bool = False


def answer_of_command(command: str, code: int, stdout: str, stderr: str) -> Answer:
    """The answer that a finished command gave. JSON counts only with exit code 0."""
    text = stdout.strip()
    value = None
    if code == 0 and text.startswith("{"):
        read = read_json(text, numbers="exact", max_depth=1_000, max_bytes=1 << 24)
        if not isinstance(read, JsonFault) and isinstance(read.value, dict):
            value = read.value
    return Answer(command, code, stdout, stderr, value)


class About(Struct, frozen=True):
    """What hooks were asked about: the point, the tool's name or the prompt where there is one, and in whose words."""

    point: HookPoint
    tool: str = ""
    prompt: str = ""
    profile: Profile = Profile.NATIVE
    reference: Reference = Reference.RECORDED

    @property
    def compat(self) -> bool:
        """Whether the reference's words are meant."""
        return self.profile is Profile.COMPAT


def combine(answers: Iterable[Answer], about: About) -> HookVerdict:
    """What all hooks of a point said together."""
    single = [_verdict(answer, about) for answer in answers]
    decision = next((d for d in _STRICTNESS if any(v.decision is d for v in single)), HookDecision.NONE)
    return HookVerdict(
        blocked=tuple(words for v in single for words in v.blocked),
        decision=decision,
        reason=next((v.reason for v in single if v.decision is decision), ""),
        arguments=next((v.arguments for v in reversed(single) if v.arguments is not None), None),
        context=tuple(text for v in single for text in v.context),
        halt=next((v.halt for v in single if v.halt is not None), None),
    )


def _verdict(answer: Answer, about: About) -> HookVerdict:
    if answer.failed:
        return HookVerdict()
    if answer.value is not None:
        return _verdict_of_value(answer, answer.value, about)
    if answer.code == BLOCKS:
        said = f"[{answer.name}]: {answer.stderr}" if about.compat else answer.stderr.strip()
        return _kept_back(said, about, prefixed=True)
    if answer.code == 0 and about.point is HookPoint.PROMPT and answer.stdout.strip():
        return HookVerdict(context=(reminder(f"UserPromptSubmit hook success: {answer.stdout.strip()}"),))
    return HookVerdict()


def _verdict_of_value(answer: Answer, value: Mapping[str, Any], about: About) -> HookVerdict:
    special = value.get("hookSpecificOutput")
    special = special if isinstance(special, Mapping) else {}
    context = _context(special, about)
    halt = None
    if value.get("continue") is False:
        halt = value["stopReason"] if isinstance(value.get("stopReason"), str) else ""
    if about.point is HookPoint.BEFORE_CALL:
        decision, reason = _of_call(value, special)
        updated = special.get("updatedInput")
        arguments = encode_value(dict(updated)).decode() if isinstance(updated, Mapping) else None
        if decision is HookDecision.DENY:
            reason = _kept_back(reason, about, prefixed=about.reference is Reference.LATER).reason
        return HookVerdict((), decision, reason, arguments, context, halt)
    if _DECISIONS.get(str(value.get("decision"))) is HookDecision.DENY:
        reason = value["reason"] if isinstance(value.get("reason"), str) else ""
        kept = _kept_back(reason, about, prefixed=False, name=answer.name)
        return HookVerdict(kept.blocked, context=(*kept.context, *context), halt=halt)
    return HookVerdict(context=context, halt=halt)


def _of_call(value: Mapping[str, Any], special: Mapping[str, Any]) -> tuple[HookDecision, str]:
    """The decision about a call and its reason, in the newer form or the older one."""
    word, reason = special.get("permissionDecision"), special.get("permissionDecisionReason")
    if word is None:
        word, reason = value.get("decision"), value.get("reason")
    decision = _DECISIONS.get(str(word), HookDecision.NONE)
    return decision, reason if isinstance(reason, str) else ""


def _context(special: Mapping[str, Any], about: About) -> tuple[str, ...]:
    more = special.get("additionalContext")
    if not isinstance(more, str) or not more:
        return ()
    title = f"{about.point.value}:{about.tool}" if about.tool else about.point.value
    return (reminder(f"{title} hook additional context: {more}"),)


def _kept_back(said: str, about: About, *, prefixed: bool, name: str = "") -> HookVerdict:
    """A hook keeps something back, in the words for whoever has to read it."""
    said = said or _NO_REASON
    match about.point:
        case HookPoint.BEFORE_CALL:
            words = f"PreToolUse:{about.tool} hook error: {said}" if about.compat and prefixed else said
            return HookVerdict(decision=HookDecision.DENY, reason=words)
        case HookPoint.AFTER_CALL | HookPoint.AFTER_FAILURE:
            source = f' from command: "{name}"' if name and about.compat else ""
            return HookVerdict(
                context=(reminder(f"{about.point.value}:{about.tool} hook blocking error{source}: {said}"),)
            )
        case HookPoint.REJECTED:
            return HookVerdict(context=(reminder(said),))
        case HookPoint.PROMPT if about.compat:
            words = f"UserPromptSubmit operation blocked by hook:\n{said}\n\nOriginal prompt: {about.prompt}"
            return HookVerdict((words,))
        case HookPoint.PROMPT | HookPoint.STOP:
            return HookVerdict((said,))
        case _:
            assert_never(about.point)


def reminder(text: str) -> str:
    """Text for the model alone, marked as the reference marks it."""
    return f"<system-reminder>\n{text}\n</system-reminder>"
