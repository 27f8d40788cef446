"""`lastcall schema`: check, strict, explain, sample. Nothing is sent to any model.

A SCHEMA is what `--json-schema` takes (JSON text, `@file.json`, `@file.yaml`, `-`, `module:Type`) or a plain file name.

Must not go in here: what a schema means (`contract`), how one is found (`cli.schemas.schema_of`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import click
from msgspec.structs import asdict

from lastcall.cli.explain import enforcements, table
from lastcall.cli.say import say
from lastcall.cli.schemas import schema_of
from lastcall.cli.stdin import Stdin
from lastcall.contract import Contract, compile_contract
from lastcall.contract.json_text import JsonFault, read_json, write_json
from lastcall.contract.sample import sample
from lastcall.contract.wording import sentence
from lastcall.errors import BadConfig, UsageError
from lastcall.nouns.json import JsonValue
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import NotStrict

_DOES_NOT_FIT = 1
_INSTANCE_BYTES = 64 * 1024 * 1024
_RULES = ("anthropic", "openai", "reference", "grammar")


class _Source:
    """A schema on the command line, compiled."""

    def __init__(self, given: str, profile: str, *, formats: bool = True) -> None:
        self.profile = Profile(profile)
        self.stdin = Stdin()
        try:
            schema, rule = schema_of(_as_flag_value(given), Profile.NATIVE, self.stdin)
        except UsageError as error:
            if error.where == "--json-schema":
                error.where = "SCHEMA"
            raise
        rules = () if rule is None else (rule,)
        self.contract: Contract = compile_contract(schema, profile=self.profile, assert_formats=formats, rules=rules)


_FILE_NAME = re.compile(r"[^{}\[\]\"]+\.(json|ya?ml)")


def _as_flag_value(given: str) -> str:
    """What `--json-schema` would be given. Raises `BadConfig` for what looks like a file's name and is none."""
    if given.startswith(("@", "{")):
        return given
    if os.path.isfile(given):  # noqa: PTH113
        return f"@{given}"
    if _FILE_NAME.fullmatch(given):
        raise BadConfig("there is no such file", hint="Check the path.", where=given)
    return given


_profile = click.option(
    "--profile",
    type=click.Choice([profile.value for profile in Profile]),
    default="native",
    help="Whose rules: ours or the reference's.",
)
_as_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")


@click.group()
def schema() -> None:
    """Check, convert or explain a schema, or show an object that fits it."""


@schema.command()
@click.argument("source", metavar="SCHEMA")
@click.argument("instances", metavar="[FILE]...", nargs=-1)
@click.option("--no-format", is_flag=True, help="Take `format` as an annotation.")
@_profile
@_as_json
def check(source: str, instances: Sequence[str], profile: str, *, no_format: bool, as_json: bool) -> int:
    """Whether SCHEMA can be a contract, and whether the JSON in each FILE fits it.

    Exit code 0: yes; 1: some FILE does not fit; 2: SCHEMA cannot be used.
    """
    found = _Source(source, profile, formats=not no_format)
    contract = found.contract
    judged = {name: _judge(contract, name, found.stdin) for name in instances}
    if as_json:
        _print_json(
            {
                "digest": contract.digest,
                "dialect": contract.dialect,
                "wrapped": contract.wrapped,
                "warnings": list(contract.warnings),
                "instances": dict(judged),
            }
        )
    else:
        wrapped = ", its root wrapped on the wire" if contract.wrapped else ""
        say(f"The schema can be a contract: {contract.dialect}{wrapped}, digest {contract.digest[:16]}.")
        for warning in contract.warnings:
            say(f"  warning: {warning}")
        for name, problems in judged.items():
            say(f"{name}: {'fits' if not problems else 'does not fit'}")
            for problem in problems:
                say(f"  {problem}")
    return _DOES_NOT_FIT if any(judged.values()) else 0


def _judge(contract: Contract, name: str, stdin: Stdin) -> list[JsonValue]:
    text = stdin.read() if name == "-" else _read(name)
    read = read_json(text, numbers="exact", max_bytes=_INSTANCE_BYTES)
    if isinstance(read, JsonFault):
        return [f"no JSON: {read.message} (line {read.line}, column {read.column})"]
    rejected = contract.problems_of(read.value)
    if rejected is None:
        return []
    told: list[JsonValue] = [sentence(problem) for problem in rejected.problems]
    return told if rejected.total == len(told) else [*told, f"+{rejected.total - len(told)} more"]


def _read(name: str) -> str:
    try:
        with open(name, "rb") as file:  # noqa: PTH123
            return file.read(_INSTANCE_BYTES + 1).decode("utf-8-sig")
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the file cannot be read: {why}", where=name) from error
    except UnicodeDecodeError as error:
        raise BadConfig(f"the file is not UTF-8 (byte {error.start})", hint="Save it as UTF-8.", where=name) from None


@schema.command()
@click.argument("source", metavar="SCHEMA")
@click.option("--rules", type=click.Choice(_RULES), default="anthropic", help="Whose rules for strict schemas.")
def strict(source: str, rules: str) -> int:
    """The closed form of SCHEMA that a service may constrain its decoder with, as JSON.

    It only helps the decoder: the check is always made here, against SCHEMA itself. Exit code 1 and the reason on stderr
    where there is no such form.
    """
    found = _Source(source, Profile.NATIVE).contract.strict(rules)
    if isinstance(found, NotStrict):
        place = f" at {found.path}" if found.path else ""
        click.echo(f"lastcall: no strict form by the rules of {rules}: {found.reason}{place}", err=True)
        return _DOES_NOT_FIT
    say(found.text)
    return 0


@schema.command()
@click.argument("source", metavar="SCHEMA")
@click.option("--rules", type=click.Choice(_RULES), default="anthropic", help="Whose rules for strict schemas.")
@click.option("--no-format", is_flag=True, help="Take `format` as an annotation.")
@_as_json
def explain(source: str, rules: str, *, no_format: bool, as_json: bool) -> int:
    """What enforces each keyword of SCHEMA: the check here, the service's decoder too, or nothing."""
    contract = _Source(source, Profile.NATIVE, formats=not no_format).contract
    found = enforcements(contract, rules=rules, assert_formats=not no_format)
    if as_json:
        _print_json([asdict(enforcement) for enforcement in found])
    else:
        say("\n".join(table(found)))
    return 0


@schema.command("sample")
@click.argument("source", metavar="SCHEMA")
def show_sample(source: str) -> int:
    """A small object that fits SCHEMA, as JSON: always the same for the same schema."""
    say(write_json(sample(_Source(source, Profile.NATIVE).contract.schema), numbers="exact"))
    return 0


def _print_json(value: JsonValue) -> None:
    say(write_json(value, numbers="exact"))
