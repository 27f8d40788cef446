"""The verdict on arguments that another framework parsed."""

from __future__ import annotations

import anyio
import pytest
from pydantic import BaseModel

import lastcall
from lastcall.interop.judging import contract_of, finishing_tool, judged, refused_by_rules


class Invoice(BaseModel):
    vendor: str
    total: int


def test_what_passes_is_the_objects_text_and_what_does_not_is_lastcalls_words():
    contract = contract_of(Invoice)
    assert judged(contract, {"vendor": "Acme", "total": 3}) == ('{"vendor":"Acme","total":3}', "")
    text, words = judged(contract, {"vendor": "Acme", "total": "3"})
    assert text == ""
    assert "/total: must be integer (got string" in words


def test_a_wrapped_root_is_shown_and_judged_wrapped():
    contract = contract_of(list[int])
    (key,) = finishing_tool(contract).input_schema["properties"]
    text, words = judged(contract, {key: [1, 2]})
    assert (contract.load(text), words) == ([1, 2], "")


def test_rules_refuse_in_their_own_words():
    def small(invoice):
        return invoice.total < 5 or "the total is too large"

    async def known(invoice):
        return invoice.vendor == "Acme"

    contract = lastcall.Contract(Invoice, rules=[small, known])
    assert anyio.run(refused_by_rules, contract, '{"vendor":"Acme","total":3}') == ""
    words = anyio.run(refused_by_rules, contract, '{"vendor":"Umbrella","total":9}')
    assert words.splitlines()[1:] == ["- the total is too large", "- known does not hold"]


def test_what_only_a_run_can_judge_is_refused():
    schema = {"type": "object", "properties": {"q": {"type": "string", "x-lastcall": {"quote": "input"}}}}
    with pytest.raises(lastcall.UsageError, match="run of lastcall"):
        contract_of(schema)
