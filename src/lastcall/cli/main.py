"""The command: argv in, exit code out.

`lastcall -p` is the run; the other words are subcommands, loaded only when named. On every path after the flags are
understood the machine formats get their envelope, whatever went wrong.

Must not go in here: rules of a run, parsing of flags (`cli.args`), reading of files (`cli.config`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from lastcall.cli.args import BadFlag, help_text, parse
from lastcall.cli.streams import say, show
from lastcall.cli.subcommands import SUBCOMMANDS, run_subcommand
from lastcall.errors import UsageError
from lastcall.version import VERSION


def main(argv: list[str] | None = None) -> int:
    """The exit code for this command line."""
    words = sys.argv[1:] if argv is None else argv
    environment = dict(os.environ)
    if words and words[0] in SUBCOMMANDS:
        return run_subcommand(words[0], words[1:])
    if not words or words[0] in ("-h", "--help", "help"):
        _print(help_text(VERSION, {name: words for name, (_, words) in SUBCOMMANDS.items()}))
        return 0
    if words[0] in ("-v", "--version"):
        _print(f"{VERSION} (lastcall)")
        return 0
    return _run(words, environment)


def _run(words: list[str], environment: Mapping[str, str]) -> int:
    try:
        args = parse(words, tolerant="CLAUDE_CODE_ENTRYPOINT" in environment)
        if args.on("help"):
            _print(help_text(VERSION, {name: about for name, (_, about) in SUBCOMMANDS.items()}))
            return 0
    except BadFlag as error:
        return refuse_flags(error, environment)
    from lastcall.cli.run import run_print  # noqa: PLC0415 -- help and refusals need none of it

    return run_print(args, environment)


def refuse_flags(error: UsageError, environment: Mapping[str, str]) -> int:
    """Say why the command line cannot be parsed; stdout stays empty."""
    compat = environment.get("LASTCALL_PROFILE", "").startswith("compat")
    prefix = "error: " if compat else "lastcall: "
    say(f"{prefix}{error.message}")
    return 1 if compat else 2


def _print(text: str) -> None:
    show(text)
