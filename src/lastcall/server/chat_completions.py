"""Requests and answers of `POST /v1/chat/completions`, from the server's side (`wire.openai` is the client's).

What a client may ask for: an answer in prose, a `response_format`, or the call of one tool that it forces; all else is
refused by its name.

Must not go in here: waiting, HTTP (`server.dropin`), rules of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lastcall.server.one_line import one_line
from lastcall.server.orders import Order, Said
from lastcall.server.vendors import (
    ANY_OBJECT,
    EFFORTS,
    DoorRefusal,
    Fields,
    Told,
    Wanted,
    pieces,
    schema_text,
    text_in,
)
from lastcall.wire.json import encode_value

_SYSTEM: Final = frozenset({"system", "developer"})


class ChatCompletions:
    """The forms of Chat Completions (`server.vendors.Vendor`)."""

    keep_alive = b": still running\n\n"

    def read(self, body: Mapping[str, Any]) -> Wanted:
        """The request. Raises `DoorRefusal`."""
        fields = Fields(body)
        model = fields.demand("model", str)
        system, history, prompt = _conversation(fields.demand("messages", list))
        stream = fields.take("stream", bool, default=False)
        options = Fields(fields.take("stream_options", dict, {}), "stream_options")
        usage = options.take("include_usage", bool, default=False)
        options.only("include_obfuscation", False)
        options.done()
        formatted, about = _format(fields)
        tool, parameters, about_tool, forced = _tool(fields)
        if formatted is not None and tool:
            raise fields.refusal("response_format", "and a forced tool are two ways to answer; leave one away")
        most = fields.take("max_completion_tokens", int) or fields.take("max_tokens", int)
        effort = fields.take("reasoning_effort", str)
        if effort is not None and effort not in EFFORTS:
            raise fields.refusal("reasoning_effort", f"has to be one of {', '.join(sorted(EFFORTS))}")
        if most is not None and most < 1:
            raise fields.refusal("max_completion_tokens", "has to be 1 or more")
        _leave(fields)
        order = Order(
            prompt=prompt,
            schema=parameters if tool else formatted,
            model=model,
            system="\n\n".join(text for text in (system, about, about_tool) if text),
            history=history,
            max_tokens=most,
            effort=effort,
            kept=False,
        )
        return Wanted(order, model, stream, usage, tool, forced)

    def whole(self, wanted: Wanted, told: Told) -> bytes:
        """The completion."""
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        if told.declined:
            message["refusal"] = told.reason
        elif wanted.tool:
            message["tool_calls"] = [_call(wanted, told, told.text)]
        else:
            message["content"] = told.text
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(wanted, told)}
        return encode_value(
            {
                **_head(wanted, told.run_id, told.created_at, "chat.completion"),
                "choices": [choice],
                "usage": _usage(told),
            }
        )

    def opening(self, wanted: Wanted, run_id: str, created_at: float) -> Iterable[bytes]:
        """The first chunk: whose turn it is."""
        yield _chunk(_head(wanted, run_id, created_at, _CHUNK), {"role": "assistant", "content": ""})

    def rest(self, wanted: Wanted, told: Told) -> Iterable[bytes]:
        """The answer in chunks, why it ends, what it took."""
        head = _head(wanted, told.run_id, told.created_at, _CHUNK)
        if told.declined:
            yield _chunk(head, {"refusal": told.reason})
        elif wanted.tool:
            first, *others = pieces(told.text)
            yield _chunk(head, {"tool_calls": [{"index": 0, **_call(wanted, told, first)}]})
            for piece in others:
                yield _chunk(head, {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        else:
            for piece in pieces(told.text):
                yield _chunk(head, {"content": piece})
        yield _chunk(head, {}, _finish(wanted, told))
        if wanted.usage:
            yield _event({**head, "choices": [], "usage": _usage(told)})
        yield b"data: [DONE]\n\n"

    def error(self, status: int, code: str, message: str, where: str) -> bytes:
        """The body of an error."""
        kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
        return encode_value({"error": {"message": message, "type": kind, "param": where or None, "code": code}})

    def broken(self, body: bytes) -> bytes:
        """An error in a stream."""
        return f"data: {one_line(body.decode())}\n\n".encode()


_CHUNK: Final = "chat.completion.chunk"
_KINDS: Final = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


# -- answers --------------------------------------------------------------------------------------------------------


def _head(wanted: Wanted, run_id: str, created_at: float, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run_id}", "object": kind, "created": int(created_at), "model": wanted.model}


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _event({**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})


def _event(value: Any) -> bytes:
    return b"data: " + one_line(encode_value(value).decode()).encode() + b"\n\n"


def _call(wanted: Wanted, told: Told, arguments: str) -> dict[str, Any]:
    name = f"call_{told.run_id.removeprefix('run_')}"
    return {"id": name, "type": "function", "function": {"name": wanted.tool, "arguments": arguments}}


def _finish(wanted: Wanted, told: Told) -> str:
    """The vendor says `stop` where the call was forced by name, and `tool_calls` where any call was."""
    return "tool_calls" if wanted.tool and not wanted.forced and not told.declined else "stop"


def _usage(told: Told) -> dict[str, int] | None:
    figures = told.usage
    read = figures.get("input_tokens")
    written = figures.get("output_tokens")
    if read is None or written is None:
        return None
    cached = figures.get("cache_read_input_tokens") or 0
    prompt = read + cached + (figures.get("cache_creation_input_tokens") or 0)
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


# -- requests -------------------------------------------------------------------------------------------------------


def _leave(fields: Fields) -> None:
    """What says nothing of the answer is taken, what says what happens anyway too; the rest is refused."""
    fields.skip("user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
    for name, allowed in (
        ("n", (1,)),
        ("store", (False,)),
        ("temperature", (1,)),
        ("top_p", (1,)),
        ("presence_penalty", (0,)),
        ("frequency_penalty", (0,)),
        ("logprobs", (False,)),
        ("logit_bias", ({},)),
        ("stop", ([],)),
        ("modalities", (["text"],)),
        ("service_tier", ("auto", "default")),
        ("parallel_tool_calls", (True, False)),
    ):
        fields.only(name, *allowed)
    fields.done()


def _conversation(messages: list[Any]) -> tuple[str, tuple[Said, ...], str]:
    """The system prompt, what was said before, and the prompt."""
    system: list[str] = []
    said: list[Said] = []
    for index, message in enumerate(messages):
        fields = Fields(message, f"messages[{index}]")
        role = fields.demand("role", str)
        if role not in {*_SYSTEM, "user", "assistant"}:
            raise fields.refusal("role", "has to be system, developer, user or assistant", code="unsupported_value")
        text = text_in(fields.demand("content", (str, list)), fields.place("content"))
        fields.skip("name")
        fields.only("refusal")
        fields.only("tool_calls", [])
        for nothing in ("function_call", "audio", "annotations"):
            fields.only(nothing, [])
        fields.done()
        if role not in _SYSTEM:
            said.append(Said(role == "assistant", text))
        elif said:
            raise fields.refusal("role", "may not be system behind other messages", code="unsupported_value")
        else:
            system.append(text)
    if not said or said[-1].by_model or not said[-1].text.strip():
        raise DoorRefusal(400, "invalid_value", "messages has to end with a text of the user", "messages")
    return "\n\n".join(system), tuple(said[:-1]), said[-1].text


def _format(fields: Fields) -> tuple[str | None, str]:
    """The schema of `response_format`, and what the client says it is for."""
    wanted = fields.take("response_format", dict)
    if wanted is None:
        return None, ""
    given = Fields(wanted, "response_format")
    kind = given.demand("type", str)
    if kind == "text":
        given.done()
        return None, ""
    if kind == "json_object":
        given.done()
        return ANY_OBJECT, ""
    if kind != "json_schema":
        raise given.refusal("type", "has to be text, json_object or json_schema", code="unsupported_value")
    described = Fields(given.demand("json_schema", dict), "response_format.json_schema")
    given.done()
    name = described.demand("name", str)
    schema = described.take("schema", dict, {})
    about = described.take("description", str, "")
    described.take("strict", bool)  # every object is checked, whatever is said here
    described.done()
    return schema_text(schema), f"About the result, {name}: {about}" if about else ""


def _tool(fields: Fields) -> tuple[str, str, str, bool]:
    """The tool that is forced: name, schema, description, whether it was named; `""` for none."""
    tools = fields.take("tools", list, [])
    choice = fields.take("tool_choice", (str, dict))
    if choice == "none" or (not tools and choice is None):
        return "", "", "", True
    if not tools:
        raise fields.refusal("tool_choice", "needs tools")
    if choice is None or choice == "auto":
        words = "are only taken with a tool_choice that forces one of them: this server runs no tools of its clients"
        raise fields.refusal("tools", words, code="unsupported_parameter")
    names = {}
    for index, tool in enumerate(tools):
        given = Fields(tool, f"tools[{index}]")
        given.only("type", "function")
        function = Fields(given.demand("function", dict), f"tools[{index}].function")
        given.done()
        name = function.demand("name", str)
        names[name] = (
            schema_text(function.take("parameters", dict, {"type": "object"})),
            function.take("description", str, ""),
        )
        function.take("strict", bool)
        function.done()
    if isinstance(choice, str):
        if choice != "required" or len(names) != 1:
            raise fields.refusal("tool_choice", "has to name one tool", code="unsupported_value")
        chosen = next(iter(names))
    else:
        picked = Fields(choice, "tool_choice")
        picked.only("type", "function")
        chosen = Fields(picked.demand("function", dict), "tool_choice.function").demand("name", str)
    if chosen not in names:
        raise fields.refusal("tool_choice", "names a tool that is not there")
    parameters, about = names[chosen]
    return chosen, parameters, f"About the result, {chosen}: {about}" if about else "", not isinstance(choice, str)
