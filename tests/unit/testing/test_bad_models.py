"""Every bad model, let loose on contracts: a verified object or an honest outcome, never a third."""

from __future__ import annotations

import json
from pathlib import Path

import pydantic
import pytest

import lastcall
from lastcall.nouns.result import Answered, outcome_name
from lastcall.testing import BAD_KINDS, BadModel

CASES = Path(__file__).parents[2] / "data" / "casebook" / "cases.jsonl"


class Line(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: str = pydantic.Field(pattern="^[a-z]{1,20}$")
    amount: int


class Report(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    verdict: str = pydantic.Field(min_length=1, max_length=20, pattern="^[a-z]+$")
    lines: list[Line]


GOOD = {"verdict": "pass", "lines": [{"name": "rent", "amount": 3}]}

ENDS = {"gave-up": "gave_up", "hooks-and-limits": "stopped", "stop-reason": "failed", "secrets": "failed"}
"""Kinds after which there is no object, and how the run must end then. After all others there is one."""

FIRST_TRY = {"sse-quirks", "usage-cost", "http-errors", "resume-fallback", "stream-disconnect"}
"""Kinds of the transport, which spend no attempt that the caller did not ask for."""


def test_there_is_one_script_for_every_kind_of_the_casebook():
    kinds = {json.loads(line)["kind"] for line in CASES.read_text("utf-8").split("\n") if line}
    assert set(BAD_KINDS) == kinds


@pytest.mark.parametrize("kind", BAD_KINDS)
def test_a_bad_model_ends_in_the_good_object_or_as_it_must(kind):
    model = BadModel(kind, good=GOOD)
    result = lastcall.run("Report.", output=Report, model=model, config=lastcall.RunConfig(max_turns=8))
    assert outcome_name(result.outcome) == ENDS.get(kind, "answered")
    assert "sk-ant-REDACT" not in json.dumps(result.envelope())
    if kind not in ENDS:
        assert result.output == Report.model_validate(GOOD)
        assert result.attempts[-1].verdict == "accepted"
        assert (result.attempts[0].verdict == "accepted") == (len(result.attempts) == 1)


@pytest.mark.parametrize("kind", sorted(FIRST_TRY))
def test_what_the_transport_does_costs_no_attempt(kind):
    result = lastcall.run("Report.", output=Report, model=BadModel(kind, good=GOOD))
    assert [a.verdict for a in result.attempts if a.verdict != "retracted"] == ["accepted"]


@pytest.mark.parametrize("output", [list[int], dict[str, float], Report | None, str], ids=str)
@pytest.mark.parametrize("kind", BAD_KINDS)
def test_on_any_contract_what_comes_back_passed_it(kind, output):
    result = lastcall.run("Do.", output=output, model=BadModel(kind), config=lastcall.RunConfig(max_turns=8))
    if isinstance(result.outcome, Answered):
        assert lastcall.Contract(output).problems(json.loads(result.object_text)) == ()
        pydantic.TypeAdapter(output).validate_python(result.output)
    else:
        assert result.object_text is None
        assert result.reason


def test_an_unknown_kind_names_those_that_there_are():
    with pytest.raises(ValueError, match="gave-up"):
        BadModel("nonsense")
