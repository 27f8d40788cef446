"""A batch on Ray Data: one reader, workers that Ray scales, one desk; and everything that Ray says kept off stdout.

Rows are read on the driver's node as a stream, in the order of the input and with the keys that they have anywhere else;
those that have a record are left out there. Blocks of rows go to the workers; a block whose worker died goes to another,
which asks the desk what is done already.

Must not go in here: what a worker does (`batches.ray_worker`), what the desk does (`batches.ray_desk`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, Final, Self

from msgspec import Struct

from lastcall.batches.bounds import Bounds, Halt
from lastcall.batches.keys import Naming
from lastcall.batches.ray_desk import Desk, Opening, Progress
from lastcall.batches.ray_parts import Parts
from lastcall.batches.ray_worker import Equip, Worker, pack, unpack
from lastcall.batches.records import MadeBy
from lastcall.batches.rows import Source
from lastcall.errors import JournalError, LastcallError, MissingExtra
from lastcall.runtime.clock import new_uuid

_ASKED_AT_ONCE: Final = 1000
_CALLS_OF_A_WORKER: Final = 4
"""Calls of a worker at once (as Ray Data's own default is), so that the last row of one does not hold back the next."""
_NODE: Final = "ray.io/node-id"
"""The label that Ray gives each node."""
_LARGEST_CALL: Final = 64
_CPUS_OF_A_WORKER: Final = 0.5
"""It waits for a service most of the time."""


class Job(Struct, frozen=True):
    """What runs on the cluster. All of it travels, so it is made of plain values and functions of modules."""

    open_source: Callable[[], Source]
    open_output: Callable[[], Parts]
    equip: Equip
    made_by: MadeBy
    bounds: Bounds
    key: str | None
    concurrency: int
    workers: tuple[int, int]
    retry: frozenset[str] = frozenset()


def load_ray() -> Any:
    """The module `ray`, silent. Raises `MissingExtra`."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray  # noqa: PLC0415 -- an extra, and 1 s
        import ray.data  # noqa: PLC0415
    except ImportError:
        raise MissingExtra(
            "The engine ray needs the package ray, which is not installed.",
            hint="Install it with: pip install 'lastcall[ray]'",
        ) from None
    return ray


@contextmanager
def silenced() -> Iterator[None]:
    """Whatever Ray's libraries and processes print is dropped meanwhile; what this program says on stderr is not.

    They write to the descriptors themselves, so these lead nowhere; Ray keeps logs of its own in its session's folder.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    stdout, stderr, ours = os.dup(1), os.dup(2), sys.stderr
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        sys.stderr = os.fdopen(os.dup(stderr), "w", encoding=ours.encoding, errors=ours.errors, buffering=1)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        told, sys.stderr = sys.stderr, ours
        told.close()
        for fd in (stdout, stderr, nowhere):
            os.close(fd)


class Cluster:
    """A sitting on Ray. Use it as a context; `run` once.

    With `RAY_ADDRESS` in the environment it is the cluster there, else one on this machine for this sitting alone.
    """

    def __init__(self, job: Job, environment: Mapping[str, str]) -> None:
        self._job = job
        self._environment = environment
        self._ray: Any = None
        self._desk: Any = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        ray = self._ray = load_ray()
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if not self._environment.get("RAY_ADDRESS"):
            options |= {"num_cpus": max(2, os.cpu_count() or 1), "include_dashboard": False}
        try:
            ray.init(**options)
        except (ConnectionError, OSError, ValueError, RuntimeError) as error:
            said = (str(error).splitlines() or [type(error).__name__])[0]
            hint = "Check RAY_ADDRESS, or unset it to run on this machine."
            raise JournalError(f"Ray cannot be started: {said}", hint=hint) from None
        _quiet(ray)
        self._desk = (
            ray.remote(Desk)
            .options(
                name=f"lastcall-desk-{new_uuid()}",
                num_cpus=0,
                max_concurrency=100_000,
                label_selector={_NODE: self._node()},
            )
            .remote(self._job.open_output, self._job.bounds, self._job.concurrency)
        )
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self._ray.shutdown()

    def _node(self) -> str:
        """The driver's node, where paths of this machine mean something."""
        return str(self._ray.get_runtime_context().get_node_id())

    # -- the desk, from here ----------------------------------------------------------------------------------------

    async def ask(self, name: str, *given: Any) -> Any:
        """A question to the desk. Raises what the desk raises; `JournalError` where the desk is gone."""
        return await asyncio.wrap_future(_asked(self._ray, self._desk, name, *given))

    async def survey(self) -> list[MadeBy]:
        """What the records so far came from. Raises `BadConfig`, `JournalError`."""
        origins: list[MadeBy] = await self.ask("survey")
        return origins

    async def begin(self) -> Opening:
        """The output is open for records. Raises `JournalError`."""
        opening: Opening = await self.ask("begin_sitting", self._job.retry)
        self._desk.run.remote()
        return opening

    async def stop(self, halt: Halt) -> None:
        """Begin no further row."""
        await self.ask("stop", halt)

    async def progress(self) -> Progress:
        """How far it is."""
        progress: Progress = await self.ask("progress")
        return progress

    async def end(self) -> None:
        """The output is settled. Raises `JournalError`."""
        await self.ask("end_sitting")

    # -- the rows ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Every row to its end. Raises `LastcallError`."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def drain() -> None:
            try:
                for _ in self._dataset().iter_batches(batch_size=None, prefetch_batches=0):
                    pass
            except Exception as error:  # noqa: BLE001 -- told in the loop, whatever it is
                found = _plain(error)
                _tell(loop, over, found)
            else:
                _tell(loop, over, None)

        self._thread = threading.Thread(target=drain, name="ray-data", daemon=True)
        self._thread.start()
        await over

    def _dataset(self) -> Any:
        job, data = self._job, self._ray.data
        least, most = job.workers
        read = partial(_blocks, job.open_source, job.key, self._desk)
        rows = data.read_datasource(
            _datasource(data, read), override_num_blocks=1, label_selector={_NODE: self._node()}
        )
        return rows.map_batches(
            _actor_class(),
            batch_size=self._rows_of_a_call(),
            fn_constructor_args=(self._desk, job.equip, job.made_by),
            compute=data.ActorPoolStrategy(
                min_size=least, max_size=most, max_tasks_in_flight_per_actor=_CALLS_OF_A_WORKER
            ),
            num_cpus=_CPUS_OF_A_WORKER,
        )

    def _rows_of_a_call(self) -> int:
        """Somewhat more, over all calls of all workers, than may be under way: some always wait for a record to be kept."""
        return max(1, min(_LARGEST_CALL, self._job.concurrency // self._job.workers[1]))


def _tell(loop: asyncio.AbstractEventLoop, over: asyncio.Future[None], error: BaseException | None) -> None:
    def settle() -> None:
        if not over.done():
            over.set_result(None) if error is None else over.set_exception(error)

    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(settle)


def _quiet(ray: Any) -> None:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = False
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _plain(error: BaseException) -> BaseException:
    """What Ray wrapped, if it is ours; else one sentence."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, LastcallError):
            return cause
        cause = getattr(cause, "cause", None) or cause.__cause__
    said = (str(error).strip().splitlines() or [""])[-1][:300]
    hint = "The records so far are kept; run the same command again."
    return JournalError(f"the batch broke off on the cluster: {type(error).__name__}: {said}", hint=hint)


def _asked(ray: Any, desk: Any, name: str, *given: Any) -> Any:
    """A question to the desk as a future of a thread that nobody waits for."""
    from concurrent.futures import Future  # noqa: PLC0415 -- beside the extra

    found: Future[Any] = Future()

    found.set_running_or_notify_cancel()  # whoever asked may go away; the answer has a place all the same

    def ask() -> None:
        try:
            answer = ray.get(getattr(desk, name).remote(*given))
        except Exception as error:  # noqa: BLE001 -- told to whoever asked
            found.set_exception(_plain(error))
        else:
            found.set_result(answer)

    threading.Thread(target=ask, name=f"desk-{name}", daemon=True).start()
    return found


# -- what runs elsewhere ------------------------------------------------------------------------------------------------


def _datasource(data: Any, read: Callable[[], Iterator[Any]]) -> Any:
    from ray.data.block import BlockMetadata  # noqa: PLC0415 -- the extra

    class Rows(data.Datasource):  # type: ignore[misc]
        """One task that reads it all, as a stream that waits for whoever takes the blocks."""

        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            told = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
            return [data.ReadTask(read, told)]

    return Rows()


def _blocks(open_source: Callable[[], Source], key: str | None, desk: Any) -> Iterator[Any]:
    """The rows without a record."""
    import pyarrow as pa  # noqa: PLC0415 -- an extra
    import ray  # noqa: PLC0415 -- an extra

    rows = Naming(key).named(open_source().rows())
    while some := list(islice(rows, _ASKED_AT_ONCE)):
        wanted = ray.get(desk.missing.remote([row.key for row in some]))
        if wanted is None:
            return
        packed = [pack(row) for row, is_wanted in zip(some, wanted, strict=True) if is_wanted]
        if packed:
            yield pa.table({"row": pa.array(packed, pa.binary())})


def _actor_class() -> Any:
    class RowWorker:
        """A `Worker` as Ray Data calls it."""

        def __init__(self, desk: Any, equip: Equip, made_by: MadeBy) -> None:
            self._worker = Worker(f"{os.getpid()}-{new_uuid()}", _Far(desk), equip, made_by)

        async def __call__(self, block: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
            rows = [unpack(packed) for packed in block["row"]]
            await self._worker.do(rows)
            yield {"rows": [len(rows)]}

    return RowWorker


class _Far:
    """The desk over the cluster (`batches.ray_worker.FarDesk`)."""

    def __init__(self, desk: Any) -> None:
        self._desk = desk

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._desk, name)

        async def ask(*given: Any) -> Any:
            return await method.remote(*given)

        return ask
