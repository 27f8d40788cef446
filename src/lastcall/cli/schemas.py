"""The contract that the flags ask for: `--json-schema` and what it may mean, rules, checks.

Must not go in here: what a schema means (`contract`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lastcall.cli.args import Args
from lastcall.cli.here import working_directory
from lastcall.cli.limits import seconds
from lastcall.cli.rules import checks_of, rules_of
from lastcall.cli.stdin import Stdin
from lastcall.contract import Contract, compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.errors import BadConfig, BadSchema
from lastcall.nouns.profile import Profile, Reference

if TYPE_CHECKING:
    from lastcall.contract.rules import TypeRule
    from lastcall.nouns.schema import OutputSchema


def contract_of(
    args: Args, profile: Profile, reference: Reference, stdin: Stdin, environment: Mapping[str, str]
) -> Contract | None:
    """The contract; `None` where none is asked for. Raises `UsageError`."""
    given = args.text("json_schema")
    expressions, commands = args.words("rule") or (), args.words("check") or ()
    if given is None or (not given and profile is Profile.COMPAT):
        if expressions or commands:
            flag = "--rule" if expressions else "--check"
            raise BadConfig("there is no object to judge", hint="Add --json-schema.", where=flag)
        return None
    schema, rule = schema_of(given, profile, stdin)
    return compile_contract(
        schema,
        profile=profile,
        assert_formats=not args.on("no_format"),
        strict_values=args.on("strict_values"),
        reference=reference,
        rules=(*(() if rule is None else (rule,)), *rules_of(expressions, schema, profile)),
        checks=checks_of(
            commands,
            profile,
            cwd=working_directory(),
            environment=environment,
            timeout_s=seconds(args.text("check_timeout") or "60s", "check_timeout"),
        ),
        loader=None if rule is None else rule.load,
    )


def schema_of(given: str, profile: Profile, stdin: Stdin) -> tuple[OutputSchema, TypeRule | None]:
    """What `--json-schema` means: text, `@file`, `-`, or `module:Type` (its validators as a rule)."""
    if profile is Profile.COMPAT:
        return parse_schema(given, profile=profile), None
    if given == "-":
        return parse_schema(stdin.read(), profile=profile, where="stdin"), None
    if given.startswith("@"):
        return _schema_file(given[1:], profile), None
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", given):
        from lastcall.contract.from_types import rule_of  # noqa: PLC0415 -- optional: Pydantic

        here = working_directory()
        if "" not in sys.path and here not in sys.path:
            sys.path.insert(0, here)  # as `python -m` finds the caller's modules
        return rule_of(given)
    if os.path.isfile(given):  # noqa: PTH113
        raise BadSchema("this is the name of a file, not a schema", hint=f"Write @{given}.", where="--json-schema")
    return parse_schema(given, profile=profile, where="--json-schema"), None


def _schema_file(path: str, profile: Profile) -> OutputSchema:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            raw = file.read(8 * 1024 * 1024)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the schema file cannot be read: {why}", hint="Check the path.", where=path) from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadSchema("the schema file is UTF-16", hint="Save it as UTF-8.", where=path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSchema(
            f"the schema file is not UTF-8 (byte {error.start})", hint="Save it as UTF-8.", where=path
        ) from None
    if path.endswith((".yaml", ".yml")):
        return _schema_yaml(text, path, profile)
    return parse_schema(text, profile=profile, where=path)


def _schema_yaml(text: str, path: str, profile: Profile) -> OutputSchema:
    from lastcall.cli.yaml_schema import read_yaml  # noqa: PLC0415 -- optional: PyYAML

    return read_yaml(text, path, profile)
