"""The reference's official Python client drives lastcall unchanged, against a scripted endpoint."""

import json

import anyio
import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultError,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

pytestmark = pytest.mark.slow  # a process each

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string", "minLength": 3}, "count": {"type": "integer", "minimum": 0}},
    "required": ["title", "count"],
    "additionalProperties": False,
}
GOOD = {"title": "Disk full", "count": 3}
OTHER = {"title": "Disk mended", "count": 0}
BAD = {"title": "Disk full", "count": -1}


def call(call_id, value, name="StructuredOutput", **more):
    return {"content": [{"type": "tool_use", "id": call_id, "name": name, "input": value}], **more}


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def options_for(bench, **choices):
    env = {**bench.env, **choices.pop("env", {})}
    base = {
        "cli_path": bench.command,
        "env": env,
        "cwd": str(bench.cwd),
        "model": "haiku",
        "tools": [],
        "setting_sources": [],
    }
    base["output_format"] = {"type": "json_schema", "schema": SCHEMA}
    return ClaudeAgentOptions(**{**base, **choices})


async def once(bench, prompt="Report it.", **choices):
    return [m async for m in query(prompt=prompt, options=options_for(bench, **choices))]


def run(awaitable_function):
    return anyio.run(awaitable_function)


def result_of(messages):
    (result,) = [m for m in messages if isinstance(m, ResultMessage)]
    return result


def answers_in(messages):
    return [
        block
        for m in messages
        if isinstance(m, UserMessage) and isinstance(m.content, list)
        for block in m.content
        if isinstance(block, ToolResultBlock)
    ]


def test_a_query_with_an_output_format_gives_the_object(bench):
    bench.script(call("toolu_1", BAD), call("toolu_2", GOOD))
    messages = run(lambda: once(bench))
    result = result_of(messages)
    assert result.structured_output == GOOD
    assert (result.subtype, result.is_error, result.num_turns) == ("success", False, 3)
    assert json.loads(result.result) == GOOD
    assert isinstance(messages[0], SystemMessage)
    assert messages[0].subtype == "init"
    assert [a.content for a in answers_in(messages)] == [
        "Output does not match required schema: /count: must be >= 0",
        "Structured output provided successfully",
    ]
    assert [r["tools"][-1]["name"] for r in bench.requests] == ["StructuredOutput"] * 2


def test_text_alone_is_asked_again_once_and_then_is_the_result(bench):
    bench.script(text("I would rather not."), text("Still not."))
    result = result_of(run(lambda: once(bench)))
    assert (result.subtype, result.is_error, result.result) == ("success", False, "Still not.")
    assert result.structured_output is None
    assert len(bench.requests) == 2


def test_running_out_of_attempts_is_an_error_result(bench):
    bench.script(*(call(f"toolu_{n}", BAD) for n in range(5)))

    async def drive():
        messages = query(prompt="Report it.", options=options_for(bench))
        seen = [await anext(messages) for _ in range(12)]
        with pytest.raises(ResultError):
            await anext(messages)
        return seen

    result = result_of(run(drive))
    assert (result.subtype, result.is_error) == ("error_max_structured_output_retries", True)
    assert result.errors == ["Failed to provide valid structured output after 5 attempts"]
    assert result.structured_output is None


def test_a_schema_that_is_none_ends_before_any_message(bench):
    bench.script(text("never asked"))

    async def drive():
        options = options_for(bench, output_format={"type": "json_schema", "schema": {"type": "banana"}})
        with pytest.raises(ClaudeSDKError):
            await anext(query(prompt="Report it.", options=options))

    run(drive)
    assert bench.requests == []


def test_an_object_that_a_fallback_took_back_is_not_the_result(bench):
    refusal = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "cyber", "explanation": "E"}}
    bench.script(call("toolu_2", OTHER), fable=[call("toolu_1", GOOD, **refusal)])
    messages = run(lambda: once(bench, model="fable"))
    assert result_of(messages).structured_output == OTHER
    (fallback,) = [m for m in messages if isinstance(m, SystemMessage) and m.subtype == "model_refusal_fallback"]
    assert len(fallback.data["retracted_message_uuids"]) == 2


def test_partial_messages_are_raw_events_in_the_providers_order(bench):
    bench.script(call("toolu_1", GOOD))
    messages = run(lambda: once(bench, include_partial_messages=True))
    kinds = [m.event["type"] for m in messages if isinstance(m, StreamEvent)]
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
    pieces = [
        m.event["delta"] for m in messages if isinstance(m, StreamEvent) and m.event["type"] == "content_block_delta"
    ]
    assert json.loads("".join(p["partial_json"] for p in pieces)) == GOOD


def test_several_turns_in_one_session_count_anew(bench):
    bench.script(call("toolu_1", GOOD), text("hm"), call("toolu_2", OTHER))

    async def drive():
        results = []
        async with ClaudeSDKClient(options=options_for(bench)) as client:
            info = await client.get_server_info()
            for prompt in ("one", "two"):
                await client.query(prompt)
                results.append(result_of([m async for m in client.receive_response()]))
        return info, results

    info, results = run(drive)
    assert info["output_style"] == "default"
    assert info["commands"] == []
    assert [r.structured_output for r in results] == [GOOD, OTHER]
    assert [r.num_turns for r in results] == [2, 3]
    assert results[0].session_id == results[1].session_id


def test_tools_of_a_server_in_the_clients_process_are_called(bench):
    seen = []

    @tool("add", "Adds two numbers.", {"a": float, "b": float})
    async def add(arguments):
        seen.append(arguments)
        return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}

    @tool("fail", "Fails.", {})
    async def fail(arguments):
        return {"content": [{"type": "text", "text": "no luck"}], "is_error": True}

    server = create_sdk_mcp_server("calc", tools=[add, fail])
    bench.script(
        call("toolu_1", {"a": 2, "b": 3}, "mcp__calc__add"),
        call("toolu_2", {}, "mcp__calc__fail"),
        call("toolu_3", GOOD),
    )
    messages = run(
        lambda: once(bench, mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add", "mcp__calc__fail"])
    )
    assert result_of(messages).structured_output == GOOD
    assert seen == [{"a": 2, "b": 3}]
    first, second, _ = answers_in(messages)
    assert [b["text"] for b in first.content] == ["5.0" if isinstance(seen[0]["a"], float) else "5"]
    assert second.is_error
    assert "no luck" in json.dumps(second.content)
    names = [t["name"] for t in bench.requests[0]["tools"]]
    assert names == ["mcp__calc__add", "mcp__calc__fail", "StructuredOutput"]
    assert messages[0].data["mcp_servers"] == [{"name": "calc", "status": "connected"}]


async def _note(arguments):
    return {"content": [{"type": "text", "text": f"noted {arguments['words']}"}]}


def notes_server():
    return create_sdk_mcp_server("notes", tools=[tool("note", "Notes words.", {"words": str})(_note)])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (PermissionResultAllow(), "noted hello"),
        (PermissionResultAllow(updated_input={"words": "changed"}), "noted changed"),
        (PermissionResultDeny(message="not today"), "not today"),
    ],
    ids=["allow", "updated input", "deny"],
)
def test_the_client_decides_whether_a_tool_is_called(bench, answer, expected):
    asked = []

    async def decide(name, arguments, context):
        asked.append((name, arguments))
        return answer

    bench.script(call("toolu_1", {"words": "hello"}, "mcp__notes__note"), call("toolu_2", GOOD))

    async def drive():
        options = options_for(bench, mcp_servers={"notes": notes_server()}, can_use_tool=decide)
        async with ClaudeSDKClient(options=options) as client:
            await client.query("note it")
            return [m async for m in client.receive_response()]

    messages = run(drive)
    result = result_of(messages)
    assert asked == [("mcp__notes__note", {"words": "hello"})]
    assert result.structured_output == GOOD
    assert expected in json.dumps(answers_in(messages)[0].content)
    denied = [d["tool_name"] for d in result.permission_denials or []]
    assert denied == (["mcp__notes__note"] if isinstance(answer, PermissionResultDeny) else [])


def test_a_denial_may_stop_the_run(bench):
    async def decide(name, arguments, context):
        return PermissionResultDeny(message="stop", interrupt=True)

    bench.script(call("toolu_1", {"words": "hello"}, "mcp__notes__note"), call("toolu_2", GOOD))

    async def drive():
        options = options_for(bench, mcp_servers={"notes": notes_server()}, can_use_tool=decide)
        async with ClaudeSDKClient(options=options) as client:
            await client.query("note it")
            return [m async for m in client.receive_response()]

    result = result_of(run(drive))
    assert (result.subtype, result.is_error) == ("error_during_execution", True)
    assert len(bench.requests) == 1


def test_hooks_deny_change_and_hear_of_calls(bench):
    heard = []

    async def before(hook_input, tool_use_id, context):
        heard.append((hook_input["hook_event_name"], tool_use_id, hook_input["tool_input"]))
        if tool_use_id == "toolu_1":
            decision = {"permissionDecision": "deny", "permissionDecisionReason": "not yet"}
        else:
            decision = {"permissionDecision": "allow", "updatedInput": OTHER}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

    async def after(hook_input, tool_use_id, context):
        heard.append((hook_input["hook_event_name"], tool_use_id, hook_input["tool_response"]))
        return {}

    async def prompt(hook_input, tool_use_id, context):
        heard.append((hook_input["hook_event_name"], None, hook_input["prompt"]))
        return {
            "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "the disk is /dev/sda"}
        }

    async def stop(hook_input, tool_use_id, context):
        heard.append((hook_input["hook_event_name"], None, hook_input["stop_hook_active"]))
        return {}

    bench.script(call("toolu_1", GOOD), call("toolu_2", GOOD))
    hooks = {
        "PreToolUse": [HookMatcher(matcher="StructuredOutput", hooks=[before])],
        "PostToolUse": [HookMatcher(hooks=[after])],
        "UserPromptSubmit": [HookMatcher(hooks=[prompt])],
        "Stop": [HookMatcher(hooks=[stop])],
    }
    messages = run(lambda: once(bench, hooks=hooks))
    assert result_of(messages).structured_output == OTHER
    assert [a.content for a in answers_in(messages)] == ["not yet", "Structured output provided successfully"]
    assert heard == [
        ("UserPromptSubmit", None, "Report it."),
        ("PreToolUse", "toolu_1", GOOD),
        ("PreToolUse", "toolu_2", GOOD),
        ("PostToolUse", "toolu_2", "Structured output provided successfully"),
        ("Stop", None, False),
    ]
    assert "the disk is /dev/sda" in json.dumps(bench.requests[0]["messages"])


def test_a_hook_cannot_slip_in_what_the_contract_rejects(bench):
    async def before(hook_input, tool_use_id, context):
        decision = {"permissionDecision": "allow", "updatedInput": BAD if tool_use_id == "toolu_1" else GOOD}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

    bench.script(call("toolu_1", GOOD), call("toolu_2", OTHER))
    messages = run(lambda: once(bench, hooks={"PreToolUse": [HookMatcher(hooks=[before])]}))
    assert result_of(messages).structured_output == GOOD
    assert answers_in(messages)[0].content == "Output does not match required schema: /count: must be >= 0"


def test_an_interrupt_ends_the_turn_and_the_next_one_is_whole(bench):
    bench.script(text("thinking about it", delay_ms=20_000), call("toolu_1", GOOD))

    async def drive():
        async with ClaudeSDKClient(options=options_for(bench)) as client:
            await client.query("one")
            while not bench.requests:  # noqa: ASYNC110 -- the endpoint is another thread's
                await anyio.sleep(0.01)
            await client.interrupt()
            first = result_of([m async for m in client.receive_response()])
            await client.query("two")
            second = result_of([m async for m in client.receive_response()])
        return first, second

    first, second = run(drive)
    assert (first.subtype, first.is_error) == ("error_during_execution", True)
    assert second.structured_output == GOOD
    assert "[Request interrupted by user]" in json.dumps(bench.requests[1]["messages"])


def test_the_model_and_the_permission_mode_can_be_changed_between_turns(bench):
    bench.script(call("toolu_1", GOOD), call("toolu_2", {"words": "x"}, "mcp__notes__note"), call("toolu_3", OTHER))

    async def drive():
        options = options_for(bench, mcp_servers={"notes": notes_server()})
        async with ClaudeSDKClient(options=options) as client:
            await client.query("one")
            first = [m async for m in client.receive_response()]
            await client.set_model("sonnet")
            await client.set_permission_mode("bypassPermissions")
            status = await client.get_mcp_status()
            await client.query("two")
            return first, status, [m async for m in client.receive_response()]

    first, status, second = run(drive)
    assert [r["model"] for r in bench.requests] == ["claude-haiku-4-5-20251001", "claude-sonnet-5", "claude-sonnet-5"]
    assert result_of(first).structured_output == GOOD
    assert result_of(second).structured_output == OTHER
    (init,) = [m for m in second if isinstance(m, SystemMessage) and m.subtype == "init"]
    assert (init.data["model"], init.data["permissionMode"]) == ("claude-sonnet-5", "bypassPermissions")
    assert "noted x" in json.dumps(answers_in(second)[0].content)
    assert [(s["name"], s["status"]) for s in status["mcpServers"]] == [("notes", "connected")]


def test_a_session_is_resumed_with_its_history(bench):
    bench.script(call("toolu_1", GOOD), call("toolu_2", OTHER))
    first = result_of(run(lambda: once(bench)))
    second = result_of(run(lambda: once(bench, "And now?", resume=first.session_id)))
    assert second.structured_output == OTHER
    assert second.session_id == first.session_id
    said = json.dumps(bench.requests[1]["messages"])
    assert "Report it." in said
    assert "Disk full" in said
    assert "And now?" in said


def test_a_fork_gets_an_id_of_its_own(bench):
    bench.script(call("toolu_1", GOOD), call("toolu_2", OTHER))
    first = result_of(run(lambda: once(bench)))
    second = result_of(run(lambda: once(bench, "And now?", resume=first.session_id, fork_session=True)))
    assert second.structured_output == OTHER
    assert second.session_id != first.session_id


def test_max_turns_ends_the_run_as_an_error(bench):
    bench.script(call("toolu_1", BAD), call("toolu_2", GOOD))

    async def drive():
        async with ClaudeSDKClient(options=options_for(bench, max_turns=1)) as client:
            await client.query("one")
            return [m async for m in client.receive_response()]

    result = result_of(run(drive))
    assert (result.subtype, result.is_error, result.num_turns) == ("error_max_turns", True, 2)


def test_messages_hold_what_the_client_reads_of_them(bench):
    bench.script(call("toolu_1", GOOD))
    messages = run(lambda: once(bench))
    (said,) = [m for m in messages if isinstance(m, AssistantMessage)]
    (block,) = said.content
    assert isinstance(block, ToolUseBlock)
    assert (said.model, block.id, block.name, block.input) == (
        "claude-haiku-4-5-20251001",
        "toolu_1",
        "StructuredOutput",
        GOOD,
    )
    result = result_of(messages)
    assert result.usage["input_tokens"] == 100
    assert result.total_cost_usd > 0
