"""`ScriptedModel`: values, objects and functions as replies."""

from __future__ import annotations

from dataclasses import dataclass

import pydantic
import pytest

import lastcall
from lastcall.nouns.result import Limit, Stopped
from lastcall.testing import FakeClock, ScriptedModel


class City(pydantic.BaseModel):
    name: str = pydantic.Field(alias="cityName")


@dataclass
class Point:
    x: int


def test_an_object_is_a_finishing_call():
    assert lastcall.run("x", output=City, model=ScriptedModel(City(cityName="Bern"))).output.name == "Bern"
    assert lastcall.run("x", output=Point, model=ScriptedModel(Point(3))).output == Point(3)


def test_a_function_gets_the_request_and_its_turn_among_the_replies():
    def second(request):
        return {"object": {"x": len(request["messages"])}}

    model = ScriptedModel("Not yet.", second)
    assert lastcall.run("Start.", output=Point, model=model).output == Point(3)
    assert model.prompts[0] == "Start."
    assert "StructuredOutput" in model.prompts[1]


def test_what_a_function_raises_is_raised_to_the_test_as_it_is():
    def broken(request):
        raise AssertionError("the model was not told of the vendor")

    with pytest.raises(AssertionError, match="not told of the vendor"):
        lastcall.run("x", model=ScriptedModel(broken))


def test_answers_to_calls_are_among_the_prompts():
    model = ScriptedModel({"call": {"name": "double", "input": {"n": 4}}}, "Done.")

    def double(n: int) -> int:
        return n * 2

    lastcall.run("x", model=model, tools=[double])
    assert model.prompts[1] == "8"


def test_a_model_with_a_clock_brings_the_time_of_the_run():
    clock = FakeClock()

    def slow(request):
        clock.advance(100)
        return "Still thinking."

    config = lastcall.RunConfig(deadline_s=60)
    result = lastcall.run("x", output=Point, model=ScriptedModel(slow, clock=clock), config=config)
    assert result.outcome == Stopped(Limit.DEADLINE, "60s")
    assert result.duration_ms == 100_000


def test_retries_wait_on_the_clock_and_cost_no_time():
    clock = FakeClock()
    overloaded = {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}
    result = lastcall.run("x", model=ScriptedModel(overloaded, overloaded, "Hello.", clock=clock))
    assert result.output == "Hello."
    assert len(clock.slept) == 2
    assert clock.monotonic() == pytest.approx(sum(clock.slept))


def test_a_model_without_replies_is_refused():
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedModel()
