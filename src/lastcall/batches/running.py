"""One row's run: the template filled, a session of its own over connections that all rows share, the result.

Must not go in here: which rows run when (`batches.work`), records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lastcall.api.rules import DEPENDENCIES
from lastcall.api.watching import RunWatcher
from lastcall.batches.bounds import Left, is_tighter
from lastcall.batches.plan import Plan
from lastcall.batches.rows import Row
from lastcall.core.events import Interrupted
from lastcall.nouns.ids import Uuid
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Signal, TerminalResult
from lastcall.providers import Provider
from lastcall.providers.lending import lend
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.ports import Clock, Publisher
from lastcall.runtime.publish import Several, Silent
from lastcall.runtime.session import Session, open_session
from lastcall.wire.dialect import Feature
from lastcall.wire.frames import Stage


class Ran(Struct, frozen=True):
    """A run's result and the stage it had."""

    result: TerminalResult
    stage: Stage


class RowRunner:
    """Runs rows, many at a time. `provider` is shared by all and stays open; `clock` is what their limits go by.

    `watch` makes who is told of a run, from its stage and prompt; `deps` reach the rules of the contract. `lend_to` gives a
    row its provider where it is more than `provider` lent.
    """

    def __init__(
        self,
        plan: Plan,
        provider: Provider,
        *,
        clock: Clock | None = None,
        deps: Any = None,
        watch: Callable[[Stage, str], Sequence[RunWatcher]] = lambda _stage, _prompt: (),
        lend_to: Callable[[Row], Provider] | None = None,
    ) -> None:
        self._plan = plan
        self._provider = provider
        self._clock = clock
        self._deps = deps
        self._watch = watch
        self._lend_to = lend_to or (lambda _row: lend(provider))
        self._open: set[Session] = set()

    async def run(self, row: Row, left: Left) -> Ran:
        """The row's run. Raises `CannotRender` for a row that cannot be asked about; then nothing was sent."""
        plan = self._plan
        prompt = plan.template.render(row.values)
        contract = plan.contract_of(row)
        config = replace(plan.config, contract=contract, **_limits(plan, left))
        watchers: list[RunWatcher] = []

        def watching(stage: Stage) -> Publisher:
            watchers.extend(self._watch(stage, prompt))
            return Several(watchers) if watchers else Silent()

        token = DEPENDENCIES.set(self._deps)
        session = open_session(config, watching, self._lend_to(row), clock=self._clock)
        self._open.add(session)
        try:
            async with session:
                result = await session.driver.run(tuple(TextBlock(part) for part in self._parts(prompt)))
                return Ran(result, session.stage)
        except BaseException:
            for watcher in watchers:
                watcher.aborted()
            raise
        finally:
            self._open.discard(session)
            DEPENDENCIES.reset(token)

    def interrupt(self, signal: Signal) -> None:
        """End the runs that are under way."""
        for session in self._open:
            session.driver.post(Interrupted(signal, Uuid(new_uuid())))

    def _parts(self, prompt: str) -> tuple[str, ...]:
        """The prompt in the pieces in which it is sent: apart only where the service can keep what rows share."""
        marks = self._provider.dialect.has(Feature.CACHE_MARKS)
        return self._plan.template.parts(prompt) if marks else (prompt,)


def _limits(plan: Plan, left: Left) -> dict[str, Any]:
    """The run's own limits, or what the batch's leave if that is less."""
    own, found = plan.config, dict[str, Any]()
    if is_tighter(left.budget_usd, own.max_budget_usd):
        found |= {"max_budget_usd": left.budget_usd, "budget_words": f"{left.budget_usd}"}
    if is_tighter(left.time_s, own.deadline_s):
        found |= {"deadline_s": left.time_s, "deadline_words": f"{left.time_s:.0f}s"}
    if is_tighter(left.tokens, own.max_budget_tokens):
        found |= {"max_budget_tokens": left.tokens}
    return found
