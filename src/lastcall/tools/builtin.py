"""The tools that come with lastcall, and what `--tools` and `--disallowedTools` make of them.

Must not go in here: the tools themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.tools import Toolbox
from lastcall.tools.permissions import Permissions, parse_rules, split_rules
from lastcall.tools.sandbox import Sandbox

REFERENCE_NAMES = frozenset({
    "Agent", "Bash", "Edit", "Glob", "Grep", "LS", "NotebookEdit", "Read", "Task", "TodoWrite", "WebFetch", "WebSearch",
    "Write",
})  # fmt: skip
"""Names of the reference's own tools: a call of one that is not offered is told as switched off, not as unknown."""


NO_TOOLS = Toolbox((), known=REFERENCE_NAMES)
"""What a run without tools has: the names that exist elsewhere."""


def builtin_tools(sandbox: Sandbox | None = None) -> Toolbox:
    """All of them, in the order in which the model sees them; with `sandbox`, commands run behind its walls."""
    from lastcall.tools.bash import Bash  # noqa: PLC0415 -- a run without tools loads none of them
    from lastcall.tools.editing import EditFile, WriteFile  # noqa: PLC0415
    from lastcall.tools.files import ReadFile  # noqa: PLC0415
    from lastcall.tools.search import Glob, Grep  # noqa: PLC0415

    return Toolbox([Bash(sandbox), EditFile(), Glob(), Grep(), ReadFile(), WriteFile()], known=REFERENCE_NAMES)


def choose_tools(
    available: Toolbox,
    chosen: str | None,
    permissions: Permissions,
    *,
    profile: Profile,
    finishing: tuple[str, ...] = (),
) -> Toolbox:
    """The tools of a run. `chosen` is the value of `--tools`: `None` or `default` is all, `""` none, else names.

    Tools that a deny rule takes away as a whole are not offered; those of MCP servers are not chosen from. Natively, raises
    `BadConfig` for a name that is neither a tool nor in `finishing`; in compat such a name means nothing, as recorded.
    """
    kept = available
    if chosen is not None and chosen.strip() != "default":
        names = split_rules([chosen], where="--tools")
        known = {*finishing, "default", *(definition.name for definition in available.definitions)}
        unknown = [name for name in names if name not in known and not _is_remote(name)]
        if unknown and profile is Profile.NATIVE:
            have = ", ".join(definition.name for definition in available.definitions)
            meant = _meant(unknown[0], {definition.name for definition in available.definitions})
            raise BadConfig(f"there is no tool {unknown[0]}{meant}", hint=f"There are: {have}.", where="--tools")
        kept = available if "default" in names else available.only(names)
    denied = [tool.definition.name for tool in kept if permissions.denies_tool(tool.definition.name)]
    return kept.without(denied)


def remarks_on_rules(texts: Iterable[str], *, where: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """A sentence for each rule about a tool that nobody has, in case it is a typing error.

    Tools of MCP servers may come later, so their names are not looked at; `known` are names beside those of the tools here.
    Raises `BadConfig` for what is no rule.
    """
    names = REFERENCE_NAMES | set(known)
    unheard = dict.fromkeys(
        rule.tool for rule in parse_rules(texts, where=where) if rule.tool not in names and not _is_remote(rule.tool)
    )
    return tuple(f"{where}: there is no tool {name}{_meant(name, names)}; the rule changes nothing" for name in unheard)


def _is_remote(name: str) -> bool:
    return name.startswith("mcp__")


def _meant(name: str, names: Iterable[str]) -> str:
    """The name that may have been meant, in brackets."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only for a name that is wrong

    same = [known for known in names if known.casefold() == name.casefold()]
    near = same or get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return f" (did you mean {near[0]}?)" if near else ""
