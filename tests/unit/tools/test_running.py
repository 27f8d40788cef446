"""One call in, one answer out, whatever the tool does."""

from __future__ import annotations

import anyio
import pytest
from msgspec import Struct

from lastcall.contract.plain_names import plain_tool
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause, define
from lastcall.tools import Output, Toolbox
from lastcall.tools.files import ReadFile
from lastcall.tools.gates import Allowed, DenialKind, Denied, permission_gate
from lastcall.tools.permissions import Permissions
from lastcall.tools.running import MAX_RESULT_CHARS, Runner, cancelled

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "words": {"type": "array", "items": {"type": "string"}},
        "inner": {"type": "object", "required": ["x"], "additionalProperties": False, "properties": {"x": {}}},
    },
    "required": ["n"],
    "additionalProperties": False,
}


class Tool:
    """A tool that does what the test says."""

    edits_files = False

    def __init__(self, does, *, name="Do", schema=SCHEMA):
        self.definition = define(name, "Does it.", schema, read_only=True)
        self.does = does
        self.got = []

    def subject(self, arguments):
        return None

    async def run(self, arguments, context):
        self.got.append(arguments)
        found = self.does(arguments) if callable(self.does) else self.does
        return await found if hasattr(found, "__await__") else found


def open_gate():
    return permission_gate(Permissions(), Profile.NATIVE)


def runner(*tools, gate=None, profile=Profile.NATIVE, known=(), finishing=("StructuredOutput",)):
    return Runner(Toolbox(tools, known=known), gate or open_gate(), profile=profile, finishing=finishing)


@pytest.fixture
def answer(wait, context, call):
    def run(tool, arguments=None, *, name="Do", **choices):
        tools = [tool] if tool else []
        made = (
            arguments if isinstance(arguments, ToolCall) else call(name, {"n": 1} if arguments is None else arguments)
        )
        return wait(runner(*tools, **choices).run, made, context())

    return run


# -- successes


def test_what_the_tool_gives_is_the_answer(answer):
    found = answer(Tool(Output("done", display={"took": 1})))
    assert found == ToolResult("toolu_1", ResultKind.OK, "done", display={"took": 1})
    assert answer(Tool(Output("done"))).display == "done"
    assert answer(Tool(Output("done", says_no_error=True))).is_error is False
    assert answer(Tool(Output("[]", blocks=True))).blocks
    assert answer(Tool(Output(""))).content == "(Do completed with no output)"


def test_a_file_is_read_from_call_to_answer(answer, tmp_path, call, compat):
    """conformance: parallel/good-read, coercion/other-tool."""
    (tmp_path / "a.txt").write_text("hello\nthere\n")
    made = call("Read", {"file_path": str(tmp_path / "a.txt"), "limit": "1"})
    found = answer(ReadFile(), made, profile=compat)
    assert (found.content, found.is_error, found.kind) == ("1\thello", None, ResultKind.OK)
    strict = answer(ReadFile(), made)
    assert strict.kind is ResultKind.BAD_INPUT
    assert "The parameter `limit` type is expected as `integer` but provided as `string`" in strict.content


# -- failures


def test_a_failed_tool_is_told_as_an_error(answer):
    assert answer(Tool(Output("no such thing", failed=True))) == ToolResult(
        "toolu_1", ResultKind.FAILED, "no such thing", is_error=True, display="Error: no such thing"
    )
    assert answer(Tool(Output("x", failed=True, display={"a": 1}))).display == {"a": 1}


def raising(error):
    def act(arguments):
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("bad value"), "Do failed: ValueError: bad value"),
        (KeyError(), "Do failed: KeyError"),
        (
            ExceptionGroup("several", [OSError("a"), ExceptionGroup("x", [TypeError("b")])]),
            "Do failed: OSError: a; TypeError: b",
        ),
        (RecursionError("too deep"), "Do failed: RecursionError: too deep"),
        (MemoryError(), "Do failed: MemoryError"),
    ],
)
def test_whatever_a_tool_raises_is_told_without_a_traceback(answer, error, words):
    found = answer(Tool(raising(error)))
    assert (found.kind, found.content, found.is_error) == (ResultKind.FAILED, words, True)


def test_an_endless_error_text_is_cut(answer):
    found = answer(Tool(raising(ValueError("x" * 1_000_000))))
    assert len(found.content) < 5_000


def test_a_subject_or_gate_that_is_a_bug_is_not_hidden(wait, context, call):
    async def broken(tool, arguments, call):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wait(runner(Tool(Output("x")), gate=broken).run, call("Do", {"n": 1}), context())


# -- caps


def test_a_flood_keeps_head_and_tail(answer):
    found = answer(Tool(Output("A" * 150_000 + "Z" * 150_000)))
    assert found.content.startswith("A" * 60_000 + "\n\n[… 200,000 characters left out …]\n\nZ")
    assert found.content.endswith("Z" * 40_000)
    assert len(found.content) < MAX_RESULT_CHARS + 100
    assert answer(Tool(Output("B" * MAX_RESULT_CHARS))).content == "B" * MAX_RESULT_CHARS


def test_an_output_with_its_own_cap_or_of_blocks_is_left_alone(answer):
    long = "A" * 200_000
    assert answer(Tool(Output(long, capped=True))).content == long
    assert answer(Tool(Output(long, blocks=True))).content == long


def test_a_display_is_a_json_value(answer):
    class Point(Struct):
        x: int

    assert answer(Tool(Output("t", display={"p": Point(1), 2: (3,)}))).display == {"p": {"x": 1}, "2": (3,)}
    assert answer(Tool(Output("t", display=object()))).display == "t"


# -- calls that are not run


def test_an_unknown_tool_is_told_as_recorded(answer, compat):
    """conformance: parallel/unknown-tool-good, tools/unknown-tool-lower, tools/disallowed-tool-call."""
    assert answer(None, name="Nope", profile=compat) == ToolResult(
        "toolu_1",
        ResultKind.UNKNOWN_TOOL,
        "<tool_use_error>Error: No such tool available: Nope</tool_use_error>",
        is_error=True,
        display="Error: No such tool available: Nope",
    )
    assert answer(None, name="structuredoutput", profile=compat).display == (
        "Error: No such tool available: structuredoutput"
    )
    assert answer(None, name="Bash", profile=compat, known=["Bash"]).content == (
        "<tool_use_error>Error: No such tool available: Bash. Bash is disabled for this session, in subagents as well as "
        "here.</tool_use_error>"
    )


def test_natively_an_unknown_tool_is_told_what_there_is(answer):
    tool = Tool(Output("x"))
    assert "Available: Do, StructuredOutput." in answer(tool, name="Nope").content
    assert "Call StructuredOutput (case counts)." in answer(tool, name="structuredoutput").content
    assert "Available: none." in answer(None, name="Nope", finishing=()).content
    assert tool.got == []


def test_wrong_arguments_are_told_as_recorded(answer, compat):
    """conformance: tools/read-bad-input."""
    for profile in (compat, Profile.NATIVE):
        found = answer(ReadFile(), {"path": 3}, name="Read", profile=profile)
        assert found.content == (
            "<tool_use_error>InputValidationError: Read failed due to the following issues:\nThe required parameter "
            "`file_path` is missing\nAn unexpected parameter `path` was provided</tool_use_error>"
        )
        assert found.kind is ResultKind.BAD_INPUT
        assert found.is_error
        assert found.display.startswith("InputValidationError: ")


@pytest.mark.parametrize(
    ("arguments", "issue"),
    [
        ("[]", "The parameter `` type is expected as `object` but provided as `array`"),
        ('"x"', "The parameter `` type is expected as `object` but provided as `string`"),
        ("null", "The parameter `` type is expected as `object` but provided as `null`"),
        ("true", "The parameter `` type is expected as `object` but provided as `boolean`"),
        ("1.5", "The parameter `` type is expected as `object` but provided as `number`"),
        ('{"n": 1, "words": [0]}', "The parameter `words[0]` type is expected as `string` but provided as `number`"),
        ('{"n": 1, "words": {}}', "The parameter `words` type is expected as `array` but provided as `object`"),
        ('{"n": 1, "inner": {}}', "The required parameter `inner.x` is missing"),
        ('{"n": 1, "inner": {"x": 1, "y": 2}}', "An unexpected parameter `inner.y` was provided"),
        ('{"n": 0}', "The parameter `n`: /n: must be >= 1"),
    ],
)
def test_each_issue_has_its_words(answer, arguments, issue):
    tool = Tool(Output("x"))
    found = answer(tool, arguments)
    assert found.kind is ResultKind.BAD_INPUT
    assert found.content == (
        f"<tool_use_error>InputValidationError: Do failed due to the following issue:\n{issue}</tool_use_error>"
    )
    assert tool.got == []


def test_a_flood_of_issues_is_cut(answer):
    found = answer(Tool(Output("x")), {"n": 1} | {f"x{n}": 1 for n in range(500)})
    assert found.content.count("\n") < 30
    assert "+480 more" in found.content


def test_unreadable_arguments_are_told_as_recorded(answer, compat):
    """conformance: tools/read-unparsable."""
    text = '{"file_path": "/x'
    unreadable = Unreadable(text, UnreadableCause.TRUNCATED, "the text ends inside a string", 1, 18, 17, 17)
    made = ToolCall("toolu_1", "msg", "Read", unreadable)
    found = answer(ReadFile(), made, profile=compat)
    assert found.content == (
        "<tool_use_error>InputValidationError: Read was called with input that could not be parsed as JSON.\nYou sent "
        '(first 17 of 17 bytes): {"file_path": "/x\nCommon causes: unescaped backslashes in file paths (use / or \\\\), '
        "unescaped control characters, or truncated output. Retry with valid JSON.</tool_use_error>"
    )
    assert found.display == "InputValidationError: JSON parse failed (17 bytes)"
    assert "line 1, column 18" in answer(ReadFile(), made).content


def test_a_foreign_schema_that_is_none_leaves_the_judgement_to_the_tool(answer):
    tool = Tool(Output("x"), schema={"type": "nonsense"})
    assert answer(tool, {"anything": 1}).content == "x"


def test_integers_beyond_a_double_reach_the_tool_exactly(answer):
    tool = Tool(Output("x"))
    answer(tool, '{"n": 9007199254740993}')
    assert tool.got == [{"n": 9007199254740993}]


def test_a_denied_call_is_not_run(answer):
    async def no(tool, arguments, call):
        return Denied("Permission to use Do has been denied.", DenialKind.RULE)

    tool = Tool(Output("x"))
    assert answer(tool, gate=no) == ToolResult(
        "toolu_1",
        ResultKind.DENIED,
        "Permission to use Do has been denied.",
        is_error=True,
        display="Error: Permission to use Do has been denied.",
        meta={"non_execution_kind": "permission-rule"},
    )
    assert tool.got == []


def test_arguments_that_the_gate_changed_are_checked_again(answer):
    def gate_with(arguments):
        async def gate(tool, old, call):
            return Allowed(arguments)

        return gate

    tool = Tool(Output("x"))
    assert answer(tool, gate=gate_with({"n": 5})).kind is ResultKind.OK
    assert answer(tool, gate=gate_with({"n": 0})).kind is ResultKind.BAD_INPUT
    assert tool.got == [{"n": 5}]


# -- cancellation


def test_cancelling_the_call_s_own_scope_is_an_answer(context, call):
    async def main():
        started = anyio.Event()

        async def forever():
            started.set()
            await anyio.sleep_forever()

        scope = anyio.CancelScope()
        made = call("Do", {"n": 1})
        found = []

        async def run():
            found.append(await runner(Tool(lambda _: forever())).run(made, context(), scope=scope))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await started.wait()
            scope.cancel()
        return found, made

    (found,), made = anyio.run(main)
    assert found == cancelled(made, Profile.NATIVE)
    assert found.kind is ResultKind.CANCELLED


def test_any_other_cancellation_is_not_swallowed(context, call):
    async def main():
        with anyio.move_on_after(0.01) as outer:
            await runner(Tool(lambda _: anyio.sleep_forever())).run(call("Do", {"n": 1}), context())
            return "swallowed"
        return outer.cancelled_caught

    assert anyio.run(main) is True


def test_a_cancelled_call_is_told_as_recorded(call, compat):
    """conformance: control/interrupt-during-tool."""
    found = cancelled(call("Bash"), compat)
    assert found.content.startswith("The user doesn't want to proceed with this tool use.")
    assert found.display == "User rejected tool use"
    assert found.meta == {"non_execution_kind": "user-rejected"}
    assert "unknown whether it took effect" in cancelled(call("Bash"), Profile.NATIVE).content


# -- names that the model sees otherwise

ODD = {
    "type": "object",
    "properties": {"Order ID": {"type": "integer"}, "n": {"type": "integer"}},
    "required": ["Order ID"],
    "additionalProperties": False,
}


@pytest.fixture
def named(wait, context, call):
    """A call of a tool with odd names, shown with plain ones; what the tool and its gate got."""
    tool = Tool(Output("done"), schema=ODD)
    shown = plain_tool(tool.definition)
    plain, _ = shown.input_schema["properties"]
    seen = []

    async def gate(tool, arguments, call):
        seen.append((arguments, call.arguments.text))
        return Allowed(arguments)

    def run(arguments, *, as_plain=True, **choices):
        made = call("Do", {plain if name == "plain" else name: value for name, value in arguments.items()})
        under_test = runner(tool, gate=gate, **choices)

        async def answer():
            return await under_test.run(made, context(), shown=shown if as_plain else tool.definition)

        return wait(answer)

    run.tool, run.seen, run.plain = tool, seen, plain
    return run


def test_a_tool_and_who_guards_it_get_the_tools_own_names(named):
    assert named({"plain": 7, "n": 1}).kind is ResultKind.OK
    assert named.tool.got == [{"Order ID": 7, "n": 1}]
    assert named.seen == [({"Order ID": 7, "n": 1}, '{"Order ID":7,"n":1}')]


def test_the_model_is_told_of_problems_in_the_names_that_it_sees(named):
    found = named({"n": 1})
    assert found.kind is ResultKind.BAD_INPUT
    assert f"The required parameter `{named.plain}` is missing" in found.content
    assert f"The parameter `{named.plain}` type is expected as `integer`" in named({"plain": "x"}).content
    assert "unexpected parameter `Order ID`" in named({"plain": 1, "Order ID": 1}).content
    assert named.tool.got == []


def test_names_of_an_earlier_deployment_are_understood_where_the_tools_own_are_shown(named):
    assert named({"plain": 7}, as_plain=False).kind is ResultKind.OK
    assert named({"Order ID": 8}, as_plain=False).kind is ResultKind.OK
    assert named.tool.got == [{"Order ID": 7}, {"Order ID": 8}]
    found = named({"plain": 1, "Order ID": 1}, as_plain=False)
    assert "One parameter was provided under two names" in found.content


def test_compat_takes_names_as_they_are(named, compat):
    assert named({"plain": 7}, as_plain=False, profile=compat).kind is ResultKind.BAD_INPUT


def test_a_call_is_told_in_the_tools_own_names(call, context):
    tool = Tool(Output("done"), schema=ODD)
    under_test = runner(tool)
    (plain, _) = plain_tool(tool.definition).input_schema["properties"]
    assert under_test.in_own_names(call("Do", {plain: 7})).arguments.text == '{"Order ID":7}'
    unreadable = ToolCall("t", "m", "Do", Unreadable("{", UnreadableCause.TRUNCATED, "it ends", 1, 2, 1, 1))
    assert under_test.in_own_names(unreadable) is unreadable
    unknown = call("Other", {plain: 7})
    assert under_test.in_own_names(unknown) is unknown
