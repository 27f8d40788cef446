"""Hooks that are Python functions: asked or told at nine points of a run.

There is one way to step into a run: `@lastcall.hook(point)`, a function of one value, that is typed by its point. Five
points are those of settings files, so that both kinds may be mixed and the strictest answer counts; the others are about
requests to the model, rejected attempts and the result. No hook can make an object, change what was said, or touch the
contract: what a hook changes is judged like everything else.

Must not go in here: asking them (`api.hook_client`, `api.hooked_requests`), what an answer means (`wire.hooks`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, Literal, TypeVar, overload

from msgspec import Struct

from lastcall.api.result import TerminalResult
from lastcall.errors import BadConfig
from lastcall.nouns.messages import Message
from lastcall.nouns.result import Attempt, Failed, Usage
from lastcall.nouns.tools import ToolCall, ToolDefinition
from lastcall.providers import Provider

T = TypeVar("T")

CallPoint = Literal["prompt", "before_tool", "after_tool", "after_failure", "end"]
Point = Literal[CallPoint, "before_request", "after_request", "rejected", "ended"]

BEFORE: Final = frozenset({"prompt", "before_tool", "before_request"})
"""What a hook raises here is raised to the caller, and nothing is done; elsewhere it is a warning in the result."""
_OF_TOOLS: Final = frozenset({"before_tool", "after_tool", "after_failure"})
_POINTS: Final = (
    "prompt",
    "before_request",
    "after_request",
    "before_tool",
    "after_tool",
    "after_failure",
    "rejected",
    "end",
    "ended",
)


class HookQuestion(Struct, frozen=True):
    """What a hook is asked about. What the point does not have is empty.

    `arguments` are a call's, `answer` is what it gave back (of a failure: its words). `again` says at `end` that a hook
    has already kept the run going. `deps` is what the run was given.
    """

    point: CallPoint
    session_id: str
    prompt: str = ""
    tool: str = ""
    call_id: str = ""
    arguments: Mapping[str, Any] = {}
    answer: Any = None
    again: bool = False
    deps: Any = None


class HookAnswer(Struct, frozen=True):
    """What a hook says.

    `refuse` keeps the prompt, the call or the end back, with this reason (after a call it is told to the model).
    `arguments` take the place of the call's. `allow` lets a call through that the permission rules leave open. `tell` is
    told to the model and shown to nobody else. `stop` ends the run, with this reason.
    """

    refuse: str = ""
    arguments: Mapping[str, Any] | None = None
    allow: bool = False
    tell: str = ""
    stop: str | None = None


class RequestQuestion(Struct, frozen=True):
    """A request that is about to be sent (`before_request`). `number` counts from 1; `reserved`: the last that fits."""

    number: int
    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    reserved: bool = False
    deps: Any = None


class RequestAnswer(Struct, frozen=True):
    """What a `before_request` hook changes, for this one request.

    `system` is said after the system prompt. `model` answers in place of the run's: a name as `--model` takes it, or a
    provider. `headers` go along over HTTP; credentials and the transport's own headers are refused.
    """

    system: str = ""
    model: str | Provider | None = None
    headers: Mapping[str, str] = {}


class ReplySeen(Struct, frozen=True):
    """What came of a request (`after_request`), after all retries and fallbacks: a reply, or a `failure`.

    `text` is its prose, `calls` are its calls, finishing ones too, before anybody has judged them. `took_ms` is in
    milliseconds.
    """

    number: int
    model: str
    text: str
    calls: tuple[ToolCall, ...]
    stop_reason: str | None
    usage: Usage
    took_ms: int
    failure: Failed | None = None
    deps: Any = None


class RejectionQuestion(Struct, frozen=True):
    """An attempt that did not pass (`rejected`). What the model is told of it is said already; a hook may add advice."""

    attempt: Attempt
    session_id: str
    deps: Any = None


class EndSeen(Struct, Generic[T], frozen=True):
    """The result, just before the caller gets it (`ended`)."""

    result: TerminalResult[T]
    deps: Any = None


HookFunction = Callable[[HookQuestion], HookAnswer | str | Awaitable[HookAnswer | str | None] | None]
"""A sentence refuses, `None` says nothing."""
RequestFunction = Callable[[RequestQuestion], RequestAnswer | Awaitable[RequestAnswer | None] | None]
ReplyFunction = Callable[[ReplySeen], Awaitable[None] | None]
RejectionFunction = Callable[[RejectionQuestion], str | Awaitable[str | None] | None]
"""A sentence is advice for the model, told after the problems."""
EndFunction = Callable[[EndSeen[Any]], Awaitable[None] | None]


class Hook(Struct, frozen=True):
    """A function and when it is asked. `matcher` is about the tool's name: `""` is all, else names or a pattern."""

    point: Point
    matcher: str
    function: Callable[[Any], Any]

    @property
    def name(self) -> str:
        """The function's name, for sentences."""
        return getattr(self.function, "__name__", type(self.function).__name__)


@overload
def hook(point: CallPoint, *, matcher: str = "") -> Callable[[HookFunction], Hook]: ...
@overload
def hook(point: Literal["before_request"]) -> Callable[[RequestFunction], Hook]: ...
@overload
def hook(point: Literal["after_request"]) -> Callable[[ReplyFunction], Hook]: ...
@overload
def hook(point: Literal["rejected"]) -> Callable[[RejectionFunction], Hook]: ...
@overload
def hook(point: Literal["ended"]) -> Callable[[EndFunction], Hook]: ...
def hook(point: Point, *, matcher: str = "") -> Callable[[Callable[[Any], Any]], Hook]:
    """Make a hook of a function, asynchronous or run in a thread; give it to a run in `hooks`.

    Hooks of a point are asked in their order for requests, all at once for calls. What one raises before something is
    done (`prompt`, `before_tool`, `before_request`) is raised to the caller, and it is not done; what one raises
    afterwards is the warning `hook_failed` in the result. `matcher` is for points about tools.

    Raises `BadConfig` for a point that there is not, or a matcher where there is no tool.
    """
    if point not in _POINTS:
        raise BadConfig(f"there is no hook point {point!r}", hint=f"There are: {', '.join(_POINTS)}.", where="hooks")
    if matcher and point not in _OF_TOOLS:
        raise BadConfig(f"{point} is about no tool", hint="Leave the matcher out.", where="hooks")
    return lambda function: Hook(point, matcher, function)
