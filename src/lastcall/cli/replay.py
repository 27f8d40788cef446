"""`lastcall replay`: a recorded session against today's contract, offline.

Must not go in here: the replaying (`runtime.replay`).
"""

from __future__ import annotations

from typing import Any

import click
import msgspec

from lastcall.cli.rules import rules_of
from lastcall.cli.say import say
from lastcall.cli.schemas import schema_of
from lastcall.cli.sessions import find
from lastcall.cli.stdin import Stdin
from lastcall.contract import Contract, compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.core import records as r
from lastcall.errors import BadConfig
from lastcall.journal.load import load
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Outcome, outcome_name
from lastcall.runtime.config import RunConfig
from lastcall.runtime.replay import Replayed, replay
from lastcall.runtime.session import policy_of

_DIFFERS = 1


@click.command("replay")
@click.argument("session")
@click.option(
    "--json-schema", "given", metavar="SCHEMA", help="The contract to judge by; the recorded one if left out."
)
@click.option(
    "--max-attempts", default=5, show_default=True, type=click.IntRange(min=1), help="Finishing calls a run may make."
)
@click.option("--no-format", is_flag=True, help="Take `format` as an annotation, not as a check.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def replay_session(session: str, *, given: str | None, max_attempts: int, no_format: bool, as_json: bool) -> int:
    """What would become of a recorded session today. Nothing is sent and no tool is run.

    Exit code 0 if every run would end in the same way, 1 otherwise.
    """
    records = load(find(session).path).records
    opened = next((x for x in reversed(records) if isinstance(x, r.Opened)), None)
    if opened is None:
        raise BadConfig("the session does not say how it was begun", hint="Replay another one.")
    profile = Profile(opened.profile)
    contract = _contract(opened, given, profile, formats=not no_format)
    policy = policy_of(RunConfig(profile=profile, contract=contract, max_attempts=max_attempts))
    runs = replay(records, contract, policy)
    if as_json:
        say(msgspec.json.encode([_value(run) for run in runs]).decode())
    else:
        lost = [name for name in opened.rules if name not in opened.expressions]
        if given is None and lost:
            say(f"note: the rules {', '.join(lost)} cannot be made again of the journal and were not applied")
        for run in runs:
            for line in _lines(run):
                say(line)
    return 0 if all(run.same for run in runs) else _DIFFERS


def _contract(opened: r.Opened, given: str | None, profile: Profile, *, formats: bool) -> Contract | None:
    if given is None and not opened.schema_text:
        return None
    schema, rule = parse_schema(opened.schema_text, profile=profile), None
    expressions = opened.expressions
    if given is not None:
        (schema, rule), expressions = schema_of(given, profile, Stdin()), ()
    return compile_contract(
        schema,
        profile=profile,
        assert_formats=formats,
        rules=(*(() if rule is None else (rule,)), *rules_of(expressions, schema, profile)),
        loader=None if rule is None else rule.load,
    )


def _lines(run: Replayed) -> list[str]:
    before, now = _name(run.before), _name(run.now)
    if run.same:
        return [f"run {run.number}: the same: {now}"]
    what = f"was {before}; {run.unknown}" if run.unknown else f"was {before}, would be {now}"
    lines = [f"run {run.number}: {what}"]
    for old, new in zip(run.attempts_before, run.attempts_now, strict=False):
        if old.verdict is not new.verdict:
            lines.append(f"  attempt {new.n}: was {old.verdict.value}, would be {new.verdict.value}")
            lines += [f"    {problem.path or '/'}: {problem.message}" for problem in new.problems[:10]]
    return lines


def _value(run: Replayed) -> dict[str, Any]:
    return {
        "run": run.number,
        "same": run.same,
        "before": _name(run.before),
        "now": None if run.now is None else _name(run.now),
        "unknown": run.unknown,
        "attempts": [
            {
                "n": new.n,
                "now": new.verdict.value,
                "problems": [{"path": p.path, "keyword": p.keyword, "message": p.message} for p in new.problems],
            }
            for new in run.attempts_now
        ],
    }


def _name(outcome: Outcome | None) -> str:
    return "unfinished" if outcome is None else outcome_name(outcome)
