"""`lastcall probe`: how a model behaves against each kind of constraint; `show` and `compare` read what it wrote.

Must not go in here: trials, counting, pages (`lastcall.probe`), what the tables look like (`cli.probe_tables`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Final

import anyio
import click
import msgspec
from msgspec.structs import replace

from lastcall.cli.probe_tables import case_lines, pair_lines, tally_lines, trial_line
from lastcall.cli.report import check_report, write_file
from lastcall.cli.say import say
from lastcall.cli.streams import say as tell
from lastcall.nouns.result import LASTING, OURS
from lastcall.probe.cases import Suite
from lastcall.probe.comparing import compare
from lastcall.probe.page import comparison_page, probe_page
from lastcall.probe.running import Bounds, Sat, Stop, sit
from lastcall.probe.sheet import OpenSheet, Plan, Sheet, open_sheet, read_sheet
from lastcall.probe.suites import find_suite, only
from lastcall.probe.tally import count
from lastcall.probe.trials import Trial
from lastcall.providers import Provider
from lastcall.providers.choose import ModelSettings, choose_provider, default_model
from lastcall.runtime.config import RunConfig
from lastcall.runtime.loops import loop_options
from lastcall.version import VERSION

_LIMIT: Final = 14
_INTERRUPTED: Final = 130
_LOCAL_TEMPERATURE: Final = 0.7
"""The embedded model answers at 0 otherwise, where all rounds would be alike."""
_AT_ONCE: Final = 4
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}

_as_json = click.option("--json", "as_json", is_flag=True, help="The counts as JSON on stdout, instead of the table.")
_html = click.option("--html", metavar="FILE", help="A page with pictures, all in one file.")


class _Time(click.ParamType[float]):
    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = _TIME.fullmatch(str(value).strip())
        seconds = float(match.group(1)) * _SECONDS[match.group(2)] if match else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is no time such as 90s, 5m or 1h", param, ctx)
        return seconds


class _Dollars(click.ParamType[Decimal]):
    name = "amount"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            amount = Decimal(0)
        if not amount.is_finite() or amount <= 0:
            self.fail(f"{value!r} is no amount of US dollars such as 0.50", param, ctx)
        return amount


@click.group(invoke_without_command=True)
@click.option("--model", metavar="MODEL", help="The model, as for `lastcall -p`.")
@click.option("--suite", default="keywords", show_default=True, help="keywords, seven-constraints, or a suite file.")
@click.option("--families", metavar="A,B", help="Only these kinds of constraints.")
@click.option(
    "--trials", metavar="N", type=click.IntRange(1, 1000), help="How often each case is tried (the suite's: 3)."
)
@click.option("--output", metavar="FILE", help="Where trials are kept; the same command goes on from there.")
@_html
@_as_json
@click.option("--max-budget-usd", type=_Dollars(), help="US dollars for the whole probe.")
@click.option("--deadline", type=_Time(), help="Time for this sitting: 90s, 5m, 1h.")
@click.option(
    "--max-attempts", default=5, show_default=True, type=click.IntRange(1, 100), help="Finishing calls a trial."
)
@click.option("--no-decline", is_flag=True, help="Do not offer the decline tool.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="The service's own; 0.7 for an embedded model.")
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(0, 2**31 - 2000), help="The first round's seed."
)
@click.option("--concurrency", type=click.IntRange(1, 64), help="Trials at once (4; 1 for an embedded model).")
@click.option("--list", "lists", is_flag=True, help="Show the cases; ask nothing.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def probe(  # noqa: PLR0913 -- the command's flags
    context: click.Context,
    *,
    model: str | None,
    suite: str,
    families: str | None,
    trials: int | None,
    output: str | None,
    html: str | None,
    as_json: bool,
    max_budget_usd: Decimal | None,
    deadline: float | None,
    max_attempts: int,
    no_decline: bool,
    temperature: float | None,
    seed: int,
    concurrency: int | None,
    lists: bool,
    quiet: bool,
) -> int:
    """How a model behaves against each kind of constraint: real runs, counted by how they ended.

    Exit code 0: all trials are made; 14: the budget or the deadline came first; 15, 16: the service failed.
    """
    if context.invoked_subcommand is not None:
        return 0
    chosen = find_suite(suite)
    if families:
        names = [name.strip() for name in families.split(",") if name.strip()]
        chosen = replace(only(chosen, names), name=f"{chosen.name} ({', '.join(names)})")
    if lists:
        say("\n".join(case_lines(chosen.cases)))
        return 0
    _check_page(html)
    environment = dict(os.environ)
    named = model or environment.get("LASTCALL_MODEL") or default_model(environment)
    embedded = named.partition(":")[0] == "local"
    plan = Plan(
        lastcall=VERSION,
        suite=chosen.name,
        model=named,
        cases=chosen.cases,
        trials=trials or chosen.trials,
        seed=seed,
        temperature=_LOCAL_TEMPERATURE if temperature is None and embedded else temperature,
        max_attempts=max_attempts,
        declines=not no_decline,
    )
    bounds = Bounds(
        max_budget_usd=max_budget_usd, deadline_s=deadline, concurrency=concurrency or (1 if embedded else _AT_ONCE)
    )
    sheet = open_sheet(output or _file_name(chosen, named), plan)
    try:
        return _sit(sheet, plan, bounds, environment, html=html, as_json=as_json, quiet=quiet)
    finally:
        sheet.close()


def _sit(
    sheet: OpenSheet,
    plan: Plan,
    bounds: Bounds,
    environment: Mapping[str, str],
    *,
    html: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    options = loop_options(environment)
    notice = (lambda _line: None) if quiet else tell
    before = len(sheet.sheet.counted)
    notice(f"lastcall: trials are kept in {sheet.path}" + (f"; {before} are there already" if before else ""))

    def shown(trial: Trial, done: int, of: int) -> None:
        notice(trial_line(trial, done, of))

    try:
        sat = anyio.run(
            partial(
                sit,
                sheet,
                _run_config(plan, environment),
                partial(_provider, plan, environment),
                bounds=bounds,
                trials=plan.trials,
                tell=shown,
            ),
            backend_options=options,
        )
    except KeyboardInterrupt:
        tell(f"lastcall: interrupted; the same command goes on from {sheet.path}")
        return _INTERRUPTED
    _present(sheet.sheet, html=html, as_json=as_json, stop=sat.stop)
    return _told(sat, bounds, sheet.path)


def _run_config(plan: Plan, environment: Mapping[str, str]) -> RunConfig:
    return RunConfig(
        model=plan.model,
        environment=environment,
        partial=False,
        tools="",
        persist=False,
        max_attempts=plan.max_attempts,
        declines=plan.declines,
        notice=tell,
    )


def _provider(plan: Plan, environment: Mapping[str, str], seed: int) -> Provider:
    settings = ModelSettings(
        temperature=plan.temperature, seed=seed, progress=False, agent=f"lastcall/{VERSION}", notice=tell
    )
    return choose_provider(plan.model, environment, settings)


def _told(sat: Sat, bounds: Bounds, path: str) -> int:
    """What people hear of the end, and the exit code."""
    if sat.unpriced and bounds.max_budget_usd is not None:
        tell("lastcall: the price of some replies is not known, so the budget could not count them")
    match sat.stop:
        case Stop.DONE:
            return 0
        case Stop.BUDGET | Stop.DEADLINE:
            tell(f"lastcall: the {sat.stop.value} came first; the same command goes on from {path}")
            return _LIMIT
        case Stop.SERVICE:
            failure = sat.last.failure if sat.last is not None else None
            tell(f"lastcall: the service fails: {sat.last.reason if sat.last is not None else ''}")
            return 70 if failure in OURS else 15 if failure in LASTING else 16


def _present(sheet: Sheet, *, html: str | None, as_json: bool, stop: Stop | None = None) -> None:
    tally = count(sheet)
    if html is not None:
        write_file(html, probe_page(sheet).encode("utf-8", "replace"))
    if as_json:
        facts = {"model": sheet.plan.model, "suite": sheet.plan.suite, "stop": stop}
        say(msgspec.json.encode({**facts, **msgspec.to_builtins(tally)}).decode())
    else:
        say("\n".join(tally_lines(sheet.plan, tally)))


def _check_page(html: str | None) -> None:
    if html is None:
        return
    check_report(html, flag="--html")


def _file_name(suite: Suite, model: str) -> str:
    """`seven-constraints-local.probe.jsonl`."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", f"{suite.name}-{model}").strip("-.")
    return f"{words[:100]}.probe.jsonl"


@probe.command()
@click.argument("file")
@_html
@_as_json
def show(file: str, *, html: str | None, as_json: bool) -> int:
    """What a probe came to so far."""
    _check_page(html)
    _present(read_sheet(file), html=html, as_json=as_json)
    return 0


@probe.command("compare")
@click.argument("a")
@click.argument("b")
@_html
@_as_json
def compare_probes(a: str, b: str, *, html: str | None, as_json: bool) -> int:
    """Two probes beside each other: another model, another temperature, another version."""
    _check_page(html)
    left, right = read_sheet(a), read_sheet(b)
    found = compare(left, right)
    if html is not None:
        write_file(html, comparison_page(found, left.plan, right.plan).encode("utf-8", "replace"))
    if as_json:
        facts = {"a": left.plan.model, "b": right.plan.model}
        say(msgspec.json.encode({**facts, **msgspec.to_builtins(found)}).decode())
    else:
        say("\n".join(pair_lines(left.plan, right.plan, found)))
    return 0
