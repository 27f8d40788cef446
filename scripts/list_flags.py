"""Writes docs/flags.md from the table of flags: `python scripts/list_flags.py`."""

from __future__ import annotations

from pathlib import Path

from lastcall.cli.flags import FLAGS, Flag
from lastcall.cli.subcommands import SUBCOMMANDS

PAGE = Path(__file__).parents[1] / "docs" / "flags.md"
HEAD = """# Flags and commands

Made from the command's own table by `scripts/list_flags.py`; `lastcall --help` says the same. Flags marked with * are
lastcall's own, the others mean what they mean to the reference.
"""


def row(flag: Flag) -> str:
    names = ", ".join(f"`{name}`" for name in (flag.short, flag.name, *flag.aliases) if name)
    value = f" `{flag.metavar}`" if flag.metavar else ""
    words = flag.help.replace("|", "\\|")
    if flag.choices:
        words += f" ({', '.join(flag.choices)})"
    return f"| {names}{value}{' *' if flag.ours else ''} | {words} |"


def page() -> str:
    lines = [HEAD, "## Commands", "", "| command | does |", "|---|---|", "| `lastcall -p PROMPT` | The run. |"]
    lines += [f"| `lastcall {name}` | {words} |" for name, (_, words) in SUBCOMMANDS.items()]
    for group in dict.fromkeys(flag.group for flag in FLAGS):
        lines += ["", f"## {group}", "", "| flag | does |", "|---|---|"]
        lines += [row(flag) for flag in FLAGS if flag.group == group]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
