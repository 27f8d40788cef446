"""argv to values: text only. May validate, never touches the system.

The rules are those of the reference's parser, since its callers' command lines have to mean the same: a flag that takes
several values takes every word up to the next flag, `--flag=value` gives one value, the last of two counts, and the words
that are left are the prompt.

Must not go in here: files, environment, anything that a flag's value stands for.
"""

from __future__ import annotations

from msgspec import Struct

from lastcall.cli.flags import BY_NAME, FLAGS, REFUSED, Flag
from lastcall.errors import BadConfig


class Args(Struct, frozen=True):
    """The command line.

    `values` holds a string, a list of strings or `True` by the flag's key; `prompt` is `None` if absent. `twice` names the
    flags that were given again with another value, which counts.
    """

    values: dict[str, str | list[str] | bool]
    prompt: str | None = None
    twice: tuple[str, ...] = ()

    def text(self, key: str) -> str | None:
        """The value of a flag that takes one."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def words(self, key: str) -> list[str] | None:
        """The values of a flag that takes several; `None` if it was not given."""
        value = self.values.get(key)
        return value if isinstance(value, list) else None

    def on(self, key: str) -> bool:
        """Whether a switch was given."""
        return self.values.get(key) is True


class BadFlag(BadConfig):
    """A command line that cannot be parsed. The message is in the form of the reference's parser."""

    code = "bad_flag"


def parse(argv: list[str], *, tolerant: bool = False) -> Args:
    """The values in `argv`. With `tolerant` (a client library drives), unknown flags are passed over.

    Raises `BadFlag`.
    """
    values: dict[str, str | list[str] | bool] = {}
    rest: list[str] = []
    twice: list[str] = []
    words = list(argv)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            rest += words[at:]
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        name, eq, inline = word.partition("=")
        flag = BY_NAME.get(name)
        if flag is None:
            at = _unknown(name, bool(eq), words, at, tolerant=tolerant)
        elif not flag.metavar:
            values[flag.dest] = True
        else:
            given, at = ([inline], at) if eq else _values(flag, words, at)
            before = values.get(flag.dest)
            _keep(values, flag, given)
            if not (flag.many or flag.repeat) and before is not None and before != values[flag.dest]:
                twice.append(flag.name)
    return Args(values, " ".join(rest) if rest else None, tuple(twice))


def _values(flag: Flag, words: list[str], at: int) -> tuple[list[str], int]:
    if flag.optional and (at >= len(words) or _is_flag(words[at])):
        return [], at
    if at >= len(words) or (flag.many and _is_flag(words[at])):
        raise BadFlag(f"option '{_shown(flag)}' argument missing")
    if not flag.many:
        return [words[at]], at + 1
    end = at + 1
    while end < len(words) and not _is_flag(words[end]):
        end += 1
    return words[at:end], end


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1


def _keep(values: dict[str, str | list[str] | bool], flag: Flag, given: list[str]) -> None:
    for value in given:
        if flag.choices and value not in flag.choices:
            allowed = ", ".join(flag.choices)
            raise BadFlag(f"option '{_shown(flag)}' argument '{value}' is invalid. Allowed choices are {allowed}.")
    if flag.many or flag.repeat:
        before = values.get(flag.dest)
        values[flag.dest] = [*(before if isinstance(before, list) else []), *given]
    else:
        values[flag.dest] = given[0]


def _unknown(name: str, has_value: bool, words: list[str], at: int, *, tolerant: bool) -> int:
    """Refuse a flag by name, or pass over it with its value when a client library drives."""
    if name in REFUSED and not tolerant:
        raise BadFlag(f"option '{name}' is the reference's; lastcall does not have it")
    if not tolerant:
        near = _near(name)
        raise BadFlag(f"unknown option '{name}'" + (f"\n(Did you mean {near}?)" if near else ""))
    if not has_value and at < len(words) and not _is_flag(words[at]):
        return at + 1
    return at


def _near(name: str) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 -- only on the way to an error

    found = get_close_matches(name, [f.name for f in FLAGS], 1, 0.75)
    return found[0] if found else None


def _shown(flag: Flag) -> str:
    metavar = f"{flag.metavar[:-1]}...>" if flag.many else f"[{flag.metavar[1:-1]}]" if flag.optional else flag.metavar
    short = f"{flag.short}, " if flag.short else ""
    return f"{short}{flag.name} {metavar}"


def bad_value(key: str, value: str, why: str) -> BadFlag:
    """The error for a value that the flag's meaning refuses."""
    flag = next(f for f in FLAGS if f.dest == key)
    return BadFlag(f"option '{_shown(flag)}' argument '{value}' is invalid. {why}")


def help_text(version: str, subcommands: dict[str, str]) -> str:
    """The whole help, from the table."""
    lines = [
        f"lastcall {version}: an agent run that ends in a verified object, or says exactly why not.",
        "",
        "Usage: lastcall -p PROMPT --json-schema SCHEMA [flags]",
        "       lastcall COMMAND ...",
        "",
        "Commands:",
        *(f"  {name:<30} {words}" for name, words in subcommands.items()),
    ]
    for group in dict.fromkeys(f.group for f in FLAGS):
        lines += ["", f"{group}:"]
        for flag in (f for f in FLAGS if f.group == group):
            head = _shown(flag).rstrip()
            choices = f" ({', '.join(flag.choices)})" if flag.choices else ""
            if len(head) > 30:
                lines.append(f"  {head}")
                head = ""
            lines.append(f"  {head:<30} {flag.help}{choices}")
    lines += [
        "",
        "Exit codes: 0 object, 2 usage, 10 declined, 11 gave up, 12 out of attempts, 13 retracted, 14 limit reached,",
        "15 provider refused for good, 16 provider failed for now, 70 fault of lastcall, 130 interrupted, 143 terminated.",
        "With --profile compat: 0 or 1, as the reference.",
    ]
    return "\n".join(lines)
