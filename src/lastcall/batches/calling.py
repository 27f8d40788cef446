"""`lastcall.batch`: the same machine for people who write Python.

Must not go in here: rules of a batch (`batches.work`, `batches.bounds`), the command.
"""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from decimal import Decimal
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

import anyio
import anyio.abc
from anyio.from_thread import start_blocking_portal
from msgspec import Struct
from msgspec.structs import replace

from lastcall.api.config import RunConfig, settled
from lastcall.api.contract import Contract, contract_for
from lastcall.api.ends import observers
from lastcall.api.logs import log_observers
from lastcall.api.result import TerminalResult
from lastcall.api.session import Model, alone
from lastcall.api.watching import RunWatcher
from lastcall.batches.bounds import Bounds, Halt, Left
from lastcall.batches.keys import Naming
from lastcall.batches.output import RecordFile, open_output
from lastcall.batches.pacing import ROWS_AT_ONCE, Pace
from lastcall.batches.plan import Plan, check_columns, inspect, make_plan
from lastcall.batches.reading import open_source
from lastcall.batches.rows import AnyRow, BadRow, Row
from lastcall.batches.running import RowRunner
from lastcall.batches.tally import Tally
from lastcall.batches.template import PromptTemplate
from lastcall.batches.work import BatchWork, Done, fetched
from lastcall.errors import BadConfig, LastcallError
from lastcall.providers import Provider
from lastcall.runtime.session import open_provider
from lastcall.wire.frames import Stage

T = TypeVar("T")
Rows = Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]] | str | os.PathLike[str]
"""Rows as mappings, or a file or folder as the command takes it."""

_RETRIES = 20


class BatchStopped(LastcallError):  # noqa: N818 -- as the tree's other leaves: named for what happened
    """A batch ended before its last row: a limit, or a service that refuses every row. `why` is the reason's slug.

    Raised after the last record was handed over.
    """

    code = "batch_stopped"

    def __init__(self, halt: Halt) -> None:
        super().__init__(halt.words, hint="Run the same batch again to go on with the rows that are missing.")
        self.why = halt.why.value


class BatchRecord(Struct, Generic[T], frozen=True):
    """One row and what became of it.

    `number` counts from 1 in the order of the rows; records come in the order in which rows end. `result` is `None` for a
    row that could not be used (`outcome` is `bad_row`).
    """

    key: str
    number: int
    row: Mapping[str, Any]
    outcome: str
    reason: str
    result: TerminalResult[T] | None

    @property
    def ok(self) -> bool:
        """Whether there is an object."""
        return self.result is not None and self.result.ok

    @property
    def output(self) -> T:
        """The verified object as the output type.

        Raises `NoAnswer` if the run ended without one, `BadConfig` for a row that could not be used.
        """
        if self.result is None:
            raise BadConfig(self.reason, where=f"row {self.number}")
        return self.result.output


@overload
def batch(
    rows: Rows,
    *,
    prompt: str,
    output: type[T] | Contract[T],
    model: Model | None = None,
    rules: Sequence[Callable[..., Any]] = (),
    deps: Any = None,
    key: str | None = None,
    save_to: str | os.PathLike[str] | None = None,
    retry: Iterable[str] = (),
    force: bool = False,
    concurrency: int | None = None,
    bounds: Bounds | None = None,
    config: RunConfig | None = None,
) -> Batch[T]: ...
@overload
def batch(
    rows: Rows,
    *,
    prompt: str,
    output: Any,
    model: Model | None = None,
    rules: Sequence[Callable[..., Any]] = (),
    deps: Any = None,
    key: str | None = None,
    save_to: str | os.PathLike[str] | None = None,
    retry: Iterable[str] = (),
    force: bool = False,
    concurrency: int | None = None,
    bounds: Bounds | None = None,
    config: RunConfig | None = None,
) -> Batch[Any]: ...
def batch(  # noqa: PLR0913 -- keywords, as many as the command has flags for it
    rows: Rows,
    *,
    prompt: str,
    output: Any,
    model: Model | None = None,
    rules: Sequence[Callable[..., Any]] = (),
    deps: Any = None,
    key: str | None = None,
    save_to: str | os.PathLike[str] | None = None,
    retry: Iterable[str] = (),
    force: bool = False,
    concurrency: int | None = None,
    bounds: Bounds | None = None,
    config: RunConfig | None = None,
) -> Batch[Any]:
    """One prompt and one contract for every row: `for record in lastcall.batch(...)`, or `async with`, then `async for`.

    `prompt` is a Jinja2 template over a row (`"Label: {{ text }}"`). `key` is the column that names a row; else its
    content does. With `save_to` the records go to this file too, and rows that have one there are passed over, except
    those whose outcome is in `retry`; `force` goes on although prompt, contract or model are others than before.
    `concurrency` bounds the rows at once (64; with the embedded model 1), `bounds` the whole batch, `config` each run.

    Raises `UsageError` before anything is sent, `JournalError`, and `BatchStopped` after the last record if rows are left.
    A model that is given as a provider is not closed, and has its own pace.
    """
    contract = contract_for(output, rules, (config or RunConfig()).profile, (config or RunConfig()).reference)
    if contract is None:
        raise BadConfig("a batch needs a contract", hint="Give an output type or a schema.", where="output")
    if concurrency is not None and concurrency < 1:
        raise BadConfig(f"{concurrency} rows at once are none", hint="Use 1 or more.", where="concurrency")
    wish = _Wish(
        rows=rows,
        template=PromptTemplate(prompt, where="prompt"),
        contract=contract,
        model=model,
        deps=deps,
        key=key,
        save_to=None if save_to is None else os.fspath(save_to),
        retry=frozenset(retry),
        force=force,
        concurrency=concurrency,
        bounds=bounds or Bounds(),
        config=config or RunConfig(),
    )
    return Batch(wish)


class _Wish(Struct, frozen=True, kw_only=True):
    """What a batch was asked for."""

    rows: Rows
    template: PromptTemplate
    contract: Contract[Any]
    model: Model | None
    deps: Any
    key: str | None
    save_to: str | None
    retry: frozenset[str]
    force: bool
    concurrency: int | None
    bounds: Bounds
    config: RunConfig


class Batch(Generic[T]):
    """A batch of `lastcall.batch`: records as they are made. `tally` holds the counts."""

    def __init__(self, wish: _Wish) -> None:
        self.tally = Tally()
        self._wish = wish
        self._stack = AsyncExitStack()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._is_over = False
        # one record waits to be taken, so that memory stays flat however slowly they are
        self._send, self._records = anyio.create_memory_object_stream[BatchRecord[T]](1)
        self._halt: Halt | None = None

    def __iter__(self) -> Iterator[BatchRecord[T]]:
        """The records, from a thread of the batch's own."""
        try:
            anyio.get_current_task()
        except anyio.NoEventLoopError:
            pass
        else:
            hint = "Write: async with lastcall.batch(...) as records, and then async for."
            raise BadConfig("a batch cannot be waited for inside a running event loop", hint=hint)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(self):
            while (record := portal.call(self._next)) is not None:
                yield record

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise BadConfig("a batch runs once", hint="Make another one.")
        await self._stack.__aenter__()
        try:
            drive = self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(drive)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        if not self._is_over:
            self._tasks.cancel_scope.cancel()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if group.exceptions == (error,):
                return False  # the block's own error, as it was
            raise alone(group) from None
        finally:
            self._send.close()
            self._records.close()
            with anyio.CancelScope(shield=True):
                await self._stack.aclose()

    async def __aiter__(self) -> AsyncIterator[BatchRecord[T]]:
        if self._tasks is None:
            hint = "Write: async with lastcall.batch(...) as records, and then async for."
            raise BadConfig("the batch is not open", hint=hint)
        while (record := await self._next()) is not None:
            yield record

    async def _next(self) -> BatchRecord[T] | None:
        """The next record, `None` at the end. Raises `BatchStopped` where rows are left."""
        try:
            return await self._records.receive()
        except anyio.EndOfStream:
            if self._halt is not None:
                raise BatchStopped(self._halt) from None
            return None

    # -- opening ----------------------------------------------------------------------------------------------------

    def _open(self) -> Callable[[], Any]:
        """Everything checked and opened; the coroutine function that does the rows. Raises `UsageError`, `JournalError`."""
        wish = self._wish
        config = settled(wish.config, partial=False)
        if isinstance(wish.model, str):
            config = replace(config, model=wish.model)
        if config.max_retries is None:
            config = replace(config, max_retries=_RETRIES)
        provider = self._provider(config)
        plan = make_plan(wish.template, wish.contract.compiled, config, provider.deployment.model)
        naming = Naming(wish.key)
        rows = self._rows(plan, naming)
        saved = self._saved(plan)
        clock = getattr(wish.model, "run_clock", None)  # a scripted model may bring the time with it
        work = BatchWork(
            RowRunner(plan, provider, clock=clock, deps=wish.deps, watch=_watchers),
            saved if saved is not None else _Nowhere(),
            self.tally,
            made_by=plan.made_by,
            bounds=wish.bounds,
            rows_at_once=wish.concurrency or (1 if provider.deployment.provider == "local" else ROWS_AT_ONCE),
            spent_before_usd=Decimal(repr(saved.spent_usd)) if saved is not None else Decimal(0),
            tokens_before=saved.spent_tokens if saved is not None else 0,
            own_limits=Left(config.max_budget_usd, config.deadline_s, config.max_budget_tokens),
            is_done=saved.done.__contains__ if saved is not None else lambda _: False,
            deliver=self._deliver,
            clock=clock,
        )

        async def drive() -> None:
            with self._send:
                self._halt = await work.run(rows)
                self._is_over = True

        return drive

    def _provider(self, config: RunConfig) -> Provider:
        if self._wish.model is not None and not isinstance(self._wish.model, str):
            return self._wish.model
        provider = open_provider(config, flow=Pace(self._wish.concurrency or ROWS_AT_ONCE), shares_prefix=True)
        self._stack.push_async_callback(provider.aclose)
        return provider

    def _rows(self, plan: Plan, naming: Naming) -> AsyncIterator[AnyRow]:
        rows, key = self._wish.rows, self._wish.key
        if isinstance(rows, str | os.PathLike):
            source = open_source(os.fspath(rows))
            check_columns(source, plan, key)
            self.tally.total = inspect(source, plan, key).total
            if key is None and source.key_column is not None:
                naming = Naming(source.key_column)
            return fetched(naming.named(source.rows()), at_once=16)
        if isinstance(rows, AsyncIterable):
            return _named_later(rows, naming)
        return fetched(naming.named(_row(n, values) for n, values in enumerate(rows, 1)), at_once=1)

    def _saved(self, plan: Plan) -> RecordFile | None:
        if self._wish.save_to is None:
            return None
        with ExitStack() as stack:
            saved = stack.enter_context(open_output(self._wish.save_to))
            changed = plan.made_by.changes_since(saved.origins)
            if changed and not self._wish.force:
                said = f"{' and '.join(changed)} changed since the records were made"
                raise BadConfig(said, hint="Save to another file, or say force=True.", where=saved.path)
            saved.begin(self._wish.retry)
            self._stack.push(stack.pop_all())
        return saved

    async def _deliver(self, done: Done) -> None:
        ran, row, made = done.ran, done.row, done.record
        result: TerminalResult[T] | None = None if ran is None else TerminalResult.of(ran.result, (), ran.stage)
        values = row.values if isinstance(row, Row) else {}
        await self._send.send(BatchRecord(made.key, row.number, values, made.outcome, made.reason, result))


def _watchers(stage: Stage, prompt: str) -> list[RunWatcher]:
    """Who is told of runs in this process (telemetry, logging)."""
    return [make(stage, prompt) for make in (*observers, *log_observers())]


class _Nowhere:
    """Records that are handed over and kept nowhere (`batches.work.Sink`)."""

    def append(self, line: bytes) -> None:
        """Nothing to write."""

    def sync(self) -> None:
        """Nothing to wait for."""


def _row(number: int, values: Any) -> AnyRow:
    if not isinstance(values, Mapping):
        return BadRow(number, f"row {number} is no mapping but {type(values).__name__}")
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            return BadRow(number, f"row {number} holds {value}, which JSON has no form for (column {name!r})")
    return Row(number, values)


async def _named_later(rows: AsyncIterable[Mapping[str, Any]], naming: Naming) -> AsyncIterator[AnyRow]:
    number = 0
    async for values in rows:
        number += 1
        yield naming.name(_row(number, values))
