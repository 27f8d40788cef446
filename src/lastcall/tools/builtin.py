"""The tools that come with lastcall, and what `--tools` and `--disallowedTools` make of them.

Must not go in here: the tools themselves.
"""

from __future__ import annotations

from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.tools import Toolbox
from lastcall.tools.permissions import Permissions, split_rules
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

    Tools that a deny rule takes away as a whole are not offered. Natively, raises `BadConfig` for a name that is neither
    a tool nor in `finishing`; in compat such a name means nothing, as recorded.
    """
    kept = available
    if chosen is not None and chosen.strip() != "default":
        names = split_rules([chosen], where="--tools")
        unknown = [
            name for name in names if available.get(name) is None and name not in finishing and name != "default"
        ]
        if unknown and profile is Profile.NATIVE:
            have = ", ".join(definition.name for definition in available.definitions)
            raise BadConfig(f"there is no tool {unknown[0]}", hint=f"There are: {have}.", where="--tools")
        kept = available if "default" in names else available.only(names)
    denied = [tool.definition.name for tool in kept if permissions.denies_tool(tool.definition.name)]
    return kept.without(denied)
