"""A model that says what a script tells it to, for tests of lastcall and of whoever uses it.

A script is a list of replies, an object `{"<text in the model's name>": [replies], "*": [replies]}`, or a function from
the request's body to a reply. The last reply of a list repeats. Requests to sum up old turns have a list of their own
(`"(summaries)"`). Replies become bytes of the Messages API and go through
the same reader as those of a real service, retries included; only waiting between retries takes no time.

A reply is the object that `docs` describe (`content`, `stop_reason`, `usage`, `status`, `error`, `error_event`, `cut`,
`stall`, `delay_ms`, `sse_raw`, `json_raw`, `omit`, `drop`, `chunk`, ...) or short for one: a string is a text;
`{"object": value}` is a finishing call; `{"call": {"name": ..., "input": ...}}` is a call, `{"calls": [...]}` several.

Must not go in here: judging what comes back.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import long_run_words
from lastcall.contract.finishing_tools import FINISH
from lastcall.errors import BadConfig, BrokenStream, Unreachable
from lastcall.providers import Deployment
from lastcall.providers.clock import Clock, ImpatientClock
from lastcall.providers.http import HttpProvider
from lastcall.providers.script_bytes import expand, message_of, sse_pieces
from lastcall.providers.script_shape import fault_of
from lastcall.providers.service import Service, Settings
from lastcall.wire.anthropic import AnthropicEncoder
from lastcall.wire.anthropic_reply import AnthropicDecoder
from lastcall.wire.dialect import SCRIPTED, Dialect
from lastcall.wire.json import read_object

Reply = str | Mapping[str, Any]
ScriptFunction = Callable[[Mapping[str, Any]], Reply]
Script = Sequence[Reply] | Mapping[str, Sequence[Reply]] | ScriptFunction

SUMMARIES: Final = "(summaries)"
"""The key of an object script under which the replies to requests for summaries stand."""
_SUMMARY_MARK: Final = long_run_words.SYSTEM.encode()
_OK: Final = 200
_NOT_FOUND: Final[Mapping[str, Any]] = {
    "status": 404,
    "error": {"type": "not_found_error", "message": "the script has no reply for this model"},
}


def scripted_provider(
    script: Script,
    *,
    model: str = "scripted",
    settings: Settings | None = None,
    clock: Clock | None = None,
    dialect: Dialect = SCRIPTED,
    max_retries: int = 10,
    summaries: Script | None = None,
) -> ScriptedProvider:
    """A provider that plays `script`. The bodies of what it was asked are in `requests`.

    `summaries` is the script for requests to sum up old turns; without one, none is asked for.
    """
    if summaries is None and isinstance(script, Mapping):
        summaries = script.get(SUMMARIES)
    dialect = dialect if summaries is None else replace(dialect, summaries=True)
    player = ScriptPlayer(script, summaries)
    return ScriptedProvider(player, model, settings, clock or ImpatientClock(), dialect, max_retries)


class ScriptedProvider(HttpProvider):
    """The usual transport, with a script where the network would be."""

    def __init__(
        self,
        player: ScriptPlayer,
        model: str,
        settings: Settings | None,
        clock: Clock,
        dialect: Dialect,
        max_retries: int,
    ) -> None:
        self.player = player
        service = Service("script:", {}, AnthropicEncoder, AnthropicDecoder, lambda: player)
        deployment = Deployment("scripted", model, max_retries=max_retries)
        super().__init__(deployment, dialect, service, settings=settings, clock=clock)

    @property
    def requests(self) -> tuple[Mapping[str, Any], ...]:
        """The bodies of all requests so far."""
        return tuple(read_object(body) or {} for body in self.player.bodies)


class Asked(Struct, frozen=True):
    """What a script needs of every request. The rest of a body is read when somebody looks at it."""

    model: str = ""
    stream: bool = False


def _head(body: bytes) -> Asked:
    try:
        return msgspec.json.decode(body, type=Asked)
    except (msgspec.DecodeError, ValueError, RecursionError):
        asked = read_object(body) or {}
        return Asked(str(asked.get("model", "")), bool(asked.get("stream")))


class ScriptPlayer:
    """A connection to nowhere (`providers.service.Connection`). Several models of a chain may share one."""

    def __init__(self, script: Script, summaries: Script | None = None) -> None:
        self._script = script
        self._summaries = ScriptPlayer(summaries) if summaries is not None else None
        self._used: dict[str, int] = {}
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        """Of each request, those that hooks sent along."""

    @asynccontextmanager
    async def post(
        self, body: bytes, *, wait_s: float, headers: Mapping[str, str] = MappingProxyType({})
    ) -> AsyncIterator[ScriptedAnswer]:
        """The next reply as an answer."""
        self.bodies.append(body)
        self.headers.append(dict(headers))
        asked = _head(body)
        reply = expand(_long_form(self.pick(body, asked)))
        with anyio.fail_after(wait_s):
            await anyio.sleep(reply.get("delay_ms", 0) / 1000)
        if reply.get("drop"):
            raise Unreachable("the script drops the connection")
        yield ScriptedAnswer(reply, asked, len(self.bodies) - 1)

    async def aclose(self) -> None:
        """Nothing is open."""

    def pick(self, body: bytes, asked: Asked) -> Reply:
        """The reply to this request; the next of its list."""
        if self._summaries is not None and _SUMMARY_MARK in body:
            return self._summaries.pick(body, asked)
        if callable(self._script):
            return self._script(read_object(body) or {})
        key, replies = "", self._script
        if isinstance(replies, Mapping):
            key = next((name for name in replies if name != "*" and name in asked.model), "*")
            replies = replies.get(key, ())
        turn = self._used.get(key, 0)
        self._used[key] = turn + 1
        return replies[min(turn, len(replies) - 1)] if replies else _NOT_FOUND


class ScriptedAnswer:
    """One reply on its way (`providers.service.Answer`)."""

    def __init__(self, reply: Mapping[str, Any], asked: Asked, number: int) -> None:
        self._reply = reply
        self._message = message_of(reply, model=asked.model, number=number)
        self._streams = asked.stream

    @property
    def status(self) -> int:
        """The status that the script tells."""
        return int(self._reply.get("status", _OK))

    @property
    def content_type(self) -> str:
        """What the script's headers say, or what fits."""
        fitting = "text/event-stream" if self._streams and self.status == _OK else "application/json"
        return self.header("content-type") or fitting

    def header(self, name: str) -> str:
        """A header of the script."""
        headers = self._reply.get("headers", {})
        return next((str(value) for key, value in headers.items() if key.lower() == name), "")

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body, as the script cuts it."""
        if self.status != _OK:
            error = {"type": "error", "error": self._reply.get("error", {}), "request_id": "req_scripted"}
            yield _bytes(self._reply.get("body", json.dumps(error)))
        elif not self._streams:
            yield _bytes(self._reply.get("json_raw") or json.dumps(self._message))
        elif "sse_raw" in self._reply:
            yield _bytes(self._reply["sse_raw"])
        else:
            async for chunk in self._streamed():
                yield chunk

    async def _streamed(self) -> AsyncGenerator[bytes]:
        cut = self._reply.get("cut") or {}
        left = cut.get("after_bytes")
        for piece in sse_pieces(self._reply, self._message):
            if piece.wait_ms:
                await anyio.sleep(piece.wait_ms / 1000)
            if piece.cut:
                break
            if left is not None and len(piece.data) >= left:
                yield piece.data[:left]
                break
            left = None if left is None else left - len(piece.data)
            yield piece.data
        else:
            return
        if cut.get("reset"):
            raise BrokenStream("the script resets the connection")


def load_script(path: Path) -> Script:
    """The script in a JSON file. Raises `BadConfig`."""
    try:
        script = json.loads(path.read_bytes())
    except OSError as error:
        raise BadConfig(f"the script cannot be read: {error.strerror}", where=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"the script is no JSON: {error}", where=str(path)) from None
    lists = list(script.values()) if isinstance(script, dict) else [script]
    if not lists or not all(isinstance(replies, list) for replies in lists):
        hint = 'Write a list of replies, or {"*": [replies]}.'
        raise BadConfig("a script is a list of replies, or an object of such lists", hint=hint, where=str(path))
    for number, reply in ((n, reply) for replies in lists for n, reply in enumerate(replies, 1)):
        if not isinstance(reply, (str, dict)):
            raise BadConfig("a reply of the script is neither a string nor an object", where=str(path))
        fault = "" if isinstance(reply, str) else _fault(reply)
        if fault:
            raise BadConfig(f"reply {number} of the script means nothing: {fault}", hint="Mend it.", where=str(path))
    if not any(lists):
        raise BadConfig("the script holds no reply", hint='Write at least one: ["Hello."].', where=str(path))
    checked: Script = script
    return checked


def _fault(reply: Mapping[str, Any]) -> str:
    try:
        return fault_of(expand(reply))
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return f"a string of it cannot be built ({error})"


def _long_form(reply: Reply) -> Mapping[str, Any]:
    if isinstance(reply, str):
        return {"content": [{"type": "text", "text": reply}]}
    if "object" in reply:
        calls: list[Any] = [{"name": FINISH, "input": reply["object"]}]
    elif "calls" in reply or "call" in reply:
        calls = list(reply.get("calls") or [reply["call"]])
    else:
        return reply
    content = [{"type": "tool_use", "id": f"toolu_{number}", **call} for number, call in enumerate(calls, 1)]
    rest = {key: value for key, value in reply.items() if key not in ("object", "call", "calls")}
    return {**rest, "content": content}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
