"""The promises of `lastcall.run`, `arun` and `stream`, played by scripts."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal, NamedTuple, TypedDict

import anyio
import msgspec
import pydantic
import pytest

import lastcall
from lastcall.contract.wrapping import WRAP
from lastcall.nouns.result import GaveUp, Limit, OutOfAttempts, Stopped, VerdictKind
from lastcall.providers.scripted import scripted_provider


class Invoice(pydantic.BaseModel):
    vendor: str
    total: int


GOOD = {"vendor": "Acme", "total": 3}


def played(*replies):
    return scripted_provider(list(replies))


def test_the_output_is_an_instance_of_the_output_type():
    result = lastcall.run("Extract.", output=Invoice, model=played({"object": GOOD}))
    assert result.output == Invoice(vendor="Acme", total=3)
    assert result.unwrap() is result.output
    assert result.ok
    assert result.object_text is not None
    assert json.loads(result.object_text) == GOOD


def test_a_rejected_object_is_in_the_ledger_with_its_problems_and_never_the_output():
    result = lastcall.run("Extract.", output=Invoice, model=played({"object": {"vendor": "Acme"}}, {"object": GOOD}))
    first, second = result.attempts
    assert (first.verdict, second.verdict) == (VerdictKind.REJECTED, VerdictKind.ACCEPTED)
    assert first.problems[0].keyword == "required"
    assert "must have required property 'total'" in result.ledger()


def test_without_an_answer_output_raises_no_answer_with_the_result():
    result = lastcall.run("Extract.", output=Invoice, model=played("No."))
    assert isinstance(result.outcome, GaveUp)
    with pytest.raises(lastcall.NoAnswer) as caught:
        _ = result.output
    assert caught.value.result is result
    assert result.envelope()["lastcall"]["outcome"] == "gave_up"
    assert "structured_output" not in result.envelope()


def test_without_an_output_type_the_output_is_the_answer_in_prose():
    assert lastcall.run("Hello?", model=played("Hello.")).output == "Hello."


def test_the_envelope_is_json_and_holds_the_object():
    result = lastcall.run("Extract.", output=Invoice, model=played({"object": GOOD}))
    frame = json.loads(json.dumps(result.envelope()))
    assert (frame["type"], frame["subtype"], frame["structured_output"]) == ("result", "success", GOOD)


def test_messages_are_the_conversation_of_the_run():
    result = lastcall.run("Extract.", output=Invoice, model=played({"object": GOOD}))
    assert result.messages[0].blocks[0].text == "Extract."
    assert len(result.messages) == 3


@dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    a: int


class Pair(NamedTuple):
    left: int
    right: str


class Colour(Enum):
    RED = "red"


class Line(msgspec.Struct):
    n: int


@pytest.mark.parametrize(
    ("output", "sent", "expected"),
    [
        (Point, {"x": 1}, Point(1, 0)),
        (Pair, {WRAP: [1, "a"]}, Pair(1, "a")),
        (Colour, {WRAP: "red"}, Colour.RED),
        (Literal["yes", "no"], {WRAP: "no"}, "no"),
        (list[int], {WRAP: [1, 2]}, [1, 2]),
        (bool, {WRAP: True}, True),
        (Decimal, {WRAP: "1.10"}, Decimal("1.10")),
        (Line, {"n": 4}, Line(4)),
        (Annotated[int, pydantic.Field(ge=1)], {WRAP: 7}, 7),
        (Invoice | None, {WRAP: None}, None),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 1}),
        ('{"type": "array"}', {WRAP: [1]}, [1]),
    ],
)
def test_output_may_be_any_type_or_schema(output, sent, expected):
    assert lastcall.run("Do.", output=output, model=played({"object": sent})).output == expected


def test_a_typed_dict_of_the_standard_library_is_taken():
    assert lastcall.run("Do.", output=Row, model=played({"object": {"a": 1}})).output == {"a": 1}


def test_validators_of_the_model_are_part_of_the_contract_and_speak_to_the_model():
    class Sum(pydantic.BaseModel):
        parts: list[int]
        total: int

        @pydantic.model_validator(mode="after")
        def adds_up(self):
            if sum(self.parts) != self.total:
                raise ValueError("the parts do not add up")
            return self

    model = played({"object": {"parts": [1, 2], "total": 4}}, {"object": {"parts": [1, 2], "total": 3}})
    result = lastcall.run("Add.", output=Sum, model=model)
    assert result.output.total == 3
    assert "the parts do not add up" in json.dumps(model.requests[1]["messages"])


def test_several_models_are_one_union_and_the_discriminator_decides():
    class Cat(pydantic.BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"]
        tricks: list[str]

    either = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
    result = lastcall.run("Pet?", output=either, model=played({"object": {WRAP: {"kind": "dog", "tricks": []}}}))
    assert result.output == Dog(kind="dog", tricks=[])


def test_rules_are_functions_of_the_object_and_their_words_reach_the_model():
    async def known(invoice, deps):
        await anyio.lowlevel.checkpoint()
        return None if invoice.vendor in deps else f"{invoice.vendor} is no vendor of ours"

    def small(invoice):
        return invoice.total < 100

    model = played({"object": {"vendor": "Umbrella", "total": 900}}, {"object": GOOD})
    result = lastcall.run("Extract.", output=Invoice, model=model, rules=[known, small], deps={"Acme"})
    assert result.output.vendor == "Acme"
    assert [problem.message for problem in result.attempts[0].problems] == [
        "Umbrella is no vendor of ours",
        "small does not hold",
    ]
    assert {(check.name, check.passed) for check in result.checks} >= {("known", True), ("small", True)}


def test_a_rule_that_breaks_refuses_the_object_instead_of_letting_it_pass():
    def broken(invoice):
        raise KeyError(f"hunter2 is the password for {invoice.vendor}")

    config = lastcall.RunConfig(max_attempts=1)
    result = lastcall.run("Extract.", output=Invoice, model=played({"object": GOOD}), rules=[broken], config=config)
    assert isinstance(result.outcome, OutOfAttempts)
    words = result.attempts[0].problems[0].message
    assert words.startswith("the rule broken failed: KeyError in test_running.py, line ")
    assert "hunter2" not in json.dumps(result.envelope())


def test_run_inside_a_running_event_loop_names_arun():
    async def inside():
        with pytest.raises(lastcall.UsageError, match=r"lastcall\.arun"):
            lastcall.run("Hello?", model=played("Hello."))
        return (await lastcall.arun("Hello?", model=played("Hello."))).output

    assert asyncio.run(inside()) == "Hello."


def test_a_cancelled_task_cancels_the_run():
    async def main():
        slow = played({"delay_ms": 60_000, "content": []})
        task = asyncio.create_task(lastcall.arun("Hello?", model=slow))
        while not slow.requests:
            await anyio.lowlevel.checkpoint()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < 10


def test_a_deadline_ends_the_run_and_says_so():
    config = lastcall.RunConfig(deadline_s=0.05)
    slow = played({"delay_ms": 60_000, "content": []})
    result = lastcall.run("Extract.", output=Invoice, model=slow, config=config)
    assert result.outcome == Stopped(Limit.DEADLINE, "0.05s")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lastcall.run("", model=played("x")), "prompt is empty"),
        (lambda: lastcall.run("x", model="nonsense:x"), "there is no model"),
        (lambda: lastcall.run("x", output=lambda: 1, model=played("x")), "is no type"),
        (lambda: lastcall.run("x", model=played("x"), rules=[len]), "rules need an output"),
        (lambda: lastcall.run("x", model=played("x"), tools=[3]), "is no tool"),
        (lambda: lastcall.run("x", model=played("x"), tools=["Nope"]), "no tool Nope"),
        (lambda: lastcall.run("x", model=played("x"), config=lastcall.RunConfig(max_turns=0)), "max_turns"),
        (lambda: lastcall.run("x", output={"type": 3}, model=played("x")), "type"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_sent(call, words):
    with pytest.raises(lastcall.UsageError, match=words):
        call()


@pytest.mark.parametrize("call", [lastcall.run, lastcall.stream, lambda _, **given: lastcall.Session(Invoice, **given)])
def test_a_misspelt_option_is_named_beside_those_that_there_are(call):
    with pytest.raises(TypeError, match="takes no option 'modle'; there are model, tools, rules, deps, hooks, config"):
        call("x", modle="scripted")


def streamed(model, **given):
    async def main():
        async with lastcall.stream("Extract.", output=Invoice, model=model, **given) as run:
            events = [event async for event in run]
        return events, run.result

    return anyio.run(main)


def test_stream_tells_text_partial_objects_rejections_and_the_end_in_order():
    text = {"type": "text", "text": "Here."}
    call = {"type": "tool_use", "id": "a", "name": "StructuredOutput", "input": GOOD}
    events, result = streamed(played({"object": {"vendor": "Acme"}}, {"content": [text, call], "chunk": 8}))
    kinds = [type(event).__name__ for event in events if not isinstance(event, lastcall.PartialObject)]
    assert kinds == ["AttemptRejected", "TextPiece", "ObjectAttached", "RunEnded"]
    values = [event.value for event in events if isinstance(event, lastcall.PartialObject)]
    assert values[-1] == GOOD
    assert {} in values
    assert events[-1].result is result
    assert result.output.total == 3


def test_stream_tells_of_tools():
    @lastcall.tool
    def lookup(vendor: str) -> str:
        return vendor.upper()

    events, _ = streamed(
        played({"call": {"name": "lookup", "input": {"vendor": "x"}}}, {"object": GOOD}), tools=[lookup]
    )
    started, finished = events[:2]
    assert (started.name, json.loads(started.arguments)) == ("lookup", {"vendor": "x"})
    assert (finished.name, finished.content, finished.failed) == ("lookup", "X", False)


def test_an_object_that_a_rule_refuses_is_a_rejection_with_its_number_and_never_attached():
    def small(invoice):
        return invoice.total < 5

    events, _ = streamed(played({"object": {"vendor": "A", "total": 9}}, {"object": GOOD}), rules=[small])
    [rejected] = [event for event in events if isinstance(event, lastcall.AttemptRejected)]
    assert (rejected.n, rejected.problems[0].message) == (1, "small does not hold")
    assert json.loads(rejected.draft) == {"vendor": "A", "total": 9}
    assert [event.output.total for event in events if isinstance(event, lastcall.ObjectAttached)] == [3]


def test_leaving_a_stream_early_cancels_the_run_and_keeps_the_callers_error():
    async def main():
        with pytest.raises(KeyError):
            async with lastcall.stream("x", model=played({"delay_ms": 60_000, "content": []})):
                raise KeyError
        async with lastcall.stream("x", model=played({"delay_ms": 60_000, "content": []})) as run:
            pass
        with pytest.raises(lastcall.UsageError, match="not ended"):
            _ = run.result

    anyio.run(main)


def test_an_error_before_the_start_comes_out_of_a_stream_as_it_is():
    async def main():
        async with lastcall.stream("", model=played("x")) as run:
            async for _ in run:
                pass

    with pytest.raises(lastcall.UsageError, match="prompt is empty"):
        anyio.run(main)


def test_every_public_name_is_there():
    assert {name for name in lastcall.__all__ if getattr(lastcall, name, None) is None} == set()
    assert dir(lastcall) == sorted(lastcall.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lastcall.nothing


def test_a_run_that_is_over_leaves_nothing_to_the_garbage_collector():
    """Many runs one after the other hold no more memory than one, and nobody waits for a collection of all of them."""

    @lastcall.tool
    def look(n: int) -> str:
        """Looks."""
        return str(n)

    async def once():
        model = played({"calls": [{"name": "look", "input": {"n": 1}}]}, {"object": {"total": "x"}}, {"object": GOOD})
        result = await lastcall.arun("Extract.", output=Invoice, model=model, tools=[look])
        assert result.ok
        assert len(result.attempts) == 2

    async def garbage():
        await once()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            await once()
            gc.collect()
            kinds = {f"{type(x).__module__}.{type(x).__qualname__}" for x in gc.garbage}
            return sorted(x for x in kinds if x.startswith("lastcall.") and not x.startswith("lastcall.contract."))
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    assert anyio.run(garbage) == []
