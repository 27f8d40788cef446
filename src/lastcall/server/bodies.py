"""Bodies of the server's own requests and answers, as values. The OpenAPI document is made from them.

Must not go in here: bodies in the vendors' forms (`server.chat_completions`, `server.messages`), the envelope.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.errors import BadConfig
from lastcall.server.orders import MOST_RULES, RULE_CHARACTERS, Order
from lastcall.server.rows import RunRow, State

_MOST_TOOLS: Final = 50
_BODY_DEPTH: Final = 400

Rules = Annotated[list[Annotated[str, Meta(min_length=1, max_length=RULE_CHARACTERS)]], Meta(max_length=MOST_RULES)]


def _nothing() -> Raw:
    """A part of a body that is not there; a plain default could not stand in a JSON Schema."""
    return Raw(b"")


Count = Annotated[int, Meta(ge=1, le=1_000_000)]


class Limits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What may end the run; each at most what the operator set. `deadline_s` is in seconds."""

    max_attempts: Count | None = None
    max_turns: Count | None = None
    max_tokens: Count | None = None
    max_repeats: Count | None = None
    max_budget_usd: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    max_budget_tokens: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    deadline_s: Annotated[float, Meta(gt=0, le=1e9)] | None = None


class RunRequest(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A run. Without a `schema` the answer is prose.

    `tools` are of those that the operator allows, `rules` are expressions in CEL. With `stream` the answer is a stream of
    server-sent events, with `partial` pieces of replies are in it; without `wait` the answer only says where the run is.
    """

    prompt: Annotated[str, Meta(min_length=1, pattern=r"\S")]
    schema: Raw = msgspec.field(default_factory=_nothing)
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    system: str = ""
    tools: Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=_MOST_TOOLS)] = []
    rules: Rules = []
    limits: Limits = Limits()
    effort: Annotated[str, Meta(pattern=r"^(low|medium|high|max)$")] | None = None
    decline: bool = True
    salvage: bool = False
    strict_values: bool = False
    formats: bool = True
    stream: bool = False
    partial: bool = False
    wait: bool = True


class CheckRequest(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A contract to look at, and perhaps a value to check against it."""

    schema: Raw
    rules: Rules = []
    instance: Raw = msgspec.field(default_factory=_nothing)
    formats: bool = True
    strict_values: bool = False


class ProblemView(Struct, frozen=True):
    """One thing that is wrong with a value, at a JSON Pointer."""

    path: str
    keyword: str
    message: str


class InstanceView(Struct, frozen=True):
    """Whether a value passes the contract; `more` problems are not listed."""

    passes: bool
    problems: list[ProblemView]
    more: int = 0


class ContractView(Struct, frozen=True):
    """What a contract is: digest, dialect, whether its root is wrapped on the wire, what is odd about it."""

    digest: str
    dialect: str
    wrapped: bool
    warnings: list[str]
    rules: list[str]
    strict: dict[str, str]
    """For each vendor's rules for strict schemas: `yes`, or why there is no strict form."""
    instance: InstanceView | None = None


class RunView(Struct, frozen=True):
    """One run. Times are seconds since the epoch; `result` is its envelope once it is over, `status` what it was told with.

    `events` is how many events are kept, the result left out.
    """

    run_id: str
    state: State
    model: str
    prompt: str
    created_at: float
    started_at: float | None
    ended_at: float | None
    outcome: str | None
    status: int | None
    cancelling: bool
    events: int
    result: Raw | None = None


class RunList(Struct, frozen=True):
    """Runs, the newest first, without their results. `next` is what `before` has to be for the ones behind them."""

    runs: list[RunView]
    next: str | None


class Health(Struct, frozen=True):
    """Whether the server does its work; `why` if not."""

    ok: bool
    version: str
    why: str = ""


def view(row: RunRow, *, result: bool) -> RunView:
    """A run as it is shown."""
    shown = Raw(row.envelope.encode()) if result and row.envelope is not None else None
    return RunView(
        row.run_id,
        row.state,
        row.model,
        row.summary,
        row.created_at,
        row.started_at,
        row.ended_at,
        row.outcome,
        row.status,
        row.cancelled and row.state is not State.ENDED,
        row.frames,
        shown,
    )


def order_of(request: RunRequest) -> Order:
    """What the request asks for."""
    limits = request.limits
    return Order(
        prompt=request.prompt,
        schema=_schema(request.schema),
        model=request.model,
        system=request.system,
        tools=tuple(request.tools),
        rules=tuple(request.rules),
        max_attempts=limits.max_attempts,
        max_turns=limits.max_turns,
        max_budget_usd=None if limits.max_budget_usd is None else Decimal(repr(limits.max_budget_usd)),
        max_budget_tokens=limits.max_budget_tokens,
        max_repeats=limits.max_repeats,
        deadline_s=limits.deadline_s,
        max_tokens=limits.max_tokens,
        effort=request.effort,
        declines=request.decline,
        salvages=request.salvage,
        strict_values=request.strict_values,
        formats=request.formats,
        partial=request.partial,
    )


def _schema(raw: Raw) -> str | None:
    text = text_of(raw)
    return None if text == "null" else text


def text_of(raw: Raw) -> str | None:
    """The exact JSON text of a part of a body; `None` for one that is not there."""
    return bytes(raw).decode() or None


def read_exact(body: bytes) -> Any:
    """The body as a JSON value, its numbers exact. Raises `BadConfig`: one sentence with the place."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadConfig(f"the body is not UTF-8 (byte {error.start})", where="body") from None
    read = read_json(text, numbers="exact", max_depth=_BODY_DEPTH, max_bytes=len(body) + 1)
    if isinstance(read, JsonFault):
        raise BadConfig(f"the body is not JSON: {read.message} (line {read.line}, column {read.column})", where="body")
    if read.duplicates:
        raise BadConfig(f"a key stands twice: {read.duplicates[0]}", hint="Leave one away.", where="body")
    return read.value


def read_body(body: bytes, kind: Any) -> Any:
    """The body as a value of this type. Raises `BadConfig`: one sentence with the place."""
    read_exact(body)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadConfig(f"the body cannot be used: {error}", where="body") from None
