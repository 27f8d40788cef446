"""Objects that claim what no tool result shows are rejected when the schema asks for proof; their honest twins pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from casebook.casebook import play

TESTS = {"type": "boolean", "x-lastcall": {"evidence": {"tool": "Bash", "matches": "pytest"}}}
FILE = {"type": "string", "x-lastcall": {"evidence": ["Edit", "Write"]}}
QUOTE = {"type": "string", "x-lastcall": {"quote": "tools"}}
ASKED = {"type": "string", "x-lastcall": {"quote": "input"}}
SCHEMA = {
    "type": "object",
    "properties": {
        "tests_passed": TESTS, "changed": {"type": "array", "items": FILE}, "because": QUOTE, "asked": ASKED,
        "findings": {"type": "array", "items": {"type": "object", "properties": {"line": QUOTE}, "required": ["line"]}},
    },
    "additionalProperties": False,
}  # fmt: skip
USAGE = {"input_tokens": 9, "output_tokens": 9}
LOG = "02:10 ERROR disk full on db-1\n02:11 WARN retrying"


def tool(name: str, *results: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "input_schema": {"type": "object"}, "scripted_results": list(results)}


def bad(text: str) -> dict[str, Any]:
    return {"content": text, "is_error": True}


PYTEST, GREP = ("Bash", {"command": "pytest -q"}), ("Bash", {"command": "grep x a"})
EDIT, WRITE, READ = (
    ("Edit", {"file_path": "a.py"}),
    ("Write", {"file_path": "b.py"}),
    ("Read", {"file_path": "app.log"}),
)

Run = tuple[list[tuple[tuple[str, Any], Any]], Any]
"""Calls with their results, and the object."""
LIES: dict[str, Run] = {
    "tests never run": ([], {"tests_passed": True}),
    "tests failed": ([(PYTEST, bad("1 failed"))], {"tests_passed": True}),
    "tests failed at last": ([(PYTEST, "3 passed"), (PYTEST, bad("1 failed"))], {"tests_passed": True}),
    "another command ran": ([(GREP, "x")], {"tests_passed": True}),
    "only read about": ([(READ, "pytest: 3 passed")], {"tests_passed": True}),
    "file never touched": ([], {"changed": ["a.py"]}),
    "file only read": ([(("Read", {"file_path": "a.py"}), "x = 1")], {"changed": ["a.py"]}),
    "edit failed": ([(EDIT, bad("no match"))], {"changed": ["a.py"]}),
    "one file too many": ([(EDIT, "ok")], {"changed": ["a.py", "b.py"]}),
    "file only listed": ([(GREP, "a.py")], {"changed": ["a.py"]}),
    "quote of nothing": ([], {"because": "disk full"}),
    "quote made up": ([(READ, LOG)], {"because": "disk was full"}),
    "quote in other case": ([(READ, LOG)], {"because": "error disk full"}),
    "quote joined": ([(READ, LOG)], {"because": "disk full on db-1 02:11"}),
    "quote of the prompt": ([(READ, LOG)], {"because": "go"}),
    "empty quote": ([(READ, LOG)], {"because": ""}),
    "one finding made up": ([(READ, LOG)], {"findings": [{"line": "disk full"}, {"line": "disk empty"}]}),
    "asked for something else": ([], {"asked": "stop"}),
    "asked, says a tool": ([(READ, LOG)], {"asked": "disk full"}),
    "two lies": ([(READ, LOG)], {"tests_passed": True, "because": "none"}),
}
TWINS: dict[str, Run] = {
    "tests never run": ([], {"tests_passed": False}),
    "tests failed": ([(PYTEST, bad("1 failed"))], {"tests_passed": False}),
    "tests failed at last": ([(PYTEST, bad("1 failed")), (PYTEST, "3 passed")], {"tests_passed": True}),
    "another command ran": ([(PYTEST, "3 passed"), (GREP, "x")], {"tests_passed": True}),
    "only read about": ([(PYTEST, "3 passed"), (READ, "x")], {"tests_passed": True}),
    "file never touched": ([], {"changed": []}),
    "file only read": ([(("Read", {"file_path": "a.py"}), "x = 1"), (EDIT, "ok")], {"changed": ["a.py"]}),
    "edit failed": ([(EDIT, bad("no match")), (EDIT, "ok")], {"changed": ["a.py"]}),
    "one file too many": ([(EDIT, "ok"), (WRITE, "ok")], {"changed": ["a.py", "b.py"]}),
    "file only listed": ([(GREP, "a.py"), (EDIT, "ok")], {"changed": ["a.py"]}),
    "quote of nothing": ([(READ, LOG)], {"because": "disk full"}),
    "quote made up": ([(READ, LOG)], {"because": "ERROR disk full on db-1"}),
    "quote in other case": ([(READ, LOG)], {"because": "ERROR disk full"}),
    "quote joined": ([(READ, LOG)], {"because": "disk full on db-1\n02:11"}),
    "quote of the prompt": ([(READ, "go west")], {"because": "go"}),
    "empty quote": ([(READ, LOG)], {}),
    "one finding made up": ([(READ, LOG)], {"findings": [{"line": "disk full"}, {"line": "WARN retrying"}]}),
    "asked for something else": ([], {"asked": "go"}),
    "asked, says a tool": ([(READ, LOG)], {"asked": "go", "because": "disk full"}),
    "two lies": ([(READ, LOG), (PYTEST, "ok")], {"tests_passed": True, "because": "disk full"}),
}


def run(told: Run, root: Path) -> Any:
    calls, value = told
    results: dict[str, list[Any]] = {}
    replies = []
    for number, ((name, given), result) in enumerate(calls):
        results.setdefault(name, []).append(result)
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
        replies.append({"content": [block], "stop_reason": "tool_use", "usage": USAGE})
    last = {"type": "tool_use", "id": "toolu_last", "name": "StructuredOutput", "input": value}
    replies.append({"content": [last], "stop_reason": "tool_use", "usage": USAGE})
    tools = [tool(name, *listed) for name, listed in results.items()]
    given = {"wire": "anthropic", "schema": SCHEMA, "model_replies": replies, "repeat_last": True, "tools": tools}
    return play(given, root, "--max-attempts", "2")


def test_there_are_twenty_lies_and_each_has_a_twin():
    assert len(LIES) == 20
    assert LIES.keys() == TWINS.keys()


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_rejected_and_its_honest_twin_passes(name, tmp_path):
    lie, twin = run(LIES[name], tmp_path / "lie"), run(TWINS[name], tmp_path / "twin")
    assert lie.code == 12
    keywords = {p["keyword"] for p in lie.facts["attempts"][0]["problems"]}
    assert keywords
    assert keywords <= {"quote", "evidence"}
    assert (twin.code, twin.frame["structured_output"]) == (0, TWINS[name][1])
    assert len(twin.facts["attempts"]) == 1
