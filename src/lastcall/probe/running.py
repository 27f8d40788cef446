"""The sitting: all trials that are still wanted, round by round, within the bounds.

All cases are tried once before any is tried again, so that a probe that ends early tells something of each. A round has
one provider and one seed.

Must not go in here: one trial (`trials`), the file (`sheet`), what people see (`lastcall.cli`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import StrEnum
from typing import Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract
from lastcall.errors import LastcallError
from lastcall.probe.cases import Case
from lastcall.probe.endings import HOPELESS, Ending
from lastcall.probe.sheet import OpenSheet
from lastcall.probe.suites import contract_of
from lastcall.probe.trials import Trial, run_trial
from lastcall.providers import Provider
from lastcall.runtime.clock import SystemClock
from lastcall.runtime.config import RunConfig
from lastcall.runtime.ports import Clock

FAILURES_IN_A_ROW: Final = 3
"""So many trials that the service failed, one after the other, end the sitting."""

OpenProvider = Callable[[int], Provider]
"""A provider that answers with this seed, where its service takes one. Raises `UsageError`."""


class Bounds(Struct, frozen=True, kw_only=True):
    """What a sitting may take. The budget is the whole file's, earlier sittings included; the time is this sitting's."""

    max_budget_usd: Decimal | None = None
    deadline_s: float | None = None
    concurrency: int = 1


class Stop(StrEnum):
    """Why a sitting ended."""

    DONE = "done"
    BUDGET = "budget"
    DEADLINE = "deadline"
    SERVICE = "service"
    """The service fails, and would go on to."""


class Sat(Struct, frozen=True):
    """How a sitting ended. `last` is the trial that ended it, `unpriced` says that some price is not known."""

    stop: Stop
    last: Trial | None = None
    unpriced: bool = False


Tell = Callable[[Trial, int, int], None]
"""Told each trial, and how many of how many are done."""


async def sit(
    sheet: OpenSheet,
    config: RunConfig,
    open_provider: OpenProvider,
    *,
    bounds: Bounds,
    trials: int,
    tell: Tell = lambda _trial, _done, _all: None,
    clock: Clock | None = None,
) -> Sat:
    """Make the trials that are wanted and not in the sheet yet, each case `trials` times.

    `config` is how a run is made; contract and limits are set here. Raises `UsageError`; what is done stays in the file.
    """
    sitting = _Sitting(sheet, config, bounds, trials, tell, clock or SystemClock())
    for number in range(1, trials + 1):
        wanted = sitting.wanted(number)
        if wanted and sitting.stop is Stop.DONE:
            provider = open_provider(sheet.plan.seed + number - 1)
            try:
                await sitting.round(number, wanted, provider)
            finally:
                with anyio.CancelScope(shield=True):
                    await provider.aclose()
    return Sat(sitting.stop, sitting.last, sitting.unpriced)


class _Sitting:
    def __init__(
        self, sheet: OpenSheet, config: RunConfig, bounds: Bounds, trials: int, tell: Tell, clock: Clock
    ) -> None:
        self._sheet = sheet
        self._config = config
        self._bounds = bounds
        self._tell = tell
        self._clock = clock
        self._contracts: dict[str, Contract] = {case.name: contract_of(case) for case in sheet.plan.cases}
        self._done = {(t.case, t.round) for t in sheet.sheet.counted if t.round <= trials}
        self._all = trials * len(sheet.plan.cases)
        self._until = None if bounds.deadline_s is None else clock.monotonic() + bounds.deadline_s
        self._spent = sum((t.cost_usd or Decimal(0) for t in sheet.trials), Decimal(0))
        self._dearest = max((t.cost_usd or Decimal(0) for t in sheet.trials), default=Decimal(0))
        self._under_way = 0
        self._failed = 0
        self._error: LastcallError | None = None
        self.stop = Stop.DONE
        self.last: Trial | None = None
        self.unpriced = False

    def wanted(self, number: int) -> list[Case]:
        return [case for case in self._sheet.plan.cases if (case.name, number) not in self._done]

    async def round(self, number: int, wanted: list[Case], provider: Provider) -> None:
        cases = iter(wanted)
        async with anyio.create_task_group() as tasks:
            for _ in range(min(self._bounds.concurrency, len(wanted))):
                tasks.start_soon(self._work, number, cases, provider)
        if self._error is not None:
            raise self._error

    async def _work(self, number: int, cases: Iterator[Case], provider: Provider) -> None:
        for case in cases:
            config = self._bounded(replace(self._config, contract=self._contracts[case.name]))
            if config is None or self._error is not None:
                return
            self._under_way += 1
            try:
                seed = self._sheet.plan.seed + number - 1
                trial = await run_trial(case, config, provider, number=number, seed=seed, clock=self._clock)
                self._sheet.add(trial)
            except LastcallError as error:
                self._error = self._error or error
                return
            finally:
                self._under_way -= 1
            self._note(trial)

    def _bounded(self, config: RunConfig) -> RunConfig | None:
        """The configuration with what is left of time and money; `None` where nothing more may begin."""
        if self._until is not None:
            left = self._until - self._clock.monotonic()
            if left <= 0:
                self._end(Stop.DEADLINE)
            config = replace(config, deadline_s=left, deadline_words=f"{left:.0f}s")
        if self._bounds.max_budget_usd is not None:
            rest = self._bounds.max_budget_usd - self._spent - self._under_way * self._dearest
            if rest <= self._dearest:
                self._end(Stop.BUDGET)
            config = replace(config, max_budget_usd=rest, budget_words=f"${rest}")
        return config if self.stop is Stop.DONE else None

    def _note(self, trial: Trial) -> None:
        if trial.cost_usd is None:
            self.unpriced = True
        else:
            self._spent += trial.cost_usd
            self._dearest = max(self._dearest, trial.cost_usd)
        if trial.counted:
            self._failed = 0
            self._done.add((trial.case, trial.round))
        elif trial.ending is Ending.STOPPED:
            passed = self._until is not None and self._clock.monotonic() >= self._until
            self._end(Stop.DEADLINE if passed or self._bounds.max_budget_usd is None else Stop.BUDGET, trial)
        else:
            self._failed += 1
            if trial.failure in HOPELESS or self._failed >= FAILURES_IN_A_ROW:
                self._end(Stop.SERVICE, trial)
        self._tell(trial, len(self._done), self._all)

    def _end(self, stop: Stop, trial: Trial | None = None) -> None:
        if self.stop is Stop.DONE:
            self.stop, self.last = stop, trial
