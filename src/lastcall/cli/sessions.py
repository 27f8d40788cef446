"""`lastcall sessions`: list, show, resume, rm, export.

Must not go in here: what a journal looks like (`wire.journal`), where journals lie (`journal.sessions`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from lastcall.cli.here import working_directory
from lastcall.cli.say import say
from lastcall.core import records as r
from lastcall.errors import BadConfig, JournalCorrupt, JournalTooNew
from lastcall.journal.load import Loaded, load
from lastcall.journal.sessions import SessionFile, Sessions, SessionSummary, summarise
from lastcall.journal.store import reopen_journal
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Outcome, outcome_name, reason
from lastcall.nouns.tools import ToolCall

_WIDTH = 100
_as_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
_session = click.argument("session")


@click.group()
def sessions() -> None:
    """The sessions on this machine: journals of what was said, done and decided."""


@sessions.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Those of every directory, not of this one alone.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(min=1), help="At most so many.")
@_as_json
def list_sessions(*, everywhere: bool, limit: int, as_json: bool) -> int:
    """The sessions of this directory, the latest first."""
    found = _store().of(None if everywhere else working_directory())[:limit]
    for file in found:
        summary = summarise(file)
        row = _row(summary, _ended(file))
        if as_json:
            say(msgspec.json.encode(row).decode())
        else:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(file.changed_at))
            place = f"  {summary.cwd}" if everywhere else ""
            say(f"{file.session_id}  {when}  {row['state']:<16} {_one_line(summary.prompt, 60)}{place}")
    return 0


@sessions.command()
@_session
@_as_json
def show(session: str, *, as_json: bool) -> int:
    """What happened in a session, step by step. With --json, one record a line."""
    loaded = load(find(session).path)
    if as_json:
        for step in loaded.steps:
            for record in step.records:
                say(msgspec.json.encode({"at": step.at, "record": record}).decode())
        return 0
    for line in _story(loaded):
        say(line)
    return 0


@sessions.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@_session
@click.pass_context
def resume(context: click.Context, session: str) -> int:
    """Goes on with a session: without a prompt, with its unfinished run. All flags of `lastcall -p` may follow."""
    from lastcall.cli.args import parse  # noqa: PLC0415 -- only here
    from lastcall.cli.run import run_print  # noqa: PLC0415 -- only here

    return run_print(parse(["-p", "--resume", session, *context.args]), dict(os.environ))


@sessions.command()
@click.argument("named", metavar="SESSION...", nargs=-1)
@click.option(
    "--older-than", metavar="DAYS", type=click.FloatRange(min=0), help="All that were not written for so long."
)
def rm(named: tuple[str, ...], *, older_than: float | None) -> int:
    """Deletes sessions: those named, or (in every directory) those that are old. One that is in use stays."""
    if bool(named) == (older_than is not None):
        raise BadConfig("name the sessions, or say how old they have to be", hint="rm SESSION... or rm --older-than 30")
    store = _store()
    if older_than is None:
        files = [find(session) for session in named]
    else:
        before = time.time() - older_than * 86_400
        files = [file for file in store.of() if file.changed_at < before]
    for file in files:
        _demand_unused(file)
        store.remove(file)
        say(f"removed {file.session_id}")
    return 0


@sessions.command()
@_session
def export(session: str) -> int:
    """The session's journal on standard output: every whole line, as it is."""
    file = find(session)
    whole = load(file.path).whole_bytes
    with open(file.path, "rb") as journal:  # noqa: PTH123
        sys.stdout.flush()
        sys.stdout.buffer.write(journal.read(whole))
        sys.stdout.buffer.flush()
    return 0


def find(session: str) -> SessionFile:
    """The session of this id, or of the only one that begins so. Raises `BadConfig`."""
    found = _store().find_short(session)
    if found is None:
        raise BadConfig(f"there is no session {session}", hint="See `lastcall sessions list --all`.")
    return found


def _store() -> Sessions:
    return Sessions(os.environ.get("LASTCALL_STATE_DIR", ""))


def _demand_unused(file: SessionFile) -> None:
    """Raises `JournalLocked` while a run writes it; damage is no reason to keep it."""
    try:
        journal, _ = reopen_journal(file.path)
    except (JournalCorrupt, JournalTooNew):
        return
    journal.close()


def _ended(file: SessionFile) -> Outcome | str | None:
    """How the latest run ended; `None` for one that did not, a word for a journal that cannot be read."""
    try:
        records = load(file.path).records
    except (JournalCorrupt, JournalTooNew):
        return "unreadable"
    last = next((x for x in reversed(records) if isinstance(x, r.Ended | r.Started | r.Resumed)), None)
    if isinstance(last, r.Ended):
        return last.outcome
    return None if last is not None else "empty"


def _row(summary: SessionSummary, ended: Outcome | str | None) -> dict[str, Any]:
    state = ended if isinstance(ended, str) else "unfinished" if ended is None else outcome_name(ended)
    return {
        "session_id": summary.file.session_id,
        "state": state,
        "changed_at": summary.file.changed_at,
        "cwd": summary.cwd,
        "model": summary.model,
        "prompt": summary.prompt,
        "size_bytes": summary.file.size_bytes,
        "path": summary.file.path,
    }


def _story(loaded: Loaded) -> Iterator[str]:
    for step in loaded.steps:
        when = time.strftime("%H:%M:%S", time.localtime(step.at))
        for record in step.records:
            told = _told(record)
            if told:
                yield f"{when}  {told}"
    if loaded.torn_bytes:
        yield f"          (half a line of {loaded.torn_bytes} bytes at the end: a crash in the middle of a step)"


def _told(record: r.Record) -> str:  # noqa: C901, PLR0911, PLR0912 -- one line a record
    """What a person is told of a record; `""` for what says nothing by itself."""
    match record:
        case r.Opened():
            return f"opened by lastcall {record.version} ({record.profile}), model {record.model}, in {record.cwd}"
        case r.Started():
            return f"prompt    {_texts(record.blocks)}"
        case r.Resumed():
            return "resumed"
        case r.BlockSaid(block=ToolCall() as call):
            return f"call      {call.name} {_one_line(call.arguments.text)} [{call.call_id}]"
        case r.BlockSaid(block=TextBlock(text=text)):
            return f"says      {_one_line(text)}"
        case r.CallAnswered(result=result):
            return f"answer    {result.kind.value}: {_one_line(result.content)} [{result.call_id}]"
        case r.Attempted(attempt=attempt):
            return f"attempt   {attempt.n}: {attempt.verdict.value}"
        case r.AttemptRevised():
            return f"attempt   of {record.call_id}: {record.verdict.value}"
        case r.Attached(attachment=attachment):
            return f"object    {_one_line(attachment.text)}"
        case r.Nudged():
            return f"nudge     {record.kind.value}"
        case r.RetryNoted():
            return f"retry     {record.attempt} of {record.max_retries}: {_one_line(reason(record.failure))}"
        case r.FallbackNoted():
            return f"fallback  {record.from_model} -> {record.to_model} ({record.trigger})"
        case r.Compacted():
            return f"history   made shorter{', with a summary' if record.summarized else ''}"
        case r.Warned(warning=warning):
            return f"warning   {warning.message}"
        case r.Ended(outcome=outcome):
            return f"ended     {outcome_name(outcome)}: {_one_line(reason(outcome))}"
        case _:
            return ""


def _texts(blocks: tuple[Any, ...]) -> str:
    return _one_line(" ".join(b.text for b in blocks if isinstance(b, TextBlock)))


def _one_line(text: str, width: int = _WIDTH) -> str:
    """The beginning, with control characters (which terminals obey) escaped."""
    plain = " ".join(text.split())
    plain = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in plain[: width + 1])
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"
