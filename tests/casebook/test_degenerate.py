"""Stubs that only satisfy the schema are caught, honest short answers are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.contract.suspicion import degenerate, strings
from lastcall.contract.verdicts import Accepted, Rejected
from lastcall.errors import BadSchema
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments
from validation_tools import lines

SCHEMA = {
    "type": "object",
    "properties": {"overview": {"type": "string"}, "cause": {"type": "string"}, "hits": {"type": "integer"}},
    "required": ["overview", "cause", "hits"],
}
SHORT = {"overview": "The disk of db-1 filled up.", "cause": "Log rotation was off.", "hits": "3"}
LONG = {
    "overview": "The disk of db-1 filled up at 02:10 and every write failed until the volume was grown by hand.",
    "cause": "Log rotation had been switched off for a test of the new collector and nobody switched it on again.",
    "hits": "3",
}
STUBS = [
    "test", "Test", "testing", "N/A", "n/a", "string", "...", "…", "TBD", "TODO", "todo", "placeholder", "-", "--", "?", "",
    " ", "example", "sample", "foo", "bar", "xxx", "x", "lorem ipsum", "<string>", "[placeholder]", "your text here",
    "insert text here", "to be determined", "dummy",
]  # fmt: skip


def judged(draft: Any, value: Any, schema: Any = SCHEMA) -> Any:
    """What the guard says of an object after a rejected draft, as the core asks it."""
    contract = compile_contract(schema_from_value(schema, profile=Profile.NATIVE))
    before, after = (contract.judge(Arguments(json.dumps(v, ensure_ascii=False))) for v in (draft, value))
    if not isinstance(before, Rejected) or not isinstance(after, Accepted):
        return "unfit"
    drafts = (json.dumps(draft, ensure_ascii=False),)
    return degenerate(after.text, drafts, (before.problems,), schema_from_value(schema).value)


def test_there_are_thirty_different_stubs():
    assert len(set(STUBS)) == 30


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize("draft", [SHORT, LONG], ids=["short", "long"])
def test_a_stub_is_caught_after_a_draft_of_any_length(stub, draft):
    problem = judged(draft, {"overview": stub, "cause": stub, "hits": 1})
    assert problem is not None
    assert problem.keyword == "degenerate"


def honest() -> list[tuple[str, Any, Any, Any]]:
    """Valid instances of the realistic schemas, each after a draft of it with a slip that models make."""
    schemas = {s["sid"]: s["schema"] for s in lines("schemas", exact=False) if s["source"] == "realistic"}
    out: list[tuple[str, Any, Any, Any]] = []
    for case in lines("cases", exact=False):
        value = case["instance"]
        if case["sid"] not in schemas or not case["valid"] or not isinstance(value, dict) or not value:
            continue
        if not all(text.strip() for _, text in strings(value)):
            continue  # a corpus has empty texts; an honest answer says something
        first = next(iter(value))
        slips = [
            {"result": value},
            {**value, first: {"item": value[first]}},
            {key: member for key, member in value.items() if key != first},
            {**value, "unasked": "A remark that nobody asked for, and that is longer than all the rest of the object."},
        ]
        out += [(case["id"], schemas[case["sid"]], slip, value) for slip in slips]
    return out


def test_two_hundred_honest_answers_raise_no_alarm():
    asked, alarms = 0, []
    for name, schema, draft, value in honest():
        try:
            verdict = judged(draft, value, {k: v for k, v in schema.items() if k != "$schema"})
        except BadSchema:
            continue
        if verdict == "unfit":
            continue
        asked += 1
        if verdict is not None:
            alarms.append((name, draft, value, verdict.message))
        if asked == 400:
            break
    assert asked >= 200
    assert alarms == []


@pytest.mark.parametrize(
    "listed", [{"enum": ["test", "prod", 3]}, {"const": "test"}, {"anyOf": [{"const": "test"}, {"enum": ["none"]}]}]
)
def test_a_word_that_the_schema_lists_is_no_placeholder(listed):
    schema = {"type": "object", "properties": {"env": listed, "hits": {"type": "integer"}}}
    assert judged({"env": "staging", "hits": "3"}, {"env": "test", "hits": 3}, schema) is None
    free = {"type": "object", "properties": {"env": {"type": "string"}, "hits": {"type": "integer"}}}
    assert judged({"env": "staging", "hits": "3"}, {"env": "test", "hits": 3}, free) is not None


SHORT_ANSWERS = [
    "no", "yes", "ok", "none found", "0 matches", "unknown host db-9", "A", "PASS", "n/a for this model", "-3",
    "it failed", "Ann", "x86", "v1.2", "main", "todo list app", "foo.py", "examples/", "string theory", "placeholder text removed",
]  # fmt: skip


@pytest.mark.parametrize("words", SHORT_ANSWERS)
def test_a_short_answer_after_a_short_draft_is_taken(words):
    draft = {"overview": "?!", "cause": "Rotation was off.", "hits": "3"}
    assert judged(draft, {"overview": words, "cause": "Rotation was off.", "hits": 3}) is None
