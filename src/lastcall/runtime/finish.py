"""State to `TerminalResult`: the one factory of a run's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lastcall.contract.receipt import receipt_of
from lastcall.core.state import RunState
from lastcall.nouns.result import (
    Answered,
    Attempt,
    ContractFacts,
    Failed,
    FailureKind,
    JournalSeal,
    Outcome,
    TerminalResult,
    VerdictKind,
)
from lastcall.nouns.schema import NotStrict
from lastcall.version import VERSION
from lastcall.wire.frames import input_value


def finish(
    state: RunState, *, duration_ms: int = 0, interrupted_calls: bool = False, journal: JournalSeal | None = None
) -> TerminalResult:
    """How the run ended. The state must have an outcome; one without is a bug and says so."""
    outcome: Outcome = state.outcome or Failed(FailureKind.INTERNAL, "the run stopped without an outcome")
    attachment = outcome.attachment if isinstance(outcome, Answered) else None
    contract = state.contract
    text = attachment.text if attachment is not None else None
    kept = state.surviving.text if state.surviving is not None and attachment is None else None
    return TerminalResult(
        outcome=outcome,
        run_id=state.run_id,
        session_id=state.session_id,
        object_text=text,
        output=contract.load(text) if contract is not None and text is not None else None,
        text=outcome.text if isinstance(outcome, Answered) else state.reply.tail,
        attempts=state.attempts,
        checks=state.checks,
        warnings=state.warnings,
        answered_before=state.answered_before if attachment is not None else (),
        side_effects=state.side_effects,
        contract=_facts(state),
        usage=state.usage,
        usage_by_model=dict(state.usage_by_model),
        cost_usd=state.cost_usd,
        turns=state.turns,
        stop_reason=state.stop_reason,
        permission_denials=tuple(_denials(state)),
        draft=_shown_draft(state),
        duration_ms=duration_ms,
        duration_api_ms=state.api_ms,
        channel=state.channel.value,
        source=attachment.source if attachment is not None and attachment.source != "call" else "",
        last_model=state.reply.model,
        kept_object_text=kept,
        kept_hidden=_bears_retracted_name(state),
        interrupted_calls=interrupted_calls,
        halted=state.halt is not None,
        receipt=receipt_of(contract, text, journal, VERSION),
    )


def _bears_retracted_name(state: RunState) -> bool:
    """Whether the object's call bears the id of one that was taken back: the reference goes by ids and does not show it."""
    attachment = state.surviving
    given = {c.given_id for c in state.reply.calls if attachment is not None and c.call_id == attachment.call_id}
    return any(a.call_id in given for a in state.attempts if a.verdict is VerdictKind.RETRACTED)


def best_draft(attempts: tuple[Attempt, ...]) -> str | None:
    """The rejected attempt with the fewest problems, the latest of equals."""
    best: Attempt | None = None
    for attempt in attempts:
        rejected = attempt.verdict in (VerdictKind.REJECTED, VerdictKind.HELD) and bool(attempt.draft)
        if rejected and (best is None or len(attempt.problems) <= len(best.problems)):
            best = attempt
    return best.draft if best is not None else None


def _shown_draft(state: RunState) -> str | None:
    """The best draft, without the values that the schema marks secret."""
    draft = best_draft(state.attempts)
    return state.contract.masked(draft, wrapped=True) or None if draft and state.contract is not None else draft


def _facts(state: RunState) -> ContractFacts | None:
    contract = state.contract
    if contract is None:
        return None
    rules = state.setting.strict_rules
    if rules == "none":
        wire = "plain"
    else:
        strict = contract.strict(rules)
        wire = f"plain ({strict.reason})" if isinstance(strict, NotStrict) else f"strict ({rules})"
    return ContractFacts(contract.digest, contract.dialect, wire)


def _denials(state: RunState) -> list[Mapping[str, Any]]:
    return [{"tool_name": c.name, "tool_use_id": c.call_id, "tool_input": input_value(c)} for c in state.denied]
