"""The client at the other end of stdin and stdout: asking it something and waiting for its answer.

Requests go out as control frames, each with an id of its own; answers come back in any order. When the client is gone,
every open question ends.

Must not go in here: reading stdin (`cli.stream`), what a question means (`runtime.hooks`, `runtime.asking`,
`runtime.client_mcp`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from msgspec import Struct

from lastcall.errors import LastcallError
from lastcall.tools import Tool
from lastcall.wire.control import ControlResponse, cancel_request, client_request
from lastcall.wire.frames import Frame
from lastcall.wire.hooks import HookRule


class ClientGone(LastcallError):  # noqa: N818 -- named as the other errors are, for what it says
    """The client closed its end, or it answered that it could not do what it was asked for."""

    code = "client_gone"


class _Question:
    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer: ControlResponse | None = None


class Client:
    """The peer of a session. `emit` writes a frame, `new_id` mints request ids."""

    def __init__(self, emit: Callable[[Frame], None], new_id: Callable[[], str]) -> None:
        self._emit = emit
        self._new_id = new_id
        self._open: dict[str, _Question] = {}
        self._gone = False

    async def ask(self, request: Frame, *, timeout_s: float | None = None) -> Mapping[str, Any]:
        """The client's answer. Raises `ClientGone`; `TimeoutError` after `timeout_s` seconds."""
        if self._gone:
            raise ClientGone("the client closed its end")
        request_id = self._new_id()
        question = self._open[request_id] = _Question()
        self._emit(client_request(request_id, request))
        try:
            with anyio.fail_after(timeout_s):
                await question.answered.wait()
        finally:
            self._open.pop(request_id, None)
            if not question.answered.is_set() and not self._gone:
                self._emit(cancel_request(request_id))
        answer = question.answer
        if answer is None:
            raise ClientGone("the client closed its end before it answered")
        if answer.error is not None:
            raise ClientGone(answer.error or "the client answered with an error")
        return answer.response

    def hear(self, response: ControlResponse) -> None:
        """An answer arrived; one that nobody waits for means nothing."""
        question = self._open.get(response.request_id)
        if question is not None:
            question.answer = response
            question.answered.set()

    def close(self) -> None:
        """Nothing will be answered any more."""
        self._gone = True
        for question in self._open.values():
            question.answered.set()


class ClientSide(Struct, frozen=True):
    """What a client brings to a session: hooks, tools of its own (`servers` as the `init` frame lists them), permissions.

    `asks`: the client decides where the permission rules leave a call open.
    """

    client: Client | None = None
    rules: tuple[HookRule, ...] = ()
    tools: tuple[Tool, ...] = ()
    servers: tuple[Mapping[str, str], ...] = ()
    asks: bool = False


NOBODY = ClientSide()
