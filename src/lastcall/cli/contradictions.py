"""Flags that cannot all be meant: refused by name, natively, before anything is read.

The reference takes the last of two values and leaves out what does not go together; so does compat.

Must not go in here: values that are wrong by themselves (`cli.args`, `cli.limits`).
"""

from __future__ import annotations

from typing import Final

from lastcall.cli.args import Args
from lastcall.errors import BadConfig

_EXCLUSIVE: Final = (
    ("--decline", "--no-decline"),
    ("--resume", "--continue"),
    ("--resume", "--no-session-persistence"),
    ("--continue", "--no-session-persistence"),
    ("--quiet", "--verbose"),
    ("--quiet", "--explain"),
    ("--compact-after-turns", "--no-compact"),
    ("--bare", "--setting-sources"),
    ("--dangerously-skip-permissions", "--permission-mode"),
    ("--redact", "--include-partial-messages"),
)
"""Pairs of which one undoes the other."""

_NEEDS: Final = (
    ("--fork-session", ("--resume", "--continue")),
    ("--resume-session-at", ("--resume", "--continue")),
    ("--check-timeout", ("--check",)),
)
"""Flags that mean nothing without one of these."""

_STREAMS: Final = ("--include-partial-messages", "--include-hook-events", "--replay-user-messages")
"""Flags about frames that only a stream has."""


def refuse_contradictions(args: Args) -> None:
    """Raises `BadConfig` for the first of them."""
    for name in args.twice:
        raise BadConfig(f"{name} is given twice with different values", hint="Keep one of them.")
    for one, other in _EXCLUSIVE:
        if _given(args, one) and _given(args, other):
            raise BadConfig(f"{one} and {other} contradict each other", hint="Leave one of them away.")
    for name, others in _NEEDS:
        if _given(args, name) and not any(_given(args, other) for other in others):
            raise BadConfig(
                f"{name} means nothing without {' or '.join(others)}", hint=f"Add one, or leave {name} away."
            )
    for name in _STREAMS:
        if _given(args, name) and args.text("output_format") != "stream-json":
            raise BadConfig(
                f"{name} means nothing without --output-format stream-json", hint=f"Add it, or leave {name} away."
            )
    if args.text("input_format") == "stream-json":
        _demand_free_stdin(args)


def _demand_free_stdin(args: Args) -> None:
    if args.text("output_format") != "stream-json":
        raise BadConfig("--input-format stream-json needs --output-format stream-json", hint="Add it.")
    if args.text("json_schema") == "-":
        raise BadConfig(
            "--json-schema - and --input-format stream-json both read stdin", hint="Write the schema to a file."
        )


def _given(args: Args, name: str) -> bool:
    return name.removeprefix("--").replace("-", "_") in args.values
