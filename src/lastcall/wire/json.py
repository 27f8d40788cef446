"""JSON of the wire: what a model wrote as arguments, and the objects that events and bodies consist of.

`read_call` is the one factory of `ToolCall`. What the model wrote is kept as it wrote it; what cannot be read is kept
with the place where reading stopped. Nothing is repaired: text that spells an object inside a string stays a string,
and an empty text is no object (a protocol in which "nothing was sent" means an empty object says so itself: see
`wire.anthropic_reply`).

Must not go in here: the shape of any provider's messages, rules of a contract.
"""

from __future__ import annotations

import re
from typing import Any, Final, assert_never, cast

import msgspec
from msgspec import Struct

from lastcall.contract import ARGUMENT_DEPTH
from lastcall.contract.json_text import (
    MAX_BYTES,
    JsonFault,
    Numbers,
    has_lone_surrogates,
    read_json,
    write_json,
)
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.json import JsonValue
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments, ToolCall, Unreadable

KEPT_CHARS = 16_384
_BODY_DEPTH = 20_000
"""Of a body that the fast reader refuses; arguments inside it are judged by their own limit."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class CallLimits(Struct, frozen=True):
    """Budgets of one call's arguments, and how its numbers are read.

    `kept_chars` of an unreadable text are kept. With `numbers` `"doubles"` a number too large for a double is readable.
    """

    numbers: Numbers = "exact"
    max_depth: int = ARGUMENT_DEPTH
    max_bytes: int = MAX_BYTES
    kept_chars: int = KEPT_CHARS


DEFAULT_LIMITS = CallLimits()
LIMITS: Final = {Profile.NATIVE: DEFAULT_LIMITS, Profile.COMPAT: CallLimits("doubles")}
"""The limits of the profiles."""


def read_call(
    call_id: CallId,
    message_id: MessageId,
    name: str,
    raw: object,
    *,
    limits: CallLimits = DEFAULT_LIMITS,
    made_id: bool = False,
) -> ToolCall:
    """The call as the model made it.

    `raw` is the JSON text of the arguments, or a value that a compatible server sent in its place (written as JSON text
    then). Halves of a surrogate pair that came in two pieces are joined; a half that stays alone is written as its
    escape, which means the same in JSON and can be stored.
    """
    text = raw if isinstance(raw, str) else write_value(raw)
    if has_lone_surrogates(text):
        text = _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", join_surrogates(text))
    return ToolCall(call_id, message_id, name, _read_arguments(text, limits), made_id)


def _read_arguments(text: str, limits: CallLimits) -> Arguments | Unreadable:
    read = read_json(text, numbers=limits.numbers, max_depth=limits.max_depth, max_bytes=limits.max_bytes)
    if isinstance(read, JsonFault):
        return Unreadable(
            text[: limits.kept_chars], read.cause, read.message, read.line, read.column, read.offset, len(text)
        )
    return Arguments(text, read.duplicates)


def write_value(value: object) -> str:
    """A parsed value as exact JSON text."""
    return write_json(cast("JsonValue", value), numbers="exact")  # it refuses what is no JSON value


# -- text -----------------------------------------------------------------------------------------------------------


def join_surrogates(text: str) -> str:
    """The text with pairs of surrogates joined to the characters they stand for; halves stay."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def clean_text(text: str) -> str:
    """Text of a model that any UTF-8 file can hold: pairs joined, a half that is alone replaced by U+FFFD."""
    if not has_lone_surrogates(text):
        return text
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", join_surrogates(text))


# -- writing --------------------------------------------------------------------------------------------------------

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode_value(value: object) -> bytes:
    """A JSON value as UTF-8, exact; fast for what holds nothing unusual."""
    try:
        return _ENCODER.encode(value)
    except (ValueError, OverflowError, RecursionError):  # half pairs, integers past 4,300 digits, deep nesting
        return write_value(value).encode()


_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F]\w\w)|.)", re.DOTALL)


def sendable_arguments(call: ToolCall, *, as_written: bool) -> str:
    """The arguments of a call as JSON text that any service takes back: always readable, and an object.

    Unreadable text goes back inside the object that the reference uses for it, and so do readable arguments that are no
    object (a list, a number); escapes of a half pair become U+FFFD, since services refuse them. With `as_written`
    readable arguments go back as they are, as the reference sends them.
    """
    match call.arguments:
        case Unreadable(text=text, length=length):
            return _unparsed(text, length)
        case Arguments(text=text) if as_written:
            return text
        case Arguments(text=text) if not text.lstrip(" \t\r\n").startswith("{"):
            return _unparsed(text, len(text))
        case Arguments(text=text):
            return _ESCAPE.sub(lambda escape: r"\ufffd" if escape[1] else escape[0], text) if "\\u" in text else text
        case _:
            assert_never(call.arguments)


def _unparsed(text: str, length: int) -> str:
    return write_value({"__unparsedToolInput": {"raw": clean_text(text), "len": length}})


# -- objects --------------------------------------------------------------------------------------------------------


def read_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object of an event or a body; `None` if `data` is anything else.

    Fast for what well-behaved servers send. What the fast reader refuses (halves of surrogate pairs, numbers out of
    range, bytes that are no UTF-8) is read by the slow one.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        read = read_json(_decode(data), numbers="exact", max_depth=_BODY_DEPTH, max_bytes=max(len(data) * 3, 1))
        value = None if isinstance(read, JsonFault) else read.value
    return value if isinstance(value, dict) else None


def _decode(data: bytes) -> str:
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def raw_text(raw: msgspec.Raw) -> str:
    """The exact JSON text of a part of a body."""
    return bytes(raw).decode("utf-8")


# -- narrow views of foreign objects: every server leaves out or misspells something ----------------------------------


def text_of(members: dict[str, Any], key: str) -> str:
    """The string at `key`, `""` for anything else."""
    value = members.get(key)
    return value if isinstance(value, str) else ""


def whole_of(members: dict[str, Any], key: str) -> int | None:
    """The non-negative integer at `key`, `None` for anything else."""
    value = members.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def object_of(members: dict[str, Any], key: str) -> dict[str, Any]:
    """The object at `key`, an empty one for anything else."""
    value = members.get(key)
    return value if isinstance(value, dict) else {}


def objects_of(members: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in the array at `key`; anything else in it is left out."""
    value = members.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
