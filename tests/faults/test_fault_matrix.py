"""What models do wrong, times what networks do wrong, times output formats, times wires: every cell tells one story.

A fault that passes must change nothing: the run ends as it would have ended without it, and the receipt fits the journal.
The quick test takes each pair once, the slow one all 960 cells.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from casebook.casebook import Endpoint, play
from lastcall.contract import compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.nouns.profile import Profile
from lastcall.runtime.verifying import verify

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["pass", "fail"]}, "note": {"type": "string"}},
    "required": ["verdict", "note"],
    "additionalProperties": False,
}
GOOD = '{"verdict":"pass","note":"all green"}'
BAD = '{"verdict":"maybe","note":"n"}'
FORMATS = ("text", "json", "stream-json")
WIRES = ("anthropic", "openai")


def call(text: str, name: str = "StructuredOutput") -> tuple[str, str]:
    return name, text


def said(*blocks: Any, stop: str = "") -> dict[str, Any]:
    calls = any(isinstance(block, tuple) for block in blocks)
    return {"blocks": blocks, "stop": stop or ("tool_use" if calls else "end_turn")}


FINE = said(call(GOOD))
MODELS: dict[str, tuple[list[dict[str, Any]], int]] = {
    "good": ([FINE], 0),
    "prose, then the call": ([said("done"), FINE], 0),
    "prose only": ([said("done")], 11),
    "nothing at all": ([said()], 11),
    "object as text": ([said(GOOD)], 11),
    "wrong, then right": ([said(call(BAD)), FINE], 0),
    "the same wrong thing for ever": ([said(call(BAD))], 12),
    "another wrong thing each time": ([said(call(f'{{"verdict":"{n}","note":"n"}}')) for n in range(9)], 12),
    "raw quotes, then right": ([said(call('{"verdict":"fail","note":"the "x" flag"}')), FINE], 0),
    "fenced arguments, then right": ([said(call(f"```json\n{GOOD}\n```")), FINE], 0),
    "nested without end, then right": ([said(call('{"note":' + "[" * 3000)), FINE], 0),
    "a key twice, then right": ([said(call('{"verdict":"pass","verdict":"fail","note":"n"}')), FINE], 0),
    "cut off, then right": ([said(call('{"verdict":"pass","no'), stop="max_tokens"), FINE], 0),
    "refusal": ([said("I will not", stop="refusal")], 15),
    "decline, twice": ([said(call('{"reason":"no log"}', "DeclineOutput"))], 10),
    "a tool that is not there, then right": ([said(call("{}", "Search")), FINE], 0),
}
TRANSIENT = {
    "429": {"http": {"status": 429, "headers": {"retry-after": "1"}, "body": "{}"}},
    "500": {"http": {"status": 500, "headers": {}, "body": "oops"}},
    "529": {"http": {"status": 529, "headers": {}, "body": '{"error":{"type":"overloaded_error","message":"busy"}}'}},
    "502 page": {"http": {"status": 502, "headers": {"content-type": "text/html"}, "body": "<html>bad gateway</html>"}},
    "200 page": {"http": {"status": 200, "headers": {"content-type": "text/html"}, "body": "<html>login</html>"}},
    "200 empty": {"http": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": ""}},
    "cut in a block": None,
    "cut before the end": None,
    "error in the stream": None,
}
LASTING = {
    "401": {"http": {"status": 401, "headers": {}, "body": '{"error":{"type":"authentication_error","message":"no"}}'}}
}
FAULTS = [*TRANSIENT, *LASTING]


# -- the two wires ----------------------------------------------------------------------------------------------------


def anthropic(reply: dict[str, Any], number: int) -> list[str]:
    start = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 9, "output_tokens": 1}}}
    ]
    for index, block in enumerate(reply["blocks"]):
        if isinstance(block, tuple):
            opened = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": block[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": block[1]}
        else:
            opened, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block}
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": reply["stop"], "stop_sequence": None}
    events += [{"type": "message_delta", "delta": ended, "usage": {"output_tokens": 7}}, {"type": "message_stop"}]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


STOPS = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}


def openai(reply: dict[str, Any], number: int) -> list[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        told = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
        return f"data: {json.dumps(told)}\n\n"

    out = [chunk({"role": "assistant"})]
    calls = 0
    for block in reply["blocks"]:
        if isinstance(block, tuple):
            function = {"name": block[0], "arguments": block[1]}
            out.append(
                chunk(
                    {
                        "tool_calls": [
                            {"index": calls, "id": f"call_{number}_{calls}", "type": "function", "function": function}
                        ]
                    }
                )
            )
            calls += 1
        else:
            out.append(chunk({"content": block}))
    usage = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}
    told = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage}
    return [*out, chunk({}, STOPS[reply["stop"]]), f"data: {json.dumps(told)}\n\n", "data: [DONE]\n\n"]


def whole(reply: dict[str, Any], number: int, wire: str) -> dict[str, Any]:
    """The reply to a request that does not stream, as a client asks that saw streams break."""
    blocks = list(enumerate(reply["blocks"]))
    if wire == "openai":
        calls = [
            {"id": f"call_{number}_{n}", "type": "function", "function": {"name": b[0], "arguments": b[1]}}
            for n, b in blocks
            if isinstance(b, tuple)
        ]
        text = "".join(b for _, b in blocks if isinstance(b, str))
        message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": STOPS[reply["stop"]]}
        return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 7}}
    content = [
        {"type": "tool_use", "id": f"toolu_{number}_{n}", "name": b[0], "input": read(b[1])}
        if isinstance(b, tuple)
        else {"type": "text", "text": b}
        for n, b in blocks
    ]
    return {"content": content, "stop_reason": reply["stop"], "usage": {"input_tokens": 9, "output_tokens": 7}}


def read(text: str) -> Any:
    """Arguments as servers give them that do not stream: what cannot be read comes as its text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def answers(replies: list[dict[str, Any]], fault: str, wire: str) -> Any:
    """What the service answers: the fault to the first request (a lasting one to all), then the model's replies."""
    encode = anthropic if wire == "anthropic" else openai
    spent = -1 if fault else 0

    def answer(number: int, body: Any) -> dict[str, Any]:
        if fault in LASTING:
            return LASTING[fault]
        turn = max(0, number + spent)
        reply = replies[min(turn, len(replies) - 1)]
        if not body.get("stream") and not (number == 0 and fault):
            return whole(reply, number, wire)
        pieces = encode(reply, number)
        if number == 0 and fault:
            plain = TRANSIENT[fault]
            if plain is not None:
                return plain
            pieces = encode(FINE, number)
            pieces = pieces[: {"cut in a block": 2, "cut before the end": -2, "error in the stream": 2}[fault]]
            if fault == "error in the stream":
                error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
                pieces.append(f"event: error\ndata: {json.dumps(error)}\n\n")
            elif fault == "cut before the end" and wire == "openai":
                pieces = pieces[:-1]  # the finish reason is what ends a reply there
        return {"sse_chunks": pieces}

    return answer


# -- one cell -----------------------------------------------------------------------------------------------------------

SUBTYPES = {
    0: "success", 10: "error_declined", 11: "error_gave_up", 12: "error_max_structured_output_retries",
    15: "error_during_execution", 16: "error_during_execution",
}  # fmt: skip


def cell(model: str, fault: str, form: str, wire: str, root: Path) -> list[str]:
    """What does not agree in this cell."""
    replies, code = MODELS[model]
    wanted = 15 if fault in LASTING else code
    given = {"wire": wire, "schema": SCHEMA, "stream": True}
    report = root / "report.json"
    root.mkdir(parents=True)
    seen = play(
        given, root / "run", "--output-format", form, "--report", str(report), answer=answers(replies, fault, wire)
    )
    wrong = [] if seen.code == wanted else [f"code {seen.code}, not {wanted}: {seen.err[-300:]}"]
    frame = json.loads(report.read_text())
    lines = seen.out.decode().splitlines()
    if form == "text":
        wrong += (
            []
            if lines == ([json.dumps(frame["structured_output"], separators=(",", ":"))] if seen.code == 0 else [])
            else [f"stdout: {lines}"]
        )
    else:
        frames = [json.loads(line) for line in lines]
        results = [f for f in frames if f["type"] == "result"]
        wrong += [] if len(results) == 1 and frames[-1] is results[0] else [f"{len(results)} results"]
        wrong += [] if form == "stream-json" or len(frames) == 1 else [f"{len(frames)} documents"]
        frame = {**results[-1], "uuid": ""} if results else frame
    story = (frame["subtype"], frame["is_error"], "structured_output" in frame, "errors" in frame)
    if story != (SUBTYPES[seen.code], seen.code != 0, seen.code == 0, seen.code != 0):
        wrong.append(f"the envelope says {story}")
    (journal,) = seen.state.rglob("*.jsonl")
    contract = compile_contract(schema_from_value(SCHEMA, profile=Profile.NATIVE))
    return wrong + [f"{f.name}: {f.why}" for f in verify(frame, contract, journal.read_bytes()) if f.passed is False]


def disagreements(cells: list[tuple[str, str, str, str]], root: Path) -> dict[str, list[str]]:
    found = {" / ".join(c): cell(*c, root / str(number)) for number, c in enumerate(cells)}
    return {name: wrong for name, wrong in found.items() if wrong}


PAIRS = [(model, fault) for model in MODELS for fault in FAULTS]


def test_sixteen_models_and_ten_faults() -> None:
    assert (len(MODELS), len(FAULTS)) == (16, 10)
    assert Endpoint


@pytest.mark.parametrize("model", MODELS)
def test_every_pair_tells_one_story(model: str, tmp_path: Path) -> None:
    row = [(m, f, FORMATS[n % 3], WIRES[n // 3 % 2]) for n, (m, f) in enumerate(PAIRS) if m == model]
    assert disagreements(row, tmp_path) == {}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("model", MODELS)
def test_without_a_fault_each_model_ends_as_the_table_says(model: str, wire: str, tmp_path: Path) -> None:
    assert disagreements([(model, "", form, wire) for form in FORMATS], tmp_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("wire", WIRES)
def test_every_cell_tells_one_story(wire: str, fault: str, tmp_path: Path) -> None:
    cells = [(model, fault, form, wire) for model in MODELS for form in FORMATS]
    assert disagreements(cells, tmp_path) == {}
