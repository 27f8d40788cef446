"""How a session begins: new, gone on with, or forked; from a journal of ours or a transcript of the reference.

Must not go in here: what a journal looks like (`wire.journal`), what a transcript means (`wire.transcript`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from lastcall.contract import Contract
from lastcall.contract.hook_words import RESUME_SAID, RESUME_TOLD
from lastcall.core import records as r
from lastcall.core.decide import decide
from lastcall.core.events import Interrupted
from lastcall.core.evolve import evolve
from lastcall.core.history import close_messages
from lastcall.core.resume import can_go_on
from lastcall.core.state import RunState, Setting, begin
from lastcall.errors import BadConfig
from lastcall.journal.load import load
from lastcall.journal.sessions import Sessions
from lastcall.journal.store import Journal, MemoryJournal, reopen_journal
from lastcall.nouns.ids import SessionId, Uuid
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Cancelled, RunWarning, Signal, VerdictKind
from lastcall.runtime.clock import SystemClock, new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.runtime.veil import NO_VEIL, Veil
from lastcall.version import VERSION
from lastcall.wire.redaction import is_redacted

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Opened(Struct, frozen=True):
    """A session's state, where its steps go, and the journal's path (`""`: it is kept nowhere)."""

    state: RunState
    journal: Journal
    path: str = ""


class _Earlier(Struct, frozen=True):
    """The session to go on with. `path` is its journal, `""` when it was another program's transcript."""

    session_id: str
    path: str
    records: tuple[r.Record, ...] = ()


def open_state(config: RunConfig, setting: Setting, model: str, veil: Veil = NO_VEIL) -> Opened:
    """The state that the session begins with. Raises `BadConfig`, `JournalError`."""
    _demand_id(config)
    sessions = Sessions(config.state_dir)
    earlier = _earlier(config, sessions)
    journal: Journal = MemoryJournal()
    before: Sequence[r.Record] = ()
    reopened = earlier is not None and bool(earlier.path) and config.persist and not config.fork
    if earlier is not None and reopened:
        journal, loaded = reopen_journal(earlier.path)
        before = loaded.records
    elif earlier is not None:
        before = load(earlier.path).records if earlier.path else earlier.records
    session_id = SessionId(
        config.session_id or (earlier.session_id if earlier and not config.fork else "") or new_uuid()
    )
    rewound = _rewound(before, setting, config.resume_at, journal) if config.resume_at is not None else None
    path = earlier.path if earlier is not None and reopened else ""
    if config.persist and not reopened:
        path = sessions.path(config.cwd, session_id)
        journal = sessions.create(config.cwd, session_id)
    state = begin(setting)
    for record in before:
        state = evolve(state, record)
    if config.unfinished and not can_go_on(state):
        journal.close()
        raise BadConfig(
            "the last run of this session came to its end", hint="Give a prompt to go on.", where="--resume"
        )
    added: list[r.Record] = [_opened(config, session_id, model)]
    if rewound is not None:
        state, added = evolve(state, rewound), [*added, rewound]
    added += _of_redacted(state, before, config, journal)
    added += _taken_up(state, config.profile) if earlier is not None and not config.unfinished else []
    at = SystemClock().wall()
    journal.append((*(() if reopened else before), *veil.written(added)), at=at)
    for record in added:
        state = evolve(state, record)
    return Opened(state, journal, path)


def _of_redacted(state: RunState, before: Sequence[r.Record], config: RunConfig, journal: Journal) -> list[r.Record]:
    """What has to be true where texts of the session are only known redacted: the resume says so, no such object is taken.

    Raises `BadConfig` where the run only had to hand its object over.
    """
    if not any(is_redacted(str(record)) for record in before):
        return []
    if config.notice is not None:
        config.notice("lastcall: parts of this session were redacted in its journal; the model is shown them so")
    if not config.unfinished:
        return []
    if state.surviving is not None and is_redacted(state.surviving.text):
        journal.close()
        raise BadConfig(
            "the object of this run was redacted in its journal, so it cannot be handed over",
            hint="Give a prompt to have it made again.",
            where="--resume",
        )
    held = [h.attachment.call_id for h in state.held if is_redacted(h.attachment.text)]
    warning = RunWarning("redacted_journal", "parts of the session were only known redacted when it was resumed")
    return [*(r.AttemptRevised(call_id, VerdictKind.INTERRUPTED) for call_id in held), r.Warned(warning)]


def _rewound(before: Sequence[r.Record], setting: Setting, at: str, journal: Journal) -> r.Imported:
    """The history up to this message of the model, as a record: what came after stays in the journal, but is not sent.

    Raises `BadConfig` when there is no such message.
    """
    state, cut = begin(setting), None
    for record in before:
        state = evolve(state, record)
        if isinstance(record, r.BlockSaid) and at in (record.uuid, record.message_id):
            cut = state
    if cut is None:
        journal.close()
        raise BadConfig(f"No message found with message.uuid of: {at}", where="--resume-session-at")
    return r.Imported(close_messages(cut.messages, cut.pending, joins=setting.policy.joins_user_text))


def recorded_contract(config: RunConfig) -> r.Opened | None:
    """How the session to go on with was opened last, its contract included; `None` if it had none.

    Raises `BadConfig` when there is no such session, and when its contract had what no journal holds: Python functions and
    types, and texts that were redacted.
    """
    earlier = _earlier(config, Sessions(config.state_dir))
    before = () if earlier is None else load(earlier.path).records if earlier.path else earlier.records
    last = next((x for x in reversed(before) if isinstance(x, r.Opened)), None)
    if last is None or not last.schema_text:
        return None
    lost = [name for name in last.rules if name not in (*last.expressions, *last.commands)]
    if lost:
        raise BadConfig(
            f"the run's contract had rules that its journal does not hold: {', '.join(lost)}",
            hint="Give --json-schema (and the rules) again.",
            where="--resume",
        )
    if any(map(is_redacted, (last.schema_text, *last.rules))):
        what = "the schema" if is_redacted(last.schema_text) else "a rule"
        raise BadConfig(
            f"{what} was redacted in the journal", hint="Give --json-schema (and the rules) again.", where="--resume"
        )
    return last


def _beside(contract: Contract) -> dict[str, Any]:
    """What a journal holds of the rules and checks beside a schema."""
    from lastcall.runtime.checks import CommandCheck  # noqa: PLC0415 -- most contracts have no commands

    checks = [check for check in contract.checks if isinstance(check, CommandCheck)]
    return {
        "rules": contract.beside,
        "expressions": tuple(rule.name for rule in contract.rules if hasattr(rule, "told")),
        "commands": tuple(check.name for check in checks),
        "check_timeout_s": checks[0].timeout_s if checks else None,
    }


def _opened(config: RunConfig, session_id: SessionId, model: str) -> r.Opened:
    contract = config.contract
    return r.Opened(
        session_id=session_id,
        version=VERSION,
        profile=config.profile.value,
        model=model,
        cwd=config.cwd,
        at=SystemClock().wall(),
        contract_digest=contract.digest if contract is not None else "",
        schema_text=contract.schema.text if contract is not None else "",
        **(_beside(contract) if contract is not None and contract.beside else {}),
        strict_values=contract is not None and contract.strict_values,
    )


def _taken_up(state: RunState, profile: Profile) -> list[r.Record]:
    """What is true before the next prompt: a run that a crash cut off is over; the reference bridges to the prompt."""
    added: list[r.Record] = []
    if state.run_id and state.outcome is None:
        ended = r.Ended(Cancelled(Signal.TERMINATE))
        native = profile is Profile.NATIVE
        step = decide(state, Interrupted(Signal.TERMINATE, Uuid(new_uuid()))) if native else None
        added += step.records if step is not None else (ended,)
        for record in added:
            state = evolve(state, record)
    if profile is Profile.COMPAT and state.ends_with_user:
        added.append(r.Bridged(RESUME_TOLD, RESUME_SAID))
    return added


def _demand_id(config: RunConfig) -> None:
    if config.session_id is None:
        return
    if (config.resume is not None or config.continue_latest) and not config.fork:
        raise BadConfig(
            "--session-id can only be used with --continue or --resume if --fork-session is also specified."
        )
    if config.profile is Profile.COMPAT and not _UUID.fullmatch(config.session_id):
        raise BadConfig("Invalid session ID. Must be a valid UUID.")


def _earlier(config: RunConfig, sessions: Sessions) -> _Earlier | None:
    """The session to go on with; `None` for a new one. Raises `BadConfig`."""
    if config.resume is None and not config.continue_latest:
        return None
    from lastcall.journal.transcripts import find_transcript, load_transcript  # noqa: PLC0415 -- not for a new session

    home = config.environment.get("HOME", "")
    if config.resume is not None:
        if config.profile is Profile.COMPAT:
            found = sessions.find(config.resume, cwd=config.cwd)
        else:
            found = sessions.find_short(config.resume)
        if found is not None:
            return _Earlier(found.session_id, found.path)
        transcript = find_transcript(home, config.cwd, config.resume)
        if transcript is not None:
            return _Earlier(config.resume, "", load_transcript(transcript))
        raise BadConfig(f"No conversation found with session ID: {config.resume}")
    return _latest(config, sessions, home)


def _latest(config: RunConfig, sessions: Sessions, home: str) -> _Earlier | None:
    """The newest of this directory; the reference begins anew where there is none."""
    from lastcall.journal.transcripts import latest_transcript, load_transcript  # noqa: PLC0415 -- see above

    ours = sessions.latest(config.cwd)
    theirs = latest_transcript(home, config.cwd)
    if theirs is not None and (ours is None or theirs.changed_at > ours.changed_at):
        return _Earlier(theirs.session_id, "", load_transcript(theirs.path))
    if ours is not None:
        return _Earlier(ours.session_id, ours.path)
    if config.profile is Profile.COMPAT:
        return None
    raise BadConfig("there is no session of this directory to go on with", hint="Leave --continue away.")
