"""`ScriptedModel`: a model that says what a test tells it to.

Must not go in here: what a reply may look like (`providers.scripted`), misbehaviour by name (`testing.bad_models`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from lastcall.providers.clock import ImpatientClock
from lastcall.providers.scripted import Reply, ScriptedProvider, ScriptPlayer
from lastcall.testing.clock import FakeClock
from lastcall.wire.dialect import SCRIPTED, Dialect

AnyReply = Reply | Callable[[Mapping[str, Any]], Any] | Any
"""A reply of a script, an object (a model, a dataclass: sent as the finishing call), or a function of the request."""


class ScriptedModel(ScriptedProvider):
    """Says its replies one after the other, the last one again and again; give it as `model=`.

    A reply is a text; `{"object": value}` or an instance of a Pydantic model for a finishing call; `{"call": {"name": ...,
    "input": ...}}` or `{"calls": [...]}` for calls; a mapping with `content`, `stop_reason`, `status`, `error`, `cut`, ...
    as in scripts; or a function of the request's body that returns one of these. `requests` holds the bodies of all
    requests, as the Messages API would get them. `clock` is the run's too.
    """

    def __init__(
        self,
        *replies: AnyReply,
        model: str = "scripted",
        clock: FakeClock | None = None,
        max_retries: int = 10,
        dialect: Dialect = SCRIPTED,
    ) -> None:
        if not replies:
            raise ValueError("a scripted model needs at least one reply")
        turns = itertools.count()

        def play(body: Mapping[str, Any]) -> Reply:
            reply = replies[min(next(turns), len(replies) - 1)]
            return _reply(reply(body) if callable(reply) else reply)

        self.run_clock = clock
        super().__init__(ScriptPlayer(play), model, None, clock or ImpatientClock(), dialect, max_retries)

    @property
    def prompts(self) -> tuple[str, ...]:
        """The text that the model was told last, request by request: the prompt, answers to its calls, nudges."""
        return tuple(_told(request) for request in self.requests)


def _reply(reply: Any) -> Reply:
    if isinstance(reply, str | Mapping):
        return reply
    if hasattr(reply, "model_dump"):
        return {"object": reply.model_dump(mode="json", by_alias=True)}
    import msgspec  # noqa: PLC0415 -- only for objects

    return {"object": msgspec.to_builtins(reply)}


def _told(request: Mapping[str, Any]) -> str:
    content = request["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    parts = (block.get("text") or block.get("content") or "" for block in content)
    return "\n".join(part if isinstance(part, str) else str(part) for part in parts)
