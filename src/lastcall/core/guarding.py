"""Objects that pass the contract and are sent back once all the same: a second time they are taken, with a warning.

Must not go in here: what looks suspicious (`contract.suspicion`).
"""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.contract import Contract
from lastcall.contract.suspicion import WRAPPED, degenerate
from lastcall.contract.verdicts import Accepted, Rejected
from lastcall.core.state import RunState
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import RunWarning, VerdictKind


def guarded(state: RunState, verdict: Accepted, contract: Contract) -> Accepted | Rejected:
    """Send an object back once that is wrapped, or lost what a rejected draft held; then it is taken with a warning."""
    wrapped = next((w for w in verdict.warnings if w.code == WRAPPED), None)
    if wrapped is not None and state.policy.guards_degenerate and not state.sent_back_for(WRAPPED):
        hint = "send what is in it as the whole input; if the key is meant, send the same again"
        return Rejected((Problem(wrapped.path, WRAPPED, wrapped.message, {"hint": hint}),), 1)
    rejected = [a for a in state.attempts if a.verdict is VerdictKind.REJECTED]
    if not state.policy.guards_degenerate or not rejected:
        return verdict
    drafts, problems = tuple(a.draft for a in rejected), tuple(a.problems for a in rejected)
    problem = degenerate(verdict.text, drafts, problems, contract.schema.value)
    if problem is None:
        return verdict
    if not state.sent_back_for("degenerate"):
        return Rejected((problem,), 1)
    warning = RunWarning("degenerate", problem.message, problem.path)
    return replace(verdict, warnings=(*verdict.warnings, warning))
