"""`BadModel`: one named script for every kind of failure that practitioners report.

Each script misbehaves for one reply or a few, then does right, unless the kind is not to. It reads the contract out of the
request and builds a fitting object itself, so that it can be let loose on any contract; where validators or rules want
more than the schema says, give `good`. What a caller has to see: a verified object or an honest outcome, never a third.

Must not go in here: replies of a test's own (`testing.models`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final

from lastcall.contract.finishing_tools import FINISH
from lastcall.contract.parse import schema_from_value
from lastcall.contract.sample import sample
from lastcall.providers.scripted import Reply
from lastcall.testing.clock import FakeClock
from lastcall.testing.models import ScriptedModel
from lastcall.wire.dialect import SCRIPTED, Feature

Replies = list[Reply]
_OVERLOADED: Final = {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}
_LONG: Final = 100_000


class BadModel(ScriptedModel):
    """A model that fails in the way that `kind` names (`BAD_KINDS`), then recovers if it can.

    `good` are the arguments of the finishing call that it would send if it did right; without it they are made from the
    contract's schema. Raises `ValueError` for an unknown kind.
    """

    def __init__(self, kind: str, *, good: Mapping[str, Any] | None = None, clock: FakeClock | None = None) -> None:
        if kind not in _SCRIPTS:
            raise ValueError(f"there is no kind {kind!r}; there are: {', '.join(BAD_KINDS)}")
        self.kind = kind
        # the plain schema on the wire, so that what is built from it fits the contract too
        super().__init__(_misbehaviour(kind, good), clock=clock, dialect=SCRIPTED.without(Feature.STRICT))


def _misbehaviour(kind: str, good: Mapping[str, Any] | None) -> Callable[[Mapping[str, Any]], Reply]:
    replies: Replies = []
    turns = itertools.count()

    def play(body: Mapping[str, Any]) -> Reply:
        if not replies:
            replies.extend(_SCRIPTS[kind](dict(good) if good is not None else _fitting(body)))
        return replies[min(next(turns), len(replies) - 1)]

    return play


def _fitting(body: Mapping[str, Any]) -> dict[str, Any]:
    for tool in body.get("tools", ()):
        if tool["name"] == FINISH:
            found = sample(schema_from_value(tool["input_schema"]))
            return found if isinstance(found, dict) else {}
    return {}


def bad_replies(kind: str, good: Mapping[str, Any]) -> list[Reply]:
    """The replies of a kind as a script, the last one to be repeated: for playing them to other programs."""
    return _SCRIPTS[kind](dict(good))


# -- replies --------------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    from lastcall.contract.json_text import write_json  # noqa: PLC0415 -- only when a script plays

    return write_json(value, numbers="exact")


def _raw(text: str, **more: Any) -> Reply:
    """A finishing call with these very characters as its arguments."""
    return {"content": [{"type": "tool_use", "id": "toolu_raw", "name": FINISH, "raw": text}], **more}


def _sent(value: Any, **more: Any) -> Reply:
    return _raw(_text(value), **more)


def _calls(*calls: tuple[str, Any]) -> Reply:
    content = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": name, "raw": _text(value)}
        for n, (name, value) in enumerate(calls, 1)
    ]
    return {"content": content}


def _every(good: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The object with every scalar changed, or with one key more where it has none."""
    changed = {key: _deep(value, change) for key, value in good.items()}
    return changed if changed != good else {**good, "unasked": change("")}


def _deep(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _deep(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [_deep(item, change) for item in value]
    return change(value)


def _then(*bad: Reply) -> Callable[[dict[str, Any]], Replies]:
    return lambda good: [*bad, _sent(good)]


def _once(bad: Callable[[dict[str, Any]], Reply]) -> Callable[[dict[str, Any]], Replies]:
    return lambda good: [bad(good), _sent(good)]


def _mutated(change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], Replies]:
    return _once(lambda good: _sent(_every(good, change)))


def _with_first_string(good: dict[str, Any], raw: str) -> str:
    """The object's text with one key more whose string holds these raw characters."""
    return f'{_text(good)[:-1]}{", " if good else ""}"note": "{raw}"}}'


def _shifted_case(value: Any) -> Any:
    return value.swapcase() if isinstance(value, str) else value


def _as_words(value: Any) -> Any:
    return str(value) if not isinstance(value, str) else value


def _broken_off(good: dict[str, Any]) -> Replies:
    return [_sent(good, cut={"after_blocks": 0, "mid": True}), _sent(good)]


def _taken_back(good: dict[str, Any]) -> Replies:
    error = {"after_blocks": 1, "error": {"type": "overloaded_error", "message": "Overloaded"}}
    return [_sent(good, error_event=error), _sent(good)]


def _same_ids(good: dict[str, Any]) -> Replies:
    content = [{"type": "tool_use", "id": "same", "name": FINISH, "raw": _text(value)} for value in ({}, good)]
    return [{"content": content}, {"content": content[1:]}]


_NUDGED: Final = "I have finished the task."

_SCRIPTS: Final[dict[str, Callable[[dict[str, Any]], Replies]]] = {
    # the text of the call
    "unescaped-quotes": _once(lambda g: _raw(_with_first_string(g, 'the "retry" flag'))),
    "prose-before-json": _once(lambda g: _raw(f"Here is the result:\n{_text(g)}")),
    "markdown-fence": _once(lambda g: _raw(f"```json\n{_text(g)}\n```")),
    "duplicate-keys": _once(lambda g: _raw(f'{{"twice": 1, "twice": 2{", " if g else ""}{_text(g)[1:]}')),
    "truncation": _once(lambda g: _raw(_text(g)[:-1], stop_reason="max_tokens")),
    "double-encoded": _once(lambda g: _raw(_text(_text(g)))),
    "empty-input": lambda g: [_raw(""), _raw("null"), _sent(g)],
    "unicode": _once(lambda g: _raw(_with_first_string(g, "half a character: \\ud83d"))),
    "deep-nesting": _once(lambda _: _raw('{"deep": ' + "[" * 5_000 + "]" * 5_000 + "}")),
    "size-limits": _once(lambda g: _sent({**g, "padding": "x" * 2_000_000})),
    "big-numbers": _once(lambda g: _raw(f'{_text(g)[:-1]}{", " if g else ""}"big": 1e99999}}')),
    # the values
    "xml-leak": _mutated(lambda v: f'{v}</parameter>\n<parameter name="x">'),
    "null-vs-missing": _mutated(lambda _: None),
    "number-types": _mutated(_as_words),
    "long-values": _mutated(lambda _: "x" * _LONG),
    "combinators": _mutated(lambda v: [v]),
    "enum-const": _mutated(_shifted_case),
    "nullable-union": _mutated(lambda _: "null"),
    "tuples": _mutated(lambda v: {"0": v}),
    "format": _mutated(lambda v: f" {v} "),
    "regex": _mutated(lambda v: f"{v}\n"),
    "value-fidelity": _mutated(lambda v: f"&quot;{v}&quot;"),
    "cli-encoding": _mutated(lambda v: f"{v}\u2028\U0001f600"),
    "stdout-contract": _mutated(lambda v: f"{v}\r\n\x1b[31m"),
    # the shape
    "item-wrapper": _once(lambda g: _sent({key: {"item": value} for key, value in g.items()} or {"item": []})),
    "map-objects": _once(lambda g: _sent([{"key": key, "value": value} for key, value in g.items()])),
    "property-names": _once(lambda g: _sent({f" {key}": value for key, value in g.items()} or {" ": 1})),
    "ref-defs": _once(lambda _: _sent({"$ref": "#/$defs/Result"})),
    "dialect": _once(lambda g: _sent({"$schema": "https://json-schema.org/draft/2020-12/schema", **g})),
    "root-shape": lambda g: [_sent([g]), _sent("done"), _sent(g)],
    "wrong-name-or-wrapper": lambda g: [_calls(("structured_output", g)), _sent({"parameters": g}), _sent(g)],
    # the calls
    "text-tool-call": lambda g: [f'<tool_call>{{"name": "{FINISH}", "arguments": {_text(g)}}}</tool_call>', _sent(g)],
    "multiple-calls": lambda g: [_calls((FINISH, {"unasked": 1}), (FINISH, g)), _sent(g)],
    "call-with-other-tools": lambda g: [_calls(("no_such_tool", {}), (FINISH, g)), _sent(g)],
    "tool-call-ids": _same_ids,
    "gave-up": lambda _: [_NUDGED, _NUDGED],
    "hooks-and-limits": lambda _: [{"call": {"name": "no_such_tool", "input": {}}}],
    "compaction": lambda g: ["This conversation was compacted. I will go on with the task.", _sent(g)],
    "batch": lambda g: [_sent({"unasked": 1}), _sent(g), _sent({"unasked": 1}), _sent(g)],
    # the reply and its transport
    "stop-reason": lambda _: [{"content": [], "stop_reason": "refusal"}],
    "stream-disconnect": _broken_off,
    "sse-quirks": lambda g: [_sent(g, chunk=1, id="")],
    "http-errors": lambda g: [_OVERLOADED, {"status": 500, "body": "<html>"}, {"drop": True}, _sent(g)],
    "usage-cost": lambda g: [_sent(g, usage={"input_tokens": None, "output_tokens": None})],
    "resume-fallback": _taken_back,
    "context-overflow": _then(
        {"content": [{"type": "text", "text": "I was about to"}], "stop_reason": "model_context_window_exceeded"}
    ),
    "secrets": lambda _: [
        {
            "status": 401,
            "error": {"type": "authentication_error", "message": "invalid key sk-ant-REDACT-me-0123456789abcdef"},
        }
    ],
}

BAD_KINDS: Final = tuple(sorted(_SCRIPTS))
"""The kinds, by the casebook's names."""
