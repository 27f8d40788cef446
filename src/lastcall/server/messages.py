"""Requests and answers of `POST /v1/messages`, from the server's side (`wire.anthropic` is the client's).

What a client may ask for: an answer in prose, an `output_config.format`, or the call of one tool that it forces; all else
is refused by its name.

Must not go in here: waiting, HTTP (`server.dropin`), rules of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Raw

from lastcall.server.one_line import one_line
from lastcall.server.orders import Order, Said
from lastcall.server.vendors import EFFORTS, DoorRefusal, Fields, Told, Wanted, pieces, schema_text, text_in
from lastcall.wire.json import encode_value

_CACHE: Final = ("cache_control",)


class Messages:
    """The forms of the Messages API (`server.vendors.Vendor`)."""

    keep_alive = b'event: ping\ndata: {"type":"ping"}\n\n'

    def read(self, body: Mapping[str, Any]) -> Wanted:
        """The request. Raises `DoorRefusal`."""
        fields = Fields(body)
        model = fields.demand("model", str)
        most = fields.demand("max_tokens", int)
        if most < 1:
            raise fields.refusal("max_tokens", "has to be 1 or more")
        history, prompt = _conversation(fields.demand("messages", list))
        system = text_in(fields.take("system", (str, list), ""), "system", skips=_CACHE)
        formatted, effort = _config(fields)
        tool, parameters, about, forced = _tool(fields)
        if formatted is not None and tool:
            raise fields.refusal("output_config", "and a forced tool are two ways to answer; leave one away")
        stream = fields.take("stream", bool, default=False)
        _leave(fields)
        order = Order(
            prompt=prompt,
            schema=parameters if tool else formatted,
            model=model,
            system="\n\n".join(text for text in (system, about) if text),
            history=history,
            max_tokens=most,
            effort=effort,
            kept=False,
        )
        return Wanted(order, model, stream, True, tool, forced)

    def whole(self, wanted: Wanted, told: Told) -> bytes:
        """The message."""
        block: dict[str, Any] = {"type": "text", "text": told.reason if told.declined else told.text}
        if wanted.tool and not told.declined:
            block = {**_call(wanted, told), "input": Raw(told.text.encode())}
        message = _message(wanted, told.run_id)
        stop = _stop(wanted, told)
        return encode_value({**message, "content": [block], "stop_reason": stop, "usage": _usage(told)})

    def opening(self, wanted: Wanted, run_id: str, created_at: float) -> Iterable[bytes]:  # noqa: ARG002 -- a `Vendor`
        """The message begins."""
        usage = {"input_tokens": 0, "output_tokens": 0}
        yield _event({"type": "message_start", "message": {**_message(wanted, run_id), "usage": usage}})

    def rest(self, wanted: Wanted, told: Told) -> Iterable[bytes]:
        """One block in pieces, and how the message ends."""
        calls = bool(wanted.tool) and not told.declined
        text = told.reason if told.declined else told.text
        block = {**_call(wanted, told), "input": {}} if calls else {"type": "text", "text": ""}
        yield _event({"type": "content_block_start", "index": 0, "content_block": block})
        for piece in pieces(text):
            delta = (
                {"type": "input_json_delta", "partial_json": piece} if calls else {"type": "text_delta", "text": piece}
            )
            yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
        yield _event({"type": "content_block_stop", "index": 0})
        ending = {"stop_reason": _stop(wanted, told), "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": ending, "usage": _usage(told)})
        yield _event({"type": "message_stop"})

    def error(self, status: int, code: str, message: str, where: str) -> bytes:  # noqa: ARG002 -- a `Vendor`
        """The body of an error."""
        kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
        words = message if code in message else f"{message} ({code})"
        return encode_value({"type": "error", "error": {"type": kind, "message": words}})

    def broken(self, body: bytes) -> bytes:
        """An error in a stream."""
        return f"event: error\ndata: {one_line(body.decode())}\n\n".encode()


_KINDS: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


# -- answers --------------------------------------------------------------------------------------------------------


def _message(wanted: Wanted, run_id: str) -> dict[str, Any]:
    return {
        "id": f"msg_{run_id.removeprefix('run_')}",
        "type": "message",
        "role": "assistant",
        "model": wanted.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _call(wanted: Wanted, told: Told) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{told.run_id.removeprefix('run_')}", "name": wanted.tool}


def _stop(wanted: Wanted, told: Told) -> str:
    if told.declined:
        return "refusal"
    return "tool_use" if wanted.tool else "end_turn"


def _usage(told: Told) -> dict[str, int]:
    """The form knows no unknown figures, so they are 0 here; the envelope of the run says `null`."""
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {name: told.usage.get(name) or 0 for name in names}


def _event(value: dict[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {one_line(encode_value(value).decode())}\n\n".encode()


# -- requests -------------------------------------------------------------------------------------------------------


def _leave(fields: Fields) -> None:
    """What says nothing of the answer is taken, what says what happens anyway too; the rest is refused."""
    fields.skip("metadata")
    for name, allowed in (
        ("temperature", (1,)),
        ("stop_sequences", ([],)),
        ("thinking", ({"type": "disabled"},)),
        ("service_tier", ("auto", "standard_only")),
    ):
        fields.only(name, *allowed)
    fields.done()


def _conversation(messages: list[Any]) -> tuple[tuple[Said, ...], str]:
    """What was said before, and the prompt."""
    said: list[Said] = []
    for index, message in enumerate(messages):
        fields = Fields(message, f"messages[{index}]")
        role = fields.demand("role", str)
        if role not in ("user", "assistant"):
            raise fields.refusal("role", "has to be user or assistant")
        content = fields.demand("content", (str, list))
        fields.done()
        said.append(Said(role == "assistant", text_in(content, fields.place("content"), skips=_CACHE)))
    if not said or said[-1].by_model or not said[-1].text.strip():
        raise DoorRefusal(400, "invalid_value", "messages has to end with a text of the user", "messages")
    return tuple(said[:-1]), said[-1].text


def _config(fields: Fields) -> tuple[str | None, str | None]:
    """The schema of `output_config.format`, and the effort."""
    config = Fields(fields.take("output_config", dict, {}), "output_config")
    effort = config.take("effort", str)
    if effort is not None and effort not in EFFORTS:
        raise config.refusal("effort", f"has to be one of {', '.join(sorted(EFFORTS))}")
    wanted = config.take("format", dict)
    config.done()
    if wanted is None:
        return None, effort
    given = Fields(wanted, "output_config.format")
    if given.demand("type", str) != "json_schema":
        raise given.refusal("type", "has to be json_schema")
    schema = given.demand("schema", dict)
    given.done()
    return schema_text(schema), effort


def _tool(fields: Fields) -> tuple[str, str, str, bool]:
    """The tool that is forced: name, schema, description, whether it was named; `""` for none."""
    tools = fields.take("tools", list, [])
    choice = Fields(fields.take("tool_choice", dict, {"type": "auto"}), "tool_choice")
    kind = choice.demand("type", str)
    chosen = choice.take("name", str, "")
    choice.take("disable_parallel_tool_use", bool)
    choice.done()
    if kind == "none" or (not tools and kind == "auto"):
        return "", "", "", True
    if kind not in ("tool", "any") or not tools:
        words = "are only taken with a tool_choice that forces one of them: this server runs no tools of its clients"
        raise fields.refusal("tools", words)
    named = {}
    for index, tool in enumerate(tools):
        given = Fields(tool, f"tools[{index}]")
        given.only("type", "custom")
        name = given.demand("name", str)
        named[name] = (schema_text(given.demand("input_schema", dict)), given.take("description", str, ""))
        given.skip("cache_control", "strict")
        given.done()
    if kind == "any":
        if len(named) != 1:
            raise fields.refusal("tool_choice", "has to name one tool")
        chosen = next(iter(named))
    if chosen not in named:
        raise fields.refusal("tool_choice", "names a tool that is not there")
    parameters, about = named[chosen]
    return chosen, parameters, f"About the result, {chosen}: {about}" if about else "", kind == "tool"
