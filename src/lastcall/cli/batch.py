"""`lastcall batch`: the command line of a batch.

Must not go in here: what a batch does (`lastcall.batches`), opening and running one (`cli.batch_open`,
`cli.batch_run`).
"""

from __future__ import annotations

import os
from typing import Any, Final

import click

from lastcall.cli.batch_open import BatchWish
from lastcall.cli.batch_run import run_batch
from lastcall.cli.batch_via import VIAS

ENGINES: Final = ("local", "ray")
FORMATS: Final = ("jsonl", "csv", "tsv", "parquet", "folder")
RETRIABLE: Final = ("declined", "gave_up", "out_of_attempts", "retracted", "stopped", "failed", "answered")
_FORWARDED: Final = (
    "json_schema",
    "rule",
    "check",
    "check_timeout",
    "no_format",
    "strict_values",
    "no_decline",
    "salvage",
    "max_attempts",
    "max_turns",
    "max_repeats",
    "max_budget_usd",
    "max_budget_tokens",
    "deadline",
    "model",
    "fallback_model",
    "channel",
    "effort",
    "max_thinking_tokens",
    "system_prompt",
    "redact",
)
"""Flags that mean what they mean to `lastcall -p` (`cli.flags`); budgets and deadline are the whole batch's here."""


@click.command("batch")
@click.argument("input", metavar="INPUT")
@click.option("-o", "--output", required=True, metavar="OUTPUT", help="Where the records go; also the checkpoint.")
@click.option("--prompt", required=True, metavar="TEMPLATE", help="Jinja2 over the row's columns, or @FILE.")
@click.option("--json-schema", metavar="SCHEMA", help="The contract, as for lastcall -p.")
@click.option("--schema-column", metavar="COLUMN", help="Each row brings its contract in this column instead.")
@click.option("--rule", multiple=True, metavar="EXPR", help="A rule beyond the schema, in CEL; may be repeated.")
@click.option("--check", multiple=True, metavar="COMMAND", help="A command that gets the object; may be repeated.")
@click.option("--check-timeout", metavar="TIME", help="The longest that a --check may take (default 60s).")
@click.option("--no-format", is_flag=True, help="Take `format` as an annotation, not as a check.")
@click.option("--strict-values", is_flag=True, help="Take warnings about suspicious values as problems.")
@click.option("--no-decline", is_flag=True, help="Do not offer the decline tool.")
@click.option("--salvage", is_flag=True, help="Take an object that stands in prose, if it passes.")
@click.option("--system-prompt", metavar="PROMPT", help="The system prompt, the same for all rows.")
@click.option("--model", metavar="MODEL", help="As for lastcall -p.")
@click.option("--fallback-model", metavar="MODELS", help="Models that take over when the first is unavailable.")
@click.option("--channel", metavar="CHANNEL", help="auto, tool or native, as for lastcall -p.")
@click.option("--effort", metavar="LEVEL", help="How much the model thinks.")
@click.option("--max-thinking-tokens", metavar="N", help="Budget of extended thinking; 0 turns it off.")
@click.option("--max-attempts", metavar="N", help="Finishing calls of a row before it ends (default 5).")
@click.option("--max-turns", metavar="N", help="Replies of the model to a row before it ends.")
@click.option("--max-repeats", metavar="N", help="Replies in a row that only repeat earlier calls, as for lastcall -p.")
@click.option(
    "--redact",
    multiple=True,
    is_flag=False,
    flag_value="",
    metavar="[PATTERN]",
    help="Keep secrets of known formats (and what matches) out of all but the object; may be repeated.",
)
@click.option("--input-format", type=click.Choice(FORMATS), help="What INPUT holds, if its name does not say.")
@click.option("--key", metavar="COLUMN", help="The column that names a row; else its content does.")
@click.option("--retry", metavar="OUTCOMES", help=f"Do rows again that ended so: {','.join(RETRIABLE[:-1])}.")
@click.option("--force", is_flag=True, help="Go on although prompt, contract or model are others than before.")
@click.option("--concurrency", type=click.IntRange(1, 50_000), help="The most requests at once (default 64; local: 1).")
@click.option("--via", type=click.Choice(VIAS), default=VIAS[0], help="One by one, or the service's batch API.")
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], help="This process, or a cluster with Ray.")
@click.option("--workers", default="1:2", metavar="N", help="With --engine ray: so many workers, or LEAST:MOST.")
@click.option("--max-budget-usd", metavar="AMOUNT", help="US dollars for the whole batch, earlier sittings included.")
@click.option("--max-budget-tokens", metavar="N", help="Tokens for the whole batch, earlier sittings included.")
@click.option("--max-failures", type=click.IntRange(min=1), help="Stop when so many rows have failed.")
@click.option("--deadline", metavar="TIME", help="Stop after this time: 90s, 5m, 1h.")
@click.option("--report", metavar="FILE", help="A page with charts about all records, written at the end.")
@click.option("--json", "as_json", is_flag=True, help="The summary as one JSON object on standard output.")
@click.option("--quiet", "-q", is_flag=True, help="Nothing on stderr but errors.")
def batch(**given: Any) -> int:
    """One prompt and one contract for every row of INPUT; one record a row in OUTPUT.

    INPUT is a .jsonl, .csv, .tsv or .parquet file, a folder of text files, or - for standard input. OUTPUT is JSON Lines,
    or Parquet if its name ends in .parquet. Run the same command again to go on with what is missing.

    Exit codes: 0 every row has an object or was declined, 1 every row has a record but some failed, 2 usage, 14 a limit
    or the disk ended it, 15 the service refuses every row, 130 and 143 interrupted and terminated.
    """
    wish = BatchWish(
        given["input"],
        given["output"],
        given["prompt"],
        flags=_words(given),
        schema_column=given["schema_column"],
        input_format=given["input_format"],
        key=given["key"],
        retry=_outcomes(given["retry"]),
        force=given["force"],
        concurrency=given["concurrency"],
        via=given["via"],
        engine=given["engine"],
        workers=given["workers"],
        max_failures=given["max_failures"],
        report=given["report"],
        as_json=given["as_json"],
        quiet=given["quiet"],
    )
    if wish.engine == "ray":
        from lastcall.cli.batch_ray import run_ray_batch  # noqa: PLC0415 -- an extra, when asked for

        return run_ray_batch(wish, dict(os.environ))
    return run_batch(wish, dict(os.environ))


def _words(given: dict[str, Any]) -> list[str]:
    """The flags of single runs as `lastcall -p` takes them."""
    words: list[str] = []
    for key in _FORWARDED:
        flag, value = f"--{key.replace('_', '-')}", given[key]
        if value is True:
            words.append(flag)
        elif isinstance(value, tuple):
            words += [word for item in value for word in (flag, item) if word]
        elif isinstance(value, str):
            words += [flag, value]
    return words


def _outcomes(given: str | None) -> frozenset[str]:
    """The outcomes of `--retry`."""
    named = frozenset(word.strip() for word in (given or "").split(",") if word.strip())
    unknown = sorted(named - set(RETRIABLE))
    if unknown:
        raise click.BadParameter(
            f"there is no outcome {unknown[0]!r}; there are: {', '.join(RETRIABLE)}", param_hint="--retry"
        )
    return named
