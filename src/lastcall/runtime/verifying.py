"""Re-checking a result offline: what its envelope says, against its receipt, a contract and its journal.

Nothing is sent and no check that needs the world is run. What cannot be looked at is skipped, and said to be.

Must not go in here: reading files, showing anything (`cli.verify`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from lastcall.contract import Contract
from lastcall.contract.json_text import write_json
from lastcall.contract.receipt import digest, object_digest, rules_digest
from lastcall.contract.seen import NOTHING_SEEN, Sight
from lastcall.contract.verdicts import Accepted, Rejected, Verdict
from lastcall.contract.wording import joined
from lastcall.contract.wrapping import WRAP
from lastcall.core import records as r
from lastcall.core.evolve import evolve
from lastcall.core.policy import native
from lastcall.core.sight import sight_of
from lastcall.core.state import RunState, Setting, begin
from lastcall.errors import JournalError
from lastcall.journal.load import load_bytes
from lastcall.nouns.result import Answered
from lastcall.nouns.tools import Arguments

_MISSING: Final = object()


class Finding(Struct, frozen=True):
    """One question and its answer: `passed` is `None` where it could not be asked. `why` says what was found."""

    name: str
    passed: bool | None
    why: str


def verify(frame: Mapping[str, Any], contract: Contract | None, journal: bytes | None) -> tuple[Finding, ...]:
    """Everything that can be checked about a result frame. `journal` are the bytes of the session's file."""
    facts = frame.get("lastcall")
    receipt = facts.get("receipt") if isinstance(facts, Mapping) else None
    if not isinstance(receipt, Mapping):
        return (Finding("receipt", passed=False, why="the envelope has no receipt"),)
    value = frame.get("structured_output", _MISSING)
    text = "" if value is _MISSING else write_json(value, numbers="exact")
    content, sealed = _sealed(receipt.get("journal"), journal)
    state, read = _state(content, contract)
    return (
        _status(frame, has_object=value is not _MISSING),
        _object(receipt, text),
        _schema(receipt, contract),
        *_rules(receipt, contract),
        sealed,
        *((read,) if read is not None else ()),
        *((_recorded(state, text),) if state is not None else ()),
        _contract(contract, text, state),
    )


def _status(frame: Mapping[str, Any], *, has_object: bool) -> Finding:
    succeeded = frame.get("is_error") is False
    outcome = frame["lastcall"].get("outcome")
    agrees = succeeded == (outcome == "answered") and (succeeded or not has_object)
    why = "status, outcome and object agree" if agrees else f"is_error is {not succeeded}, the outcome is {outcome}"
    return Finding("status", agrees, why)


def _object(receipt: Mapping[str, Any], text: str) -> Finding:
    sealed = receipt.get("object") or ""
    if not sealed and not text:
        return Finding("object", passed=None, why="the run ended without an object")
    same = bool(text) and object_digest(text) == sealed
    return Finding("object", same, "the object is the sealed one" if same else "the object is not the sealed one")


def _schema(receipt: Mapping[str, Any], contract: Contract | None) -> Finding:
    if contract is None:
        return Finding("schema", passed=None, why="no schema is given, and no journal that holds one")
    same = contract.digest == receipt.get("contract")
    return Finding("schema", same, "the schema is the sealed one" if same else "the schema is not the sealed one")


def _rules(receipt: Mapping[str, Any], contract: Contract | None) -> tuple[Finding, ...]:
    """Whether what is judged again are the rules that the run had."""
    given = rules_digest(contract.beside) if contract is not None else ""
    if given == (receipt.get("rules") or ""):
        return (Finding("rules", passed=True, why="the rules are those of the run"),) if given else ()
    why = "the run had other rules beside the schema; what is given here was judged"
    return (Finding("rules", passed=None, why=why),)


def _sealed(seal: Any, journal: bytes | None) -> tuple[bytes | None, Finding]:
    """The journal up to where it was sealed."""
    if not isinstance(seal, Mapping):
        return None, Finding("journal", passed=None, why="the run kept no journal")
    if journal is None:
        return None, Finding("journal", passed=None, why="no journal is given")
    size = seal.get("bytes")
    content = journal[:size] if isinstance(size, int) else b""
    same = len(content) == size and digest(content) == seal.get("sha256")
    why = "the journal is the sealed one" if same else "the journal is not the sealed one, or lines are missing"
    return (content if same else None), Finding("journal", same, why)


def _state(content: bytes | None, contract: Contract | None) -> tuple[RunState | None, Finding | None]:
    if content is None:
        return None, None
    try:
        records = load_bytes(content, where="the journal").records
    except JournalError as error:
        return None, Finding("records", passed=False, why=str(error))
    state = begin(Setting(native(), contract))
    for record in records:
        state = evolve(state, record)
    return state, None


def _recorded(state: RunState, text: str) -> Finding:
    """Whether the journal's last run ended with this object, accepted from a call that it holds."""
    outcome = state.outcome
    attachment = outcome.attachment if isinstance(outcome, Answered) else None
    if attachment is None:
        return Finding("accepted", passed=not text, why="the journal's run ended without an object")
    same = object_digest(attachment.text) == object_digest(text)
    why = "the journal's run ended with this object" if same else "the journal's run ended with another object"
    return Finding("accepted", same, why)


def _contract(contract: Contract | None, text: str, state: RunState | None) -> Finding:
    """The object judged again, by what the journal's run had seen."""
    if contract is None or not text:
        return Finding("contract", passed=None, why="there is no object to judge" if contract else "no schema is given")
    if contract.needs_sight and state is None:
        return Finding("contract", passed=None, why="quotes and evidence need the journal")
    verdict = judged(contract, text, sight_of(state) if state is not None else NOTHING_SEEN)
    match verdict:
        case Accepted():
            return Finding("contract", passed=True, why="the object passes the contract")
        case Rejected(problems=problems):
            return Finding("contract", passed=False, why=f"the object does not pass: {joined(problems[:5])}")
        case _:
            return Finding("contract", passed=False, why="the object cannot be read")


def judged(contract: Contract, text: str, sight: Sight) -> Verdict:
    """The verdict on an object as the caller has it, which is unwrapped."""
    return contract.judge(Arguments(f'{{"{WRAP}":{text}}}' if contract.wrapped else text), sight)


def recorded_contract(journal: bytes) -> tuple[str, tuple[str, ...]]:
    """The schema that a journal's session was last opened with (`""` if with none), and the expressions beside it.

    Raises `JournalError`.
    """
    opened = [x for x in load_bytes(journal, where="the journal").records if isinstance(x, r.Opened)]
    return (opened[-1].schema_text, opened[-1].expressions) if opened else ("", ())
