"""What the doors of two vendors have in common: a request as an order, a result as it was told, a refusal with its place.

Must not go in here: the forms of either (`server.chat_completions`, `server.messages`), waiting, HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from lastcall.server.orders import Order
from lastcall.server.rows import RunRow
from lastcall.wire.json import encode_value

EFFORTS: Final = frozenset({"low", "medium", "high", "max"})
ANY_OBJECT: Final = '{"type":"object"}'
PIECE: Final = 200
"""Characters of an answer in one event of a stream."""


class DoorRefusal(Exception):  # noqa: N818 -- named for what it says
    """A request that cannot be honoured as it stands. `where` is the parameter."""

    def __init__(self, status: int, code: str, message: str, where: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.where = where


class Wanted(Struct, frozen=True):
    """A request of a vendor's client. `tool`: the object comes as a call of this tool; `forced`: named by the caller."""

    order: Order
    model: str
    stream: bool = False
    usage: bool = False
    tool: str = ""
    forced: bool = True


class Told(Struct, frozen=True):
    """A run that is over, as its envelope tells it. `text` is the object's JSON text, or the answer in prose."""

    run_id: str
    created_at: float
    status: int
    outcome: str
    reason: str
    code: str
    text: str
    usage: Mapping[str, int | None]

    @property
    def ok(self) -> bool:
        """Whether there is what was asked for."""
        return self.outcome == "answered"

    @property
    def declined(self) -> bool:
        """Whether the model said that it cannot."""
        return self.outcome == "declined"


class Vendor(Protocol):
    """One vendor's forms. Everything is bytes or values; nothing waits."""

    @property
    def keep_alive(self) -> bytes:
        """What a stream says when there is nothing to say."""
        ...

    def read(self, body: Mapping[str, Any]) -> Wanted:
        """The request. Raises `DoorRefusal` for everything that cannot be honoured: nothing is passed over."""
        ...

    def whole(self, wanted: Wanted, told: Told) -> bytes:
        """The answer that is not streamed."""
        ...

    def opening(self, wanted: Wanted, run_id: str, created_at: float) -> Iterable[bytes]:
        """What a stream begins with."""
        ...

    def rest(self, wanted: Wanted, told: Told) -> Iterable[bytes]:
        """What a stream ends with, after its opening."""
        ...

    def error(self, status: int, code: str, message: str, where: str) -> bytes:
        """The body of an answer that is an error."""
        ...

    def broken(self, body: bytes) -> bytes:
        """An error in the middle of a stream."""
        ...


class _Details(Struct, frozen=True):
    outcome: str
    reason: str = ""
    failure: str = ""
    code: str = ""
    limit: str = ""


class _Envelope(Struct, frozen=True):
    lastcall: _Details
    result: str = ""
    usage: dict[str, int | None] = {}


def told(row: RunRow) -> Told:
    """A run that is over, from its row."""
    envelope = msgspec.json.decode(row.envelope or "", type=_Envelope)
    said = envelope.lastcall
    code = said.failure or said.limit or said.code or said.outcome
    return Told(
        row.run_id, row.created_at, row.status or 500, said.outcome, said.reason, code, envelope.result, envelope.usage
    )


# -- reading --------------------------------------------------------------------------------------------------------


class Fields:
    """The members of a request, each taken once; what nobody took is refused."""

    def __init__(self, members: Any, where: str = "") -> None:
        if not isinstance(members, Mapping):
            raise DoorRefusal(400, "invalid_type", f"{where or 'the body'} has to be an object", where)
        self._members = dict(members)
        self._where = where

    def place(self, name: str) -> str:
        """How a member is called in errors."""
        return f"{self._where}.{name}" if self._where else name

    def take(self, name: str, kind: type[Any] | tuple[type[Any], ...], default: Any = None) -> Any:
        """The member, or the default where it is absent or null. Raises `DoorRefusal` for another type."""
        value = self._members.pop(name, None)
        if value is None:
            return default
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.refusal(name, "has another type than it should", code="invalid_type")
        return value

    def demand(self, name: str, kind: type[Any] | tuple[type[Any], ...]) -> Any:
        """The member. Raises `DoorRefusal` where it is absent."""
        value = self.take(name, kind)
        if value is None:
            raise self.refusal(name, "is missing", code="missing_required_parameter")
        return value

    def only(self, name: str, *allowed: Any) -> None:
        """Take a member that may only say what happens anyway. Raises `DoorRefusal` for anything else."""
        value = self._members.pop(name, None)
        if value is not None and value not in allowed:
            raise self.refusal(name, "cannot be honoured here; leave it away", code="unsupported_parameter")

    def skip(self, *names: str) -> None:
        """Take members that say nothing of the answer."""
        for name in names:
            self._members.pop(name, None)

    def done(self) -> None:
        """Refuse what is left. Raises `DoorRefusal`."""
        for name, value in self._members.items():
            if value is not None:
                raise self.refusal(name[:100], "cannot be honoured here; leave it away", code="unsupported_parameter")

    def refusal(self, name: str, words: str, *, code: str = "invalid_value") -> DoorRefusal:
        """The refusal of a member."""
        return DoorRefusal(400, code, f"{self.place(name)} {words}", self.place(name))


def text_in(content: Any, where: str, *, skips: tuple[str, ...] = ()) -> str:
    """The text of a message's content: a string, or parts that are all text. Raises `DoorRefusal`."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise DoorRefusal(400, "invalid_type", f"{where} has to be a text or a list of parts", where)
    texts = []
    for index, part in enumerate(content):
        fields = Fields(part, f"{where}[{index}]")
        if fields.demand("type", str) != "text":
            raise fields.refusal("type", "has to be text: nothing else is taken here", code="unsupported_content")
        texts.append(fields.demand("text", str))
        fields.skip(*skips)
        fields.done()
    return "\n".join(texts)


def schema_text(value: Any) -> str:
    """A schema as JSON text, its numbers exact."""
    return encode_value(value).decode()


def pieces(text: str) -> Iterable[str]:
    """A text in the pieces of a stream; at least one."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)] or [""]
