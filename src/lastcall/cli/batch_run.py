"""A batch from the command line: run, shown, and its exit code.

Must not go in here: opening and checking (`cli.batch_open`), the loop (`batches.work`), how progress looks
(`cli.batch_show`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from decimal import Decimal
from typing import Final

import anyio

from lastcall.api.session import alone
from lastcall.batches.bounds import Halt, Why
from lastcall.batches.keys import Naming
from lastcall.batches.output import RecordFile, open_output
from lastcall.batches.parquet import checkpoint_of, demand_ours, write_parquet
from lastcall.batches.plan import Inspection, inspect
from lastcall.batches.records import BAD_ROW, GOOD
from lastcall.batches.rows import Row
from lastcall.batches.running import RowRunner
from lastcall.batches.tally import Tally
from lastcall.batches.work import BatchWork, Deliver, fetched, to_nobody
from lastcall.cli.batch_open import BatchWish, Opened, demand_same, open_batch
from lastcall.cli.batch_show import open_screen, summary_value
from lastcall.cli.batch_signals import heard_signals
from lastcall.cli.batch_via import PROVIDER_BATCH, demand_batch_api, open_rounds
from lastcall.cli.exits import FAULT
from lastcall.cli.output import Notes
from lastcall.cli.say import say
from lastcall.errors import LastcallError
from lastcall.providers import Provider
from lastcall.runtime.loops import loop_options
from lastcall.runtime.veil import veil_of

_PARQUET: Final = (".parquet", ".pq")
_FETCHED_AT_ONCE: Final = 16
_CODES: Final = {
    Why.BUDGET: 14,
    Why.FAILURES: 14,
    Why.DEADLINE: 14,
    Why.OUTPUT: 14,
    Why.REFUSED: 15,
    Why.INTERRUPTED: 130,
    Why.TERMINATED: 143,
    Why.INPUT: 2,
}
_SOME_FAILED: Final = 1


def run_batch(wish: BatchWish, environment: Mapping[str, str]) -> int:
    """Run the batch; the exit code. Raises `UsageError` before anything is sent, `JournalError`."""
    notes = Notes(quiet=wish.quiet)
    opened = open_batch(wish, environment, notes)
    notes.hide(veil_of(environment, opened.plan.config.redact))
    checkpoint = _checkpoint(wish)
    looked = _look(opened, notes)
    with open_output(checkpoint) as file:
        demand_same(wish, file.origins, opened.plan, file.path)
        file.begin(wish.retry)
        _tell_before(file, looked, notes)
        tally = Tally(total=looked.total if looked is not None else None)
        try:
            halt = anyio.run(_sitting, wish, opened, file, tally, backend_options=loop_options(environment))
        except BaseExceptionGroup as group:
            return _fault(alone(group), environment, notes)
        tell_after(file.kept, tally, halt, notes)
        _write_views(wish, file)
        if wish.as_json:
            say(summary_value(tally, file.kept, halt))
        return exit_code(file.kept, tally, halt)


def _fault(error: BaseException, environment: Mapping[str, str], notes: Notes) -> int:
    """A fault of lastcall in the middle of a batch: one sentence; the records so far stand."""
    if isinstance(error, LastcallError | KeyboardInterrupt) or environment.get("LASTCALL_LOG") == "debug":
        raise error
    notes.error(f"lastcall: this is a fault of lastcall, please report it: {type(error).__name__}: {error}")
    return FAULT


def _checkpoint(wish: BatchWish) -> str:
    """Where the records go first: the output itself, or the file beside one that cannot be appended to."""
    if not wish.output.lower().endswith(_PARQUET):
        return wish.output
    demand_ours(wish.output)
    return checkpoint_of(wish.output)


def _look(opened: Opened, notes: Notes) -> Inspection | None:
    if not opened.source.rereadable:
        return None
    looked = inspect(opened.source, opened.plan, opened.key)
    if looked.bad:
        told = f"{looked.bad} of {looked.total} rows cannot be used ({looked.first_bad})"
        notes.say(f"lastcall: {told}; their records say so")
    return looked


def _tell_before(file: RecordFile, looked: Inspection | None, notes: Notes) -> None:
    if file.repaired_bytes:
        notes.say(f"lastcall: a torn record of {file.repaired_bytes} bytes was cut off the end of {file.path}")
    if len(file.done):
        of = f" of {looked.total}" if looked is not None else ""
        notes.say(f"lastcall: {len(file.done)}{of} rows are done already")


async def _sitting(wish: BatchWish, opened: Opened, file: RecordFile, tally: Tally) -> Halt | None:
    naming = Naming(opened.key)
    screen = open_screen(tally, opened.pace, quiet=wish.quiet)
    rows = naming.named(opened.source.rows())
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_close, opened)
        work = await _work(wish, opened, file, tally, stack, screen.note)
        with heard_signals(work, screen.note):
            async with screen:
                await work.run(fetched(rows, at_once=_FETCHED_AT_ONCE if opened.source.rereadable else 1))
    if naming.repeated:
        examples = ", ".join(naming.examples)
        told = f"{naming.repeated} rows have the key of an earlier row ({examples})"
        screen.note(f"lastcall: {told}; each has a record of its own")
    stale = len(file.done) - tally.skipped
    if stale > 0 and work.halt is None:
        screen.note(f"lastcall: {stale} records in the output are of rows that the input does not have (any more)")
    return work.halt


async def _work(
    wish: BatchWish,
    opened: Opened,
    file: RecordFile,
    tally: Tally,
    stack: AsyncExitStack,
    note: Callable[[str], None],
) -> BatchWork:
    """The loop over rows, each of whose runs asks the service alone or in rounds."""
    lend_to: Callable[[Row], Provider] | None = None
    deliver: Deliver = to_nobody
    if wish.via == PROVIDER_BATCH:
        service = demand_batch_api(opened.provider)
        rounds = await stack.enter_async_context(open_rounds(service, file.path, tally, opened.rows_at_once, note))
        lend_to, deliver = rounds.lend_to, rounds.deliver

    return BatchWork(
        RowRunner(opened.plan, opened.provider, lend_to=lend_to),
        file,
        tally,
        made_by=opened.plan.made_by,
        bounds=opened.bounds,
        rows_at_once=opened.rows_at_once,
        spent_before_usd=Decimal(repr(file.spent_usd)),
        tokens_before=file.spent_tokens,
        is_done=file.done.__contains__,
        deliver=deliver,
    )


async def _close(opened: Opened) -> None:
    opened.source.close()
    with anyio.CancelScope(shield=True):
        await opened.provider.aclose()


def _write_views(wish: BatchWish, file: RecordFile) -> None:
    """Views of the records: the Parquet file, the report. Raises `JournalError`, `BadConfig`."""
    file.settle()
    if file.path != wish.output:
        write_parquet(file.lines(), wish.output)
    if wish.report is not None:
        from lastcall.batches.report import write_report_page  # noqa: PLC0415 -- pages and charts, when asked for

        write_report_page(wish.report, file.records(), title=wish.output)


def tell_after(kept: Counter[str], tally: Tally, halt: Halt | None, notes: Notes) -> None:
    """What there is to say when a sitting is over; `kept` are the outcomes of earlier ones."""
    if halt is not None:
        notes.error(f"lastcall: {halt.words}")
    if halt is not None or tally.left:
        missing = tally.remaining
        rows = "Rows without a record" if missing is None else f"{missing} rows have no record: they"
        notes.say(f"lastcall: {rows} are done when the same command is run again")
    failed = {outcome for outcome in kept + tally.outcomes if outcome not in GOOD}
    again = sorted(failed - {BAD_ROW})
    if halt is None and again:
        notes.say(f"lastcall: to do the failed rows again, add --retry {','.join(again)}")


def exit_code(kept: Counter[str], tally: Tally, halt: Halt | None) -> int:
    """The exit code of a sitting; `kept` are the outcomes of earlier ones."""
    if halt is not None:
        return _CODES[halt.why]
    return 0 if all(outcome in GOOD for outcome in kept + tally.outcomes) else _SOME_FAILED
