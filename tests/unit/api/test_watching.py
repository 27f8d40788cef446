"""Pieces of objects as events, through both channels."""

from __future__ import annotations

import json

import anyio
import pytest
from pydantic import BaseModel

import lastcall
from lastcall.contract.wrapping import WRAP
from lastcall.testing import ScriptedModel
from lastcall.wire.dialect import SCRIPTED, Feature

TEXT = '{"vendor": "Acme & Sons", "total": 40}'


class Invoice(BaseModel):
    vendor: str
    total: int


def in_pieces(*deltas, kind="text", size=4):
    """A reply of one block whose text or arguments come in pieces of some characters."""
    if kind == "text":
        return {"content": [{"type": "text", "text": "".join(deltas)}], "chunk": size}
    return {
        "content": [{"type": "tool_use", "id": "t", "name": "StructuredOutput", "raw": "".join(deltas)}],
        "chunk": size,
    }


async def events_of(model, output, **config):
    async with lastcall.stream("x", output=output, model=model, config=lastcall.RunConfig(**config)) as run:
        heard = [event async for event in run]
    return heard, run.result


def partials_of(events):
    return [event for event in events if isinstance(event, lastcall.PartialObject)]


@pytest.mark.parametrize("channel", ["tool", "native"])
def test_the_object_is_shown_while_it_is_written_through_either_channel(channel):
    reply = in_pieces(TEXT, kind="text" if channel == "native" else "call")
    events, result = anyio.run(lambda: events_of(ScriptedModel(reply), Invoice, channel=channel))
    assert result.output == Invoice(vendor="Acme & Sons", total=40)
    values = [event.value for event in partials_of(events)]
    assert values
    assert all("Acme & Sons".startswith(value.get("vendor", "")) for value in values)
    assert not any(isinstance(event, lastcall.TextPiece) for event in events)
    attached = next(number for number, event in enumerate(events) if isinstance(event, lastcall.ObjectAttached))
    assert not partials_of(events[attached:])


def test_prose_on_the_native_channel_is_text():
    model = ScriptedModel("I will not.", in_pieces(TEXT))
    events, result = anyio.run(lambda: events_of(model, Invoice, channel="native"))
    assert result.ok
    assert "".join(event.text for event in events if isinstance(event, lastcall.TextPiece)) == "I will not."


def test_a_wrapped_output_is_shown_without_its_wrapper():
    reply = in_pieces(json.dumps({WRAP: [1, 2, 3]}), kind="call", size=1)
    events, result = anyio.run(lambda: events_of(ScriptedModel(reply), list[int]))
    assert result.output == [1, 2, 3]
    assert partials_of(events)
    assert all(event.value == [1, 2, 3][: len(event.value)] for event in partials_of(events))


def test_a_partial_object_can_be_had_in_the_shape_of_the_type():
    events, _ = anyio.run(lambda: events_of(ScriptedModel(in_pieces(TEXT, kind="call")), Invoice))
    sketches = [event.sketch() for event in partials_of(events)]
    assert {type(sketch) for sketch in sketches} == {Invoice}
    assert sketches[0].total is None
    assert "Acme & Sons".startswith(sketches[-1].vendor)


def test_of_a_schema_the_sketch_is_the_value():
    schema = {"type": "object", "properties": {"vendor": {"type": "string"}}}
    events, _ = anyio.run(lambda: events_of(ScriptedModel(in_pieces('{"vendor": "Acme"}', kind="call")), schema))
    assert partials_of(events)
    assert all(event.sketch() is event.value for event in partials_of(events))


def test_an_object_is_shown_in_the_callers_names_whatever_names_the_service_takes():
    schema = {"type": "object", "properties": {"Account Number": {"type": "string"}}, "additionalProperties": False}

    def reply(body):
        (name,) = body["tools"][0]["input_schema"]["properties"]
        assert name != "Account Number"
        return in_pieces(json.dumps({name: "A-1"}), kind="call", size=3)

    model = ScriptedModel(reply, dialect=SCRIPTED.without(Feature.FREE_NAMES))
    events, result = anyio.run(lambda: events_of(model, schema))
    assert result.output == {"Account Number": "A-1"}
    shown = [event.value for event in partials_of(events)]
    assert {} in shown
    assert {"Account Number": "A-1"} in shown
    assert {name for value in shown for name in value} == {"Account Number"}


def test_a_piece_that_holds_one_name_in_both_forms_is_not_shown():
    schema = {"type": "object", "properties": {"a b": {"type": "string"}}}

    def reply(body):
        (name,) = body["tools"][0]["input_schema"]["properties"]
        return in_pieces(json.dumps({name: "x", "a b": "y"}), kind="call", size=1)

    model = ScriptedModel(reply, {"object": {"a b": "z"}}, dialect=SCRIPTED.without(Feature.FREE_NAMES))
    events, _ = anyio.run(lambda: events_of(model, schema))
    assert all(
        set(event.value) <= {"a b"} and event.value.get("a b", "") in ("", "x", "z") for event in partials_of(events)
    )
