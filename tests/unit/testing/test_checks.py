"""The checks for third parties pass what keeps its promises and name what does not."""

from __future__ import annotations

import anyio
import pytest
from msgspec.structs import replace

import lastcall
from lastcall.core.events import ReplyEnded, ReplyStarted
from lastcall.journal.load import load
from lastcall.journal.store import create_journal
from lastcall.nouns.tools import define
from lastcall.testing import MemoryJournal, ScriptedModel, check_journal, check_provider, check_tool
from lastcall.tools import Output
from lastcall.tools.files import ReadFile


def test_our_own_parts_pass(tmp_path):
    anyio.run(check_provider, lambda: ScriptedModel("Hello."))
    anyio.run(check_provider, lambda: ScriptedModel({"status": 400, "error": {"type": "x", "message": "no"}}))
    (tmp_path / "a.txt").write_text("one", "utf-8")

    async def read():
        return await check_tool(ReadFile(), {"file_path": str(tmp_path / "a.txt")}, cwd=str(tmp_path))

    assert "one" in anyio.run(read).content
    memory = MemoryJournal()
    check_journal(memory, lambda: [record for step in memory.steps for record in step.records])
    path = str(tmp_path / "journal.jsonl")
    check_journal(create_journal(path), lambda: list(load(path).records))


def test_a_function_as_a_tool_passes_with_arguments_made_from_its_schema():
    @lastcall.tool
    def double(n: int) -> int:
        """Twice the number."""
        return n * 2

    assert isinstance(anyio.run(check_tool, double), Output)


class Wrong(ScriptedModel):
    """A provider with one fault."""

    def __init__(self, fault):
        super().__init__("Hello.")
        self.fault = fault

    async def stream(self, request):
        heard = [event async for event in super().stream(request)]
        for event in self.fault(heard):
            yield event


def double_block(heard):
    blocks = [event for event in heard if type(event).__name__ == "BlockEnded"]
    return [*heard[:-1], *blocks, heard[-1]]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda heard: [], "no event"),
        (lambda heard: heard[:-1], "the last event"),
        (lambda heard: [*heard, heard[-1]], "the last event"),
        (lambda heard: [event for event in heard if not isinstance(event, ReplyStarted)], "before its ReplyStarted"),
        (lambda heard: [replace(event, request=1) for event in heard], "names request 1"),
        (lambda heard: ["text", *heard], "str is no event"),
        (double_block, "the same uuid"),
        (
            lambda heard: [replace(e, message_id="") if isinstance(e, ReplyStarted | ReplyEnded) else e for e in heard],
            "no message id",
        ),
    ],
)
def test_a_provider_that_breaks_a_promise_is_told_which(fault, words):
    with pytest.raises(AssertionError, match=words):
        anyio.run(check_provider, lambda: Wrong(fault))


class Plain:
    """A tool that can be wrong in one way."""

    edits_files = False

    def __init__(self, answer="ok", **changes):
        given = {"name": "plain", "description": "Plain.", "input_schema": {"type": "object"}, **changes}
        self.definition = define(**given)
        self.answer = answer

    def subject(self, arguments):
        return None

    async def run(self, arguments, context):
        return self.answer(arguments) if callable(self.answer) else self.answer


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (Plain(Output("x"), name="StructuredOutput"), "finishing tool"),
        (Plain(Output("x"), description=" "), "no description"),
        (Plain(Output("x"), finishing=True), "calls itself"),
        (Plain(Output("x"), input_schema={"type": 3}), "cannot be used"),
        (Plain(Output("x"), input_schema={"type": "array"}), "not of type object"),
        (Plain("text"), "not an Output"),
        (Plain(Output(3)), "is no text"),
        (Plain(lambda given: given.update(x=1) or Output("x")), "changes its arguments"),
    ],
)
def test_a_tool_that_breaks_a_promise_is_told_which(tool, words):
    with pytest.raises(AssertionError, match=words):
        anyio.run(check_tool, tool)


def test_arguments_that_the_schema_refuses_are_the_callers_mistake():
    tool = Plain(Output("x"), input_schema={"type": "object", "required": ["a"]})
    with pytest.raises(AssertionError, match="do not fit"):
        anyio.run(check_tool, tool, {})


def test_a_journal_that_forgets_is_told_so():
    class Forgetful(MemoryJournal):
        def append(self, records, *, at, durable=False):
            if not durable:
                super().append(records, at=at)

    class Emptied(MemoryJournal):
        def close(self):
            self.steps.clear()

    forgetful = Forgetful()
    with pytest.raises(AssertionError, match="does not hold"):
        check_journal(forgetful, lambda: [record for step in forgetful.steps for record in step.records])
    emptied = Emptied()
    with pytest.raises(AssertionError, match="lost a step"):
        check_journal(emptied, lambda: [record for step in emptied.steps for record in step.records])
    check_journal(emptied)
