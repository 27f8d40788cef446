"""One trial: a run of one case through the real machine, kept with everything the model said.

Must not go in here: which trials there are (`running`), where they are kept (`sheet`).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from lastcall.core import records as r
from lastcall.nouns.messages import TextBlock, ThinkingBlock
from lastcall.nouns.result import (
    Attempt,
    Failed,
    FailureKind,
    RunWarning,
    TerminalResult,
    outcome_name,
)
from lastcall.nouns.tools import ToolCall
from lastcall.probe.cases import Case
from lastcall.probe.endings import Ending, counts, ending_of
from lastcall.providers import Provider
from lastcall.providers.lending import lend
from lastcall.runtime.config import RunConfig
from lastcall.runtime.ports import Clock
from lastcall.runtime.publish import Silent
from lastcall.runtime.session import open_session


class Said(Struct, frozen=True):
    """One block of a reply. `kind` is `text`, `thinking`, `call` (`name`, and the arguments as they came) or another."""

    kind: str
    text: str = ""
    name: str = ""


class Reply(Struct, frozen=True):
    """One reply as it came. `lost` says why it broke off."""

    request: int
    model: str = ""
    stop_reason: str = ""
    blocks: tuple[Said, ...] = ()
    lost: str = ""


class Trial(Struct, frozen=True, kw_only=True, tag="trial"):
    """One run of one case.

    `round` counts from 1; all cases are tried once a round, with the round's `seed`. `counted` is false where it says
    nothing of the model (a limit of the probe, the network); such a trial is made again. `failure` is the kind of a
    failure. `cost_usd` is `None` where the price is not known.
    """

    case: str
    round: int
    seed: int
    ending: Ending
    counted: bool
    outcome: str
    reason: str
    attempts: tuple[Attempt, ...] = ()
    object_text: str | None = None
    warnings: tuple[RunWarning, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: Decimal | None = None
    duration_ms: int = 0
    replies: tuple[Reply, ...] = ()
    failure: FailureKind | None = None


class Watch(Silent):
    """Keeps what the model says in a run (`runtime.ports.Publisher`).

    `limited`: a limit came near, so that the run went another way than it would have gone.
    """

    def __init__(self) -> None:
        self._replies: dict[int, Reply] = {}
        self.limited = False

    @property
    def replies(self) -> tuple[Reply, ...]:
        """All replies so far, in the order of their requests."""
        return tuple(self._replies.values())

    def records(self, records: Sequence[r.Record]) -> None:
        """Keep what matters of them."""
        for record in records:
            match record:
                case r.ReplyBegan():
                    self._replies[record.request] = Reply(record.request, record.model)
                case r.BlockSaid():
                    reply = self._replies.get(record.request, Reply(record.request))
                    self._replies[record.request] = replace(reply, blocks=(*reply.blocks, said(record.block)))
                case r.ReplyClosed():
                    reply = self._replies.get(record.request, Reply(record.request))
                    self._replies[record.request] = replace(reply, stop_reason=record.stop_reason or "")
                case r.RequestLost():
                    reply = self._replies.get(record.request, Reply(record.request))
                    self._replies[record.request] = replace(reply, lost=record.failure.detail)
                case r.LimitNoted() | r.Asked(reserved=True):
                    self.limited = True
                case _:
                    pass  # what the ledger tells


def said(block: object) -> Said:
    """A block as it is kept."""
    match block:
        case TextBlock(text=text):
            return Said("text", text)
        case ThinkingBlock(text=text):
            return Said("thinking", text)
        case ToolCall():
            return Said("call", block.arguments.text, block.name)
        case _:
            return Said("other")


async def run_trial(
    case: Case, config: RunConfig, provider: Provider, *, number: int, seed: int, clock: Clock | None = None
) -> Trial:
    """One run of the case; `config` holds its contract. `number` is the round. Raises `UsageError`."""
    watch = Watch()
    async with open_session(config, lambda _stage: watch, lend(provider), clock=clock) as session:
        result = await session.run(case.prompt)
    return trial_of(case, result, watch, number=number, seed=seed)


def trial_of(case: Case, result: TerminalResult, watch: Watch, *, number: int, seed: int) -> Trial:
    """The trial that this result was. One that met a limit of the probe on its way does not count."""
    return Trial(
        case=case.name,
        round=number,
        seed=seed,
        ending=Ending.STOPPED if watch.limited else ending_of(result),
        counted=counts(result.outcome) and not watch.limited,
        outcome=outcome_name(result.outcome),
        reason=result.reason,
        attempts=result.attempts,
        object_text=result.object_text,
        warnings=result.warnings,
        input_tokens=result.usage.input_tokens,
        output_tokens=result.usage.output_tokens,
        cost_usd=result.cost_usd,
        duration_ms=result.duration_ms,
        replies=watch.replies,
        failure=result.outcome.kind if isinstance(result.outcome, Failed) else None,
    )
