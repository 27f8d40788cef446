"""Everything that a batch needs, opened and checked before anything is sent.

Must not go in here: flags (`cli.batch`), running (`cli.batch_run`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from lastcall.batches.bounds import Bounds
from lastcall.batches.pacing import ROWS_AT_ONCE, Pace
from lastcall.batches.plan import Plan, SchemaColumn, check_columns, make_plan
from lastcall.batches.provider_batch import ROWS_AT_ONCE as ROWS_IN_A_ROUND
from lastcall.batches.reading import STDIN, open_source
from lastcall.batches.records import MadeBy
from lastcall.batches.rows import Source
from lastcall.batches.template import PromptTemplate
from lastcall.cli.args import Args, parse
from lastcall.cli.batch_via import MAX_RETRIES as MAX_ROUND_RETRIES
from lastcall.cli.batch_via import PROVIDER_BATCH, demand_batch_api, demand_concurrency
from lastcall.cli.config import resolve
from lastcall.cli.output import Notes
from lastcall.cli.report import check_report
from lastcall.cli.stdin import Stdin
from lastcall.contract import Contract, compile_contract
from lastcall.contract.parse import parse_schema, schema_from_value
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.providers import Provider
from lastcall.providers.flow import FREE, Flow
from lastcall.runtime.config import RunConfig
from lastcall.runtime.session import open_provider

MAX_RETRIES: Final = 20
"""Of one request: a storm that lasts a while must not end rows; the pace is what protects the service."""


class BatchWish(Struct, frozen=True):
    """What the command line asks for. `flags` are those of single runs, as `lastcall -p` takes them."""

    input: str
    output: str
    prompt: str
    flags: list[str]
    schema_column: str | None = None
    input_format: str | None = None
    key: str | None = None
    retry: frozenset[str] = frozenset()
    force: bool = False
    concurrency: int | None = None
    via: str = "requests"
    max_failures: int | None = None
    report: str | None = None
    engine: str = "local"
    workers: str = "1:2"
    is_carried: bool = False
    """`prompt` is the template itself, whatever it begins with, and the files that were named are elsewhere."""
    as_json: bool = False
    quiet: bool = False


class Opened(Struct, frozen=True):
    """Everything that a sitting needs. `key` is the column that names rows, `rows_at_once` the most that run."""

    plan: Plan
    provider: Provider
    pace: Pace
    source: Source
    key: str | None
    bounds: Bounds
    rows_at_once: int


class Asking(Struct, frozen=True):
    """What is asked of every row, who answers, and the limits of the whole."""

    plan: Plan
    provider: Provider
    bounds: Bounds


def open_batch(wish: BatchWish, environment: Mapping[str, str], notes: Notes) -> Opened:
    """Raises `UsageError`."""
    pace, flow = _pace(wish)
    asking = open_asking(wish, environment, notes.say, flow)
    provider, plan = asking.provider, asking.plan
    if wish.via == PROVIDER_BATCH:
        demand_batch_api(provider)
    is_local = provider.deployment.provider == "local"
    if is_local and wish.concurrency is None:
        pace = Pace(1)  # one engine, one row at a time; it asks no flow
    if is_local and plan.config.model is None:
        notes.say("lastcall: no model is named and no provider configured: the embedded model answers.")
    stdin = sys.stdin.buffer if sys.stdin is not None and not sys.stdin.isatty() else None
    source = open_source(wish.input, format_=wish.input_format, stdin=stdin)
    key = wish.key or source.key_column
    check_columns(source, plan, key)
    return Opened(plan, provider, pace, source, key, asking.bounds, pace.ceiling)


def open_asking(wish: BatchWish, environment: Mapping[str, str], say: Callable[[str], None], flow: Flow) -> Asking:
    """What is asked of every row, and who answers; requests pass `flow`. Raises `UsageError`."""
    args = parse(["-p", *wish.flags])
    _demand_possible(wish, args)
    config = resolve(args, environment, Profile.NATIVE, Stdin(), say)
    bounds = Bounds(config.max_budget_usd, wish.max_failures, config.deadline_s, config.max_budget_tokens)
    config = _for_rows(config, wish.via)
    template = PromptTemplate(wish.prompt if wish.is_carried else _template_text(wish.prompt))
    contract = _contract(wish, args, config)
    for line in contract.warnings if isinstance(contract, Contract) else ():
        say(line)
    provider = open_provider(config, flow=flow, shares_prefix=True)
    return Asking(make_plan(template, contract, config, provider.deployment.model), provider, bounds)


def portable(wish: BatchWish, asking: Asking) -> BatchWish:
    """The same wish without files of this machine, for another one. The digests of the two may differ."""
    flags, contract = list(wish.flags), asking.plan.contract
    at = flags.index("--json-schema") + 1 if "--json-schema" in flags else None
    if at is not None and flags[at].startswith("@") and isinstance(contract, Contract):
        flags[at] = contract.schema.text
    prompt = _template_text(wish.prompt)
    return replace(wish, flags=flags, prompt=prompt, is_carried=True, report=None, input="", output="")


def _pace(wish: BatchWish) -> tuple[Pace, Flow]:
    """How many at once, and what requests pass; those of a batch API are parked, not sent."""
    if wish.via != PROVIDER_BATCH:
        pace = Pace(wish.concurrency or ROWS_AT_ONCE)
        return pace, pace
    most = wish.concurrency or ROWS_IN_A_ROUND
    return Pace(most, first=most), FREE


def _demand_possible(wish: BatchWish, args: Args) -> None:
    """Refuses what the command line alone shows to be impossible. Raises `BadConfig`."""
    if args.text("json_schema") == "-" and wish.input == STDIN:
        raise BadConfig("standard input holds the rows", hint="Give the schema as a file.", where="--json-schema")
    if (args.text("json_schema") is None) == (wish.schema_column is None):
        raise BadConfig("a batch needs a contract", hint="Give --json-schema or --schema-column, one of them.")
    if wish.output == STDIN:
        hint = "The output is the checkpoint too: name a file."
        raise BadConfig("records cannot go to standard output", hint=hint, where="--output")
    demand_concurrency(wish.concurrency, wish.via)
    if wish.report is not None:
        check_report(wish.report)
    for flag, place in (("--output", wish.output), ("--report", wish.report)):
        if place is not None and _is_same(wish.input, place):
            raise BadConfig("this is the input", hint="Name another file.", where=flag)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 -- names are text here
    except (OSError, ValueError):
        return False


def _for_rows(config: RunConfig, via: str) -> RunConfig:
    """The configuration of single rows: no tools, no journal, and the limits of the whole batch left to the batch."""
    return replace(
        config,
        tools="",
        persist=False,
        partial=False,
        max_budget_usd=None,
        max_budget_tokens=None,
        budget_words="",
        deadline_s=None,
        deadline_words="",
        max_retries=_retries(via) if config.max_retries is None else config.max_retries,
    )


def _retries(via: str) -> int:
    return MAX_ROUND_RETRIES if via == PROVIDER_BATCH else MAX_RETRIES


def _template_text(given: str) -> str:
    if not given.startswith("@"):
        return given
    path = given[1:]
    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123 -- as the other files of flags
            return file.read(1 << 22)
    except OSError as error:
        raise BadConfig(f"the template cannot be read: {error.strerror}", hint="Check the path.", where=path) from None
    except UnicodeDecodeError:
        raise BadConfig("the template is not UTF-8", hint="Save it as UTF-8.", where=path) from None


def _contract(wish: BatchWish, args: Args, config: RunConfig) -> Contract | SchemaColumn:
    if config.contract is not None:
        return config.contract
    formats, strict = not args.on("no_format"), args.on("strict_values")

    def compile_(given: Any) -> Contract:
        where = wish.schema_column or ""
        if isinstance(given, str):
            schema = parse_schema(given, profile=Profile.NATIVE, where=where)
        else:
            schema = schema_from_value(given, profile=Profile.NATIVE, where=where)
        return compile_contract(schema, profile=Profile.NATIVE, assert_formats=formats, strict_values=strict)

    return SchemaColumn(wish.schema_column or "", compile_)


def demand_same(wish: BatchWish, origins: Sequence[MadeBy], plan: Plan, where: str) -> None:
    """Ask, or refuse where nobody can be asked, when the records so far came from something else. Raises `BadConfig`."""
    changed = plan.made_by.changes_since(origins)
    if not changed or wish.force:
        return
    said = f"{' and '.join(changed)} changed since the records in the output were made"
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and wish.input != STDIN:
        import click  # noqa: PLC0415 -- loaded by the command already

        if click.confirm(f"lastcall: {said}. Go on with the rows that are missing?", err=True):
            return
    hint = "Name another output, or add --force to go on with the rows that are missing."
    raise BadConfig(said, hint=hint, where=where)
