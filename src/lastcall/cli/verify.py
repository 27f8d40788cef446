"""`lastcall verify`: an envelope checked again, offline: its object, its digests, and what the journal recorded.

Must not go in here: the checking (`runtime.verifying`).
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import msgspec

from lastcall.cli.rules import rules_of
from lastcall.cli.say import say
from lastcall.cli.schemas import schema_of
from lastcall.cli.stdin import Stdin
from lastcall.contract import Contract, compile_contract
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.contract.parse import parse_schema
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.runtime.verifying import Finding, recorded_contract, verify

_DIFFERS = 1
_MARKS = {True: "ok     ", False: "FAILED ", None: "skipped"}
_MOST_BYTES = 1 << 28


@click.command("verify")
@click.argument("envelope")
@click.option("--json-schema", "given", metavar="SCHEMA", help="The contract; the journal's if left out.")
@click.option("--journal", metavar="FILE", help="The session's journal.")
@click.option("--rule", "rules", multiple=True, metavar="EXPR", help="A rule in CEL that the object has to pass too.")
@click.option("--no-format", is_flag=True, help="Take `format` as an annotation, not as a check.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def verify_envelope(
    envelope: str, *, given: str | None, journal: str | None, rules: tuple[str, ...], no_format: bool, as_json: bool
) -> int:
    """Check an envelope (a file of --output-format json or --report, or - for stdin) against its receipt.

    Exit code 0 if nothing failed, 1 otherwise. Checks that are commands are not run again.
    """
    frame = _frame(sys.stdin.buffer.read(_MOST_BYTES) if envelope == "-" else _read(envelope))
    content = _read(journal) if journal is not None else None
    findings = verify(frame, _contract(given, content, rules, formats=not no_format), content)
    if as_json:
        say(msgspec.json.encode([{"name": f.name, "passed": f.passed, "why": f.why} for f in findings]).decode())
    else:
        for finding in findings:
            say(_line(finding))
    return _DIFFERS if any(f.passed is False for f in findings) else 0


def _line(finding: Finding) -> str:
    return f"{_MARKS[finding.passed]} {finding.name}: {finding.why}"


def _contract(given: str | None, journal: bytes | None, rules: tuple[str, ...], *, formats: bool) -> Contract | None:
    if given is not None:
        schema, rule = schema_of(given, Profile.NATIVE, Stdin())
    else:
        text, expressions = recorded_contract(journal) if journal is not None else ("", ())
        if not text:
            return None
        schema, rule = parse_schema(text, profile=Profile.NATIVE), None
        rules = rules or expressions
    beside = (*(() if rule is None else (rule,)), *rules_of(rules, schema, Profile.NATIVE))
    return compile_contract(schema, assert_formats=formats, rules=beside)


def _frame(content: bytes) -> dict[str, Any]:
    """The result frame: the whole text, the last line of a stream, or the last of an array of frames."""
    text = content.decode("utf-8-sig", "replace").strip()
    for candidate in (text, text.rpartition("\n")[2]):
        read = read_json(candidate, numbers="exact", max_bytes=_MOST_BYTES, max_depth=2_000)
        value = None if isinstance(read, JsonFault) else read.value
        frame = value[-1] if isinstance(value, list) and value else value
        if isinstance(frame, dict) and frame.get("type") == "result":
            return frame
    raise BadConfig("this is no envelope: there is no result frame in it", hint="Use --output-format json or --report.")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(_MOST_BYTES)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the file cannot be read: {why}", hint="Check the path.", where=path) from None
