"""Cutting a shell command into the simple commands it consists of, for permission rules.

Only what is certain counts: a command with substitutions, redirections, groups or anything else that this cannot follow
is `None`, and then no rule about a beginning allows it.

Must not go in here: running commands.
"""

from __future__ import annotations

import re

_SEPARATORS = re.compile(r"&&|\|\||;|\n|\|&?|&")
_BEYOND_US = re.compile(r"[`<>(){}'\"]|\$\x00")
"""Substitutions, redirections, groups, functions, quotes that do not close, and `$'...'`, which has rules of its own."""
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
_UNKNOWN = frozenset("\x00$*?[~")
"""A command's name that holds one of these (a quoted piece, a variable, a glob) is not known before it runs."""
_ASSIGNMENT = re.compile(r"\w+=")
_RESERVED = frozenset({
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "time", "coproc", "!", "[[", "eval", "exec", "source", ".",
})  # fmt: skip


def simple_commands(command: str) -> tuple[str, ...] | None:
    """The simple commands, trimmed, in order; `None` if that cannot be told for certain."""
    kept: list[str] = []

    def hide(match: re.Match[str]) -> str:
        kept.append(match.group())
        return f"\x00{len(kept) - 1}\x00"

    if "\x00" in command:
        return None
    bare = _QUOTED.sub(hide, command)
    if _BEYOND_US.search(bare) or any(_expands(quoted) for quoted in kept):
        return None
    parts = []
    for part in _SEPARATORS.split(bare):
        words = part.split()
        if not words:
            continue
        if words[0] in _RESERVED or _ASSIGNMENT.match(words[0]) or not _UNKNOWN.isdisjoint(words[0]):
            return None
        parts.append(re.sub(r"\x00(\d+)\x00", lambda match: kept[int(match.group(1))], part).strip())
    return tuple(parts) or None


def _expands(quoted: str) -> bool:
    """Whether a quoted piece runs something by itself, or continues a line."""
    return (quoted.startswith('"') and ("`" in quoted or "$(" in quoted)) or quoted == "\\\n"
