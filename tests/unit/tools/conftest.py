"""What the tests of the tools share."""

from __future__ import annotations

import anyio
import msgspec
import pytest

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments, ToolCall
from lastcall.tools import ToolContext
from lastcall.tools.paths import Workspace
from lastcall.tools.permissions import Permissions
from lastcall.tools.seen import FilesSeen


@pytest.fixture
def call():
    """A call of a tool with arguments, as a model's."""

    def make(name, arguments=None, call_id="toolu_1"):
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
        return ToolCall(CallId(call_id), MessageId("msg_1"), name, Arguments(text))

    return make


@pytest.fixture
def context(tmp_path):
    """A context in an empty working directory; keyword arguments replace its fields."""
    seen = FilesSeen()

    def make(*, deny=(), **fields):
        workspace = Workspace(str(tmp_path))
        rules = Permissions(deny=tuple(deny), cwd=workspace.cwd)
        return ToolContext(
            **{"workspace": workspace, "seen": seen, "rules": rules, "call_id": CallId("toolu_1")} | fields
        )

    return make


@pytest.fixture
def compat():
    return Profile.COMPAT


@pytest.fixture
def wait():
    """Run a coroutine function to its end in an event loop of its own."""
    return anyio.run
