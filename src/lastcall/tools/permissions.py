"""Who may call what: rules, the permission mode, and the decision for one call.

A rule is `Name`, `Name(content)` or `mcp__server`. For a shell command the content is the whole command or, as
`prefix:*`, its beginning; for a file it is a path pattern (`*`, `?`, `**`; `//abs`, `~/home`, `/` and `./` from the
working directory, a bare name at any depth). Deny wins over everything, also over `bypassPermissions`. A rule is never
ignored: what cannot be understood is refused when it is read, and a deny rule about a part of a tool that has no parts
denies the whole tool.

Must not go in here: asking somebody (`tools.running.Gate`), hooks, the workspace's own walls (`tools.paths`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from lastcall.errors import BadConfig
from lastcall.nouns.json import JsonObject
from lastcall.tools import CommandSubject, PathSubject, Subject, Tool
from lastcall.tools.commands import simple_commands


class Mode(StrEnum):
    """`--permission-mode`, with the reference's words."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    PLAN = "plan"
    DONT_ASK = "dontAsk"
    BYPASS = "bypassPermissions"


class Decision(StrEnum):
    """What becomes of a call. `ask` is a denial where there is nobody to ask."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class Ground(StrEnum):
    """What a decision rests on."""

    RULE = "rule"
    MODE = "mode"
    READ_ONLY = "read_only"
    NOTHING = "nothing"


class Verdict(Struct, frozen=True):
    """A decision and its ground."""

    decision: Decision
    ground: Ground


class Rule(Struct, frozen=True):
    """One rule. `content` is `None` for the whole tool."""

    tool: str
    content: str | None = None

    @property
    def prefix(self) -> str | None:
        """The beginning that a command must have, for `prefix:*`."""
        return self.content[:-2] if self.content is not None and self.content.endswith(":*") else None


_DIGEST = re.compile(r"_[0-9a-f]{8}\Z")
_RULE = re.compile(r"([^\s,()]+)(?:\((.*)\))?", re.DOTALL)


def parse_rule(text: str, *, where: str) -> Rule:
    r"""One rule. `\(`, `\)` and `\\` in the content stand for themselves.

    Raises `BadConfig` naming the flag in `where`.
    """
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise BadConfig(f"{text!r} is no permission rule", hint="Write Name or Name(content).", where=where)
    name, content = match.groups()
    if content is None or content.strip() in {"", "*"}:
        return Rule(name)
    return Rule(name, re.sub(r"\\([()\\])", r"\1", content))


def split_rules(texts: Iterable[str], *, where: str) -> tuple[str, ...]:
    """The rules in flag values: separated by commas or spaces outside of brackets.

    Raises `BadConfig` when a bracket is not closed.
    """
    rules = []
    for text in texts:
        depth = 0
        word = ""
        escaped = False
        for character in text:
            if not escaped:
                depth += (character == "(") - (character == ")")
            if depth < 0:
                break
            if depth == 0 and (character == "," or character.isspace()):
                rules.append(word)
                word = ""
            else:
                word += character
            escaped = character == "\\" and not escaped
        if depth:
            raise BadConfig(f"the brackets in {text!r} do not match", hint="Write Name(content).", where=where)
        rules.append(word)
    return tuple(rule for rule in rules if rule)


def parse_rules(texts: Iterable[str], *, where: str) -> tuple[Rule, ...]:
    """The rules of one flag, given once or more often.

    Raises `BadConfig`.
    """
    return tuple(parse_rule(text, where=where) for text in split_rules(texts, where=where))


def parse_mode(text: str) -> Mode:
    """The permission mode of this name.

    Raises `BadConfig`.
    """
    try:
        return Mode(text)
    except ValueError:
        modes = ", ".join(Mode)
        raise BadConfig(
            f"{text!r} is no permission mode", hint=f"Use one of {modes}.", where="--permission-mode"
        ) from None


class Permissions(Struct, frozen=True):
    """The rules of a run. `cwd` and `home` are what path patterns start from."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    mode: Mode = Mode.DEFAULT
    cwd: str = "/"
    home: str = ""

    def decide(self, tool: Tool, arguments: JsonObject) -> Verdict:
        """What becomes of this call. The arguments have passed the tool's input schema."""
        name = tool.definition.name
        subject = tool.subject(arguments)
        if any(self._denies(rule, name, subject) for rule in self.deny):
            return Verdict(Decision.DENY, Ground.RULE)
        if self.mode is Mode.PLAN and not tool.definition.read_only:
            return Verdict(Decision.DENY, Ground.MODE)
        if self.mode is Mode.BYPASS:
            return Verdict(Decision.ALLOW, Ground.MODE)
        if any(self._allows(rule, name, subject) for rule in self.allow):
            return Verdict(Decision.ALLOW, Ground.RULE)
        if tool.definition.read_only:
            return Verdict(Decision.ALLOW, Ground.READ_ONLY)
        if self.mode is Mode.ACCEPT_EDITS and tool.edits_files:
            return Verdict(Decision.ALLOW, Ground.MODE)
        return Verdict(Decision.DENY if self.mode is Mode.DONT_ASK else Decision.ASK, Ground.MODE)

    def denies_tool(self, name: str) -> bool:
        """Whether a deny rule takes the whole tool away (finishing tools have no other rules).

        A rule about a name that several tools of an MCP server would have denies all of them (`tools.remote`).
        """
        return any(rule.content is None and _may_name(rule.tool, name) for rule in self.deny)

    def denies_path(self, tool: str, real_path: str) -> bool:
        """Whether a deny rule covers this file, whatever way led to it. `real_path` holds no links."""
        return any(self._denies(rule, tool, PathSubject(real_path)) for rule in self.deny)

    def denies_some(self, tool: str) -> bool:
        """Whether there is a deny rule about this tool at all."""
        return any(_may_name(rule.tool, tool) for rule in self.deny)

    def _denies(self, rule: Rule, name: str, subject: Subject) -> bool:
        if not _may_name(rule.tool, name):
            return False
        if rule.content is None or subject is None:
            return True
        if isinstance(subject, PathSubject):
            return self._covers(rule.content, subject.path)
        parts = simple_commands(subject.command)
        if parts is None:
            return _occurs(rule, subject.command)
        return any(_command_matches(rule, command) for command in (subject.command, *parts))

    def _allows(self, rule: Rule, name: str, subject: Subject) -> bool:
        if not _names(rule.tool, name):
            return False
        if rule.content is None:
            return True
        if isinstance(subject, PathSubject):
            return self._covers(rule.content, subject.path)
        return isinstance(subject, CommandSubject) and self._allows_command(name, rule, subject.command)

    def _allows_command(self, name: str, rule: Rule, command: str) -> bool:
        """A command that consists of several is allowed when each of them is, by this rule or another one."""
        if rule.prefix is None and command.strip() == (rule.content or "").strip():
            return True
        parts = simple_commands(command)
        if not parts or not any(_command_matches(rule, part) for part in parts):
            return False
        rules = [other for other in self.allow if _names(other.tool, name)]
        return all(any(_command_matches(other, part) for other in rules) for part in parts)

    def _covers(self, pattern: str, path: str) -> bool:
        absolute = posixpath.normpath(posixpath.join(self.cwd, self._expand_home(path)))
        return _path_pattern(self._anchored(pattern)).fullmatch(absolute) is not None

    def _expand_home(self, path: str) -> str:
        return self.home + path[1:] if self.home and (path == "~" or path.startswith("~/")) else path

    def _anchored(self, pattern: str) -> str:
        """The pattern as one for absolute paths."""
        if pattern.startswith("//"):
            return pattern[1:]
        if pattern.startswith("~/"):
            return self._expand_home(pattern)
        inner = pattern.rstrip("/")
        if "/" not in inner:
            return posixpath.join(self.cwd, "**", pattern)
        return posixpath.join(self.cwd, pattern.removeprefix("./").lstrip("/"))


def _names(rule_tool: str, name: str) -> bool:
    """Whether a rule's name means this tool: its name, an MCP server's name, or `mcp__server__*`."""
    if rule_tool == name:
        return True
    server = rule_tool.removesuffix("__*")
    return server.startswith("mcp__") and server.count("__") == 1 and name.startswith(f"{server}__")


def _may_name(rule_tool: str, name: str) -> bool:
    """The same for what is forbidden: a name to which a digest was added is meant too."""
    without = _DIGEST.sub("", name) if name.startswith("mcp__") else name
    return _names(rule_tool, name) or _names(rule_tool, without)


def _command_matches(rule: Rule, command: str) -> bool:
    if rule.content is None:
        return True
    words = command.strip()
    if rule.prefix is None:
        return words == rule.content.strip()
    return words == rule.prefix or words.startswith(f"{rule.prefix} ")


def _occurs(rule: Rule, command: str) -> bool:
    """Whether the rule's words stand anywhere in a command that could not be cut: enough to deny it."""
    words = (rule.prefix if rule.prefix is not None else rule.content or "").split()
    pattern = r"\s+".join(re.escape(word) for word in words)
    return re.search(rf"(?<![\w-]){pattern}(?![\w-])", command) is not None


def _path_pattern(pattern: str) -> re.Pattern[str]:
    """A path pattern as a regular expression; what matches a directory also matches everything below it."""
    out = ""
    at = 0
    body = pattern.rstrip("/")
    while at < len(body):
        if body.startswith("**/", at):
            out += "(?:.*/)?"
            at += 3
        elif body.startswith("**", at):
            out += ".*"
            at += 2
        elif body[at] == "*":
            out += "[^/]*"
            at += 1
        elif body[at] == "?":
            out += "[^/]"
            at += 1
        else:
            out += re.escape(body[at])
            at += 1
    return re.compile(f"{out}(?:/.*)?", re.DOTALL)
