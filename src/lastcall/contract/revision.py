"""Revisions: a rejected draft corrected by a JSON Patch instead of being written again.

`RevisedOutput {base, patch}` names a kept draft (its attempt's number, or the id of its call) and what changes in it. What
comes out is judged like anything else that was sent; what cannot be applied changes nothing and is answered with what
stands in the way, without any value of the draft.

Must not go in here: which drafts are kept (`core.revisions`), the operations (`contract.json_patch`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Final

from msgspec import Struct

from lastcall.contract.finishing_tools import REVISE
from lastcall.contract.json_patch import MOST_DEPTH, OPERATIONS, PatchFault, apply_patch
from lastcall.contract.json_text import JsonFault, pointer_token, read_json, write_json
from lastcall.contract.parse import schema_from_value
from lastcall.contract.verdicts import CannotRead, Rejected
from lastcall.nouns.attachment import Problem
from lastcall.nouns.ids import CallId
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import StrictSchema
from lastcall.nouns.tools import Arguments, ToolDefinition, Unreadable, define

KEYWORD: Final = "patch"
"""The keyword of a problem of a revision itself, not of the result."""

_WORDS: Final = (
    "Corrects a rejected result without writing it again: patch is a JSON Patch (RFC 6902) on the kept draft that base "
    "names. The patched whole is checked like a result that was sent; if it passes, the task ends. Operations are done in "
    "their order, and all or none; after a remove the later items of an array move up."
)
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "base": {"type": "integer", "description": "The number of the kept draft, as the rejection gave it."},
        "patch": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": list(OPERATIONS)},
                    "path": {"type": "string", "description": "A JSON Pointer into the draft."},
                    "from": {"type": "string", "description": "For move and copy: where the value comes from."},
                    "value": {"description": "For add, replace and test: any JSON value."},
                },
                "required": ["op", "path"],
            },
        },
    },
    "required": ["base", "patch"],
    "additionalProperties": False,
}


class Kept(Struct, frozen=True):
    """A draft that may be revised: its attempt's number, its call, its JSON text as it was sent."""

    n: int
    call_id: CallId
    text: str


class Revised(Struct, frozen=True):
    """The whole that a revision makes (JSON text), and the draft that it came from."""

    text: str
    base: Kept


@cache
def revise_tool(strict_rules: str = "none") -> ToolDefinition:
    """The tool, with a strict form where the deployment's rules allow one: a value is any JSON, and most do not."""
    strict = None
    if strict_rules != "none":
        from lastcall.contract.strict import to_strict  # noqa: PLC0415 -- not needed for `strict_rules` none

        strict = to_strict(schema_from_value(_SCHEMA, profile=Profile.NATIVE), strict_rules)
    value = strict.value if isinstance(strict, StrictSchema) else None
    return define(REVISE, _WORDS, _SCHEMA, strict_schema=value, finishing=True)


def revise(
    arguments: Arguments | Unreadable, kept: Sequence[Kept], taken_back: Sequence[tuple[int, CallId]] = ()
) -> Revised | Rejected | CannotRead:
    """The patched whole; or why there is none: unreadable arguments, a base that is not kept, a patch that does not apply.

    `taken_back` are attempts that a fallback took back, which no revision can be based on.
    """
    if isinstance(arguments, Unreadable):
        return CannotRead(arguments)
    read = read_json(arguments.text, numbers="exact", max_depth=MOST_DEPTH)
    if isinstance(read, JsonFault):
        fault = Unreadable(
            arguments.text, read.cause, read.message, read.line, read.column, read.offset, len(arguments.text)
        )
        return CannotRead(fault)
    problems = tuple(_misshapen(read.value, read.duplicates))
    if problems:
        return Rejected(problems, len(problems))
    assert isinstance(read.value, dict)
    base = _base(read.value["base"], kept, taken_back)
    if isinstance(base, Problem):
        return Rejected((base,), 1)
    whole = read_json(base.text, numbers="exact", max_depth=MOST_DEPTH)
    assert not isinstance(whole, JsonFault), "a kept draft was read when it was judged"
    patched = apply_patch(whole.value, read.value["patch"])
    if isinstance(patched, PatchFault):
        return Rejected((Problem(f"/patch{patched.at}", KEYWORD, patched.why),), 1)
    return Revised(write_json(patched, numbers="exact"), base)


def _misshapen(value: JsonValue, duplicates: tuple[str, ...]) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem("", KEYWORD, "must be an object with base and patch")
        return
    for path in duplicates:
        yield Problem(path, KEYWORD, "the key occurs more than once in its object")
    for name in ("base", "patch"):
        if name not in value:
            yield Problem("", KEYWORD, f"must have {name}")
    for name in value.keys() - {"base", "patch"}:
        yield Problem(f"/{pointer_token(name)}", KEYWORD, "is neither base nor patch")


def _base(named: JsonValue, kept: Sequence[Kept], taken_back: Sequence[tuple[int, CallId]]) -> Kept | Problem:
    found = next((draft for draft in kept if _names(named, draft.n, draft.call_id)), None)
    if found is not None:
        return found
    if any(_names(named, n, call_id) for n, call_id in taken_back):
        why = "that draft was taken back together with its reply"
    elif isinstance(named, str) or _is_number(named):
        why = "there is no kept draft of that name"
    else:
        why = "must be the number of a kept draft"
    which = ", ".join(str(draft.n) for draft in kept)
    return Problem("/base", KEYWORD, f"{why}; kept: {which or 'none'}")


def _names(named: JsonValue, n: int, call_id: CallId) -> bool:
    if isinstance(named, str):
        return named in (call_id, str(n))
    return _is_number(named) and named == n


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)
