"""`Contract`: compiled once, used by many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pydantic
import pytest

import lastcall
from lastcall.providers.scripted import scripted_provider


class Item(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1)

    @pydantic.field_validator("name")
    @classmethod
    def lower(cls, value):
        if value != value.lower():
            raise ValueError("must be lower case")
        return value


def test_a_contract_serves_many_runs_and_threads():
    contract = lastcall.Contract(Item)

    def one(number):
        model = scripted_provider([{"object": {"name": "X"}}, {"object": {"name": f"n{number}"}}])
        return lastcall.run("Do.", output=contract, model=model).output.name

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(one, range(12))) == [f"n{number}" for number in range(12)]


def test_problems_are_the_schemas_and_the_types():
    contract = lastcall.Contract(Item)
    assert [p.keyword for p in contract.problems({"name": ""})] == ["minLength"]
    assert [(p.path, p.message) for p in contract.problems({"name": "X"})] == [
        ("/name", "Value error, must be lower case")
    ]
    assert contract.problems({"name": "x"}) == ()
    assert contract.problems({"name": float("nan")})[0].keyword == "unreadable"


def test_a_contract_shows_its_schema_digest_and_warnings():
    contract = lastcall.Contract({"type": "object", "flavour": 1})
    assert contract.json_schema == {"type": "object", "flavour": 1}
    assert len(contract.digest) == 64
    assert any("flavour" in warning for warning in contract.warnings)
    assert repr(lastcall.Contract(int)) == "Contract(<class 'int'>)"


def test_load_gives_the_type():
    assert lastcall.Contract(Item).load('{"name": "x"}') == Item(name="x")


def test_more_rules_keep_the_old_ones_and_the_options():
    def first(item):
        return "first"

    def second(item):
        return "second"

    contract = lastcall.Contract(Item, rules=[first], strict_values=True)
    both = contract.with_rules([second])
    assert [check.name for check in both.compiled.checks] == ["first", "second"]
    assert both.compiled.strict_values
    result = lastcall.run(
        "Do.", output=contract, rules=[second], model=scripted_provider([{"object": {"name": "x"}}]),
        config=lastcall.RunConfig(max_attempts=1),
    )  # fmt: skip
    assert [problem.message for problem in result.attempts[0].problems] == ["first", "second"]


def test_a_contract_of_another_profile_is_refused():
    contract = lastcall.Contract({"type": "object"}, profile=lastcall.Profile.COMPAT)
    with pytest.raises(lastcall.UsageError, match="another profile"):
        lastcall.run("x", output=contract, model=scripted_provider(["x"]))
    config = lastcall.RunConfig(profile=lastcall.Profile.COMPAT)
    assert lastcall.run("x", output=contract, model=scripted_provider([{"object": {}}]), config=config).output == {}


@pytest.mark.parametrize("rule", [lambda: True, lambda a, b, c: True, lambda a, *, b: True, 3, print.__class__])
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(lastcall.UsageError, match="the rule"):
        lastcall.Contract(Item, rules=[rule])


def test_a_rule_may_be_an_object_that_is_called():
    class Knows:
        async def __call__(self, item):
            return ["one", "two"]

    contract = lastcall.Contract(Item, rules=[Knows()])
    config = lastcall.RunConfig(max_attempts=1)
    result = lastcall.run("x", output=contract, model=scripted_provider([{"object": {"name": "x"}}]), config=config)
    assert [problem.message for problem in result.attempts[0].problems] == ["one", "two"]
