"""`--engine ray`: a sitting on a cluster, from the command line to the exit code.

Must not go in here: what happens there (`batches.ray_engine`), how progress looks (`cli.batch_show`).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Final

import anyio

from lastcall.api.session import alone
from lastcall.batches.bounds import NO_LIMITS, Halt
from lastcall.batches.pacing import ROWS_AT_ONCE, Pace
from lastcall.batches.plan import check_columns, inspect
from lastcall.batches.ray_desk import Progress
from lastcall.batches.ray_engine import Cluster, Job, silenced
from lastcall.batches.ray_parts import open_parts
from lastcall.batches.ray_places import open_rows, place_of
from lastcall.batches.ray_worker import Equipment
from lastcall.batches.reading import STDIN
from lastcall.batches.tally import Tally
from lastcall.cli.batch_open import Asking, BatchWish, demand_same, open_asking, portable
from lastcall.cli.batch_run import exit_code, tell_after
from lastcall.cli.batch_show import open_screen, summary_value
from lastcall.cli.batch_signals import heard_signals
from lastcall.cli.batch_via import PROVIDER_BATCH
from lastcall.cli.output import Notes
from lastcall.cli.say import say
from lastcall.errors import BadConfig, LastcallError
from lastcall.nouns.result import Signal
from lastcall.providers.flow import FREE, Flow

_LOOK_S: Final = 0.5


def run_ray_batch(wish: BatchWish, environment: Mapping[str, str]) -> int:
    """Run the batch on Ray; the exit code. Raises `UsageError` before anything is sent, `JournalError`."""
    notes = Notes(quiet=wish.quiet)
    _demand_possible(wish)
    asking = open_asking(wish, environment, notes.say, FREE)
    open_source = partial(open_rows, wish.input, wish.input_format)
    source = open_source()
    key = wish.key or source.key_column
    check_columns(source, asking.plan, key)
    looked = inspect(source, asking.plan, key)
    if looked.bad:
        notes.say(f"lastcall: {looked.bad} of {looked.total} rows cannot be used ({looked.first_bad}); records say so")
    place = place_of(wish.output, flag="--output")
    carried = portable(wish, asking)
    job = Job(
        open_source,
        partial(open_parts, place),
        partial(equip, carried, dict(environment)),
        asking.plan.made_by,
        asking.bounds,
        key,
        wish.concurrency or ROWS_AT_ONCE,
        workers_of(wish.workers),
        wish.retry,
    )
    tally = Tally(total=looked.total)
    try:
        with silenced():
            halt, kept = anyio.run(_sitting, wish, asking, job, tally, environment, notes)
    except BaseExceptionGroup as group:
        error = alone(group)
        if isinstance(error, LastcallError):
            raise error from None
        raise
    tell_after(kept, tally, halt, notes)
    if wish.report is not None:
        from lastcall.batches.report import write_report_page  # noqa: PLC0415 -- pages and charts, when asked for

        parts = open_parts(place)
        write_report_page(wish.report, parts.records(), title=wish.output)
        parts.close()
    if wish.as_json:
        say(summary_value(tally, kept, halt))
    return exit_code(kept, tally, halt)


def _demand_possible(wish: BatchWish) -> None:
    if wish.input == STDIN:
        raise BadConfig("a cluster cannot read standard input", hint="Name a file or an address.", where="INPUT")
    if wish.via == PROVIDER_BATCH:
        raise BadConfig("a batch API needs no cluster", hint="Leave --engine or --via away.", where="--engine")
    if wish.output.lower().endswith((".jsonl", ".parquet")):
        hint = "With --engine ray the output is a folder of part files: name a folder."
        raise BadConfig("the output has the name of a file", hint=hint, where="--output")


def workers_of(given: str) -> tuple[int, int]:
    """`N` or `LEAST:MOST` as two numbers. Raises `BadConfig`."""
    least, colon, most = given.partition(":")
    if least.isdecimal() and (most.isdecimal() or not colon):
        found = int(least), int(most or least)
        if 1 <= found[0] <= found[1]:
            return found
    raise BadConfig(f"{given!r} is no number of workers", hint="Write 8, or 2:32.", where="--workers")


def equip(wish: BatchWish, environment: Mapping[str, str], flow: Flow) -> Equipment:
    """What a worker needs, made on the worker."""
    asking = open_asking(wish, environment, lambda _line: None, flow)
    return Equipment(asking.plan, asking.provider, NO_LIMITS)


class _Stop:
    """What signals do to a sitting on a cluster (`cli.batch_signals.Stoppable`)."""

    def __init__(self, cluster: Cluster, tally: Tally, scope: anyio.CancelScope) -> None:
        self.tally = tally
        self.halt: Halt | None = None
        self._cluster = cluster
        self._scope = scope
        self._telling: asyncio.Task[None] | None = None

    def stop(self, halt: Halt) -> None:
        """Begin no further row."""
        self.halt = self.halt or halt
        self._telling = asyncio.get_running_loop().create_task(self._cluster.stop(halt))

    def interrupt(self, signal: Signal) -> None:  # noqa: ARG002 -- whichever it is, the cluster is left
        """Leave those under way without a record."""
        self._scope.cancel()


async def _sitting(
    wish: BatchWish, asking: Asking, job: Job, tally: Tally, environment: Mapping[str, str], notes: Notes
) -> tuple[Halt | None, Counter[str]]:
    pace = Pace(job.concurrency)
    with Cluster(job, environment) as cluster:
        demand_same(wish, await cluster.survey(), asking.plan, wish.output)
        opening = await cluster.begin()
        if opening.done:
            notes.say(f"lastcall: {opening.done} of {tally.total} rows are done already")
        tally.started_at = time.monotonic()
        screen = open_screen(tally, pace, quiet=wish.quiet)
        with anyio.CancelScope() as scope:
            stop = _Stop(cluster, tally, scope)
            with heard_signals(stop, screen.note):
                async with screen:
                    async with anyio.create_task_group() as beside:
                        beside.start_soon(_look_on, cluster, tally, pace)
                        await cluster.run()
                        beside.cancel_scope.cancel()
                    await _look(cluster, tally, pace)
        await cluster.end()
        progress = await _look(cluster, tally, pace)
        return progress.halt or stop.halt, opening.kept


async def _look(cluster: Cluster, tally: Tally, pace: Pace) -> Progress:
    """What the desk has counted, for whoever is shown it here."""
    progress = await cluster.progress()
    for name, value in progress.counts.items():
        setattr(tally, name, value)
    pace.limit, pace.refusals = progress.limit, progress.refusals
    return progress


async def _look_on(cluster: Cluster, tally: Tally, pace: Pace) -> None:
    while True:
        await _look(cluster, tally, pace)
        await anyio.sleep(_LOOK_S)
