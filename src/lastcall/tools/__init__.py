"""What a tool is to lastcall: a definition that the model sees, and one coroutine.

A tool is an object that meets `Tool`; a `Toolbox` is an explicit list of them, in the order the model sees. There is no
registry and no decorator magic here. What a call may touch comes in its `ToolContext`, never from globals.

Must not go in here: any particular tool, permissions (`tools.permissions`), how a failure becomes an answer
(`tools.running`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from lastcall.errors import BadConfig
from lastcall.nouns.ids import CallId
from lastcall.nouns.json import JsonObject
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import ToolDefinition
from lastcall.tools.paths import Workspace
from lastcall.tools.seen import FilesSeen


class Output(Struct, frozen=True):
    """What a tool gives back.

    `content` is text, or content blocks as JSON text when `blocks` is true. `failed` says that the tool did not do what
    it was asked for; the model is told so. `display` is what the stream shows beside the answer, as a JSON value.
    `capped` says that the tool kept its own output cap; other outputs are cut by `tools.running`. `reminder` is told to
    the model after the content and shown to nobody else.
    """

    content: str
    failed: bool = False
    blocks: bool = False
    display: Any = None
    capped: bool = False
    reminder: str = ""
    says_no_error: bool = False
    """Whether a success is told as `is_error: false` instead of leaving the key out."""


class CommandSubject(Struct, frozen=True):
    """A call that runs a shell command: permission rules match its text."""

    command: str


class PathSubject(Struct, frozen=True):
    """A call on one file: permission rules match its path, as the model wrote it."""

    path: str


Subject = CommandSubject | PathSubject | None
"""What the bracketed part of a permission rule is matched against; `None`: nothing."""


class PathRules(Protocol):
    """What a tool that opened a file asks about the file's real place."""

    def denies_path(self, tool: str, real_path: str) -> bool:
        """Whether a deny rule covers this file."""
        ...

    def denies_some(self, tool: str) -> bool:
        """Whether there is a deny rule about this tool at all."""
        ...


class ToolContext(Struct, frozen=True):
    """What one call may know and touch.

    `idempotency_key` is the same when the call is run again after a crash. `images`: whether the model takes images.
    `seen` is the run's memory of files that were read, shared by its calls.
    """

    workspace: Workspace
    seen: FilesSeen
    rules: PathRules
    call_id: CallId = CallId("")
    idempotency_key: str = ""
    profile: Profile = Profile.NATIVE
    images: bool = False
    environment: Mapping[str, str] = {}
    """What commands of the run get as their environment, before `tools.environment` takes keys out of it."""


class Tool(Protocol):
    """One tool. `definition.read_only` says that a call changes nothing, so it may be run again.

    `edits_files` says that all it changes is one file of the workspace (what the permission mode `acceptEdits` allows).
    """

    @property
    def definition(self) -> ToolDefinition:
        """What the model is shown."""
        ...

    @property
    def edits_files(self) -> bool:
        """Whether a call changes one file of the workspace and nothing else."""
        ...

    def subject(self, arguments: JsonObject) -> Subject:
        """What permission rules about a part of this tool look at. The arguments have passed the input schema."""
        ...

    async def run(self, arguments: JsonObject, context: ToolContext) -> Output:
        """Do it. The arguments have passed the input schema. An exception is told to the model as a failure."""
        ...


class Toolbox:
    """The tools of a run, in the order in which the model sees them. Never changed after it is made."""

    def __init__(self, tools: Iterable[Tool] = (), *, known: Iterable[str] = ()) -> None:
        """Take the tools as they come. `known` names tools that exist but are not offered in this run.

        Raises `BadConfig` when two tools have one name.
        """
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = tool.definition.name
            if name in self._tools:
                raise BadConfig(f"two tools are called {name!r}", hint="Rename one of them.")
            self._tools[name] = tool
        self.switched_off = frozenset(known) - self._tools.keys()

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """The tool of this very name (case counts), or `None`."""
        return self._tools.get(name)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is shown, in order."""
        return tuple(tool.definition for tool in self)

    def only(self, names: Iterable[str]) -> Toolbox:
        """The same tools, reduced to these names; the others are remembered as switched off."""
        wanted = set(names)
        return Toolbox(
            (tool for name, tool in self._tools.items() if name in wanted), known=self.switched_off | self._tools.keys()
        )

    def without(self, names: Iterable[str]) -> Toolbox:
        """The same tools without these names, which are remembered as switched off."""
        return self.only(self._tools.keys() - set(names))
