"""Hooks as processes and callbacks: what they are told, and that nothing they do harms the run."""

import json
import os
import time

import anyio
import pytest

from lastcall.core.actions import RunHooks
from lastcall.core.policy import native
from lastcall.core.state import RunState, Setting
from lastcall.nouns.attachment import Problem
from lastcall.nouns.hooks import HookDecision, HookPoint, HookVerdict
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.result import Attempt, VerdictKind
from lastcall.nouns.tools import Arguments, Halt, ResultKind, ToolCall, ToolResult, define
from lastcall.runtime.client import Client
from lastcall.runtime.hooks import HookPlace, Hooks
from lastcall.tools import Output
from lastcall.tools.gates import Allowed, DenialKind, Denied
from lastcall.wire.control import ControlResponse
from lastcall.wire.hooks import CallbackHook, CommandHook, HookRule, reminder

P = HookPoint
STATE = RunState(setting=Setting(native()), session_id="s1", run_id="r1")
CALL = ToolCall("c1", "m1", "Bash", Arguments('{"command":"ls"}'))


class Tool:
    """A tool that is only looked at."""

    definition = define("Bash", "acts", {"type": "object"})
    edits_files = False

    def subject(self, arguments):
        return None

    async def run(self, arguments, context):
        return Output("")


def hooks_of(cwd, *rules, client=None, tell=None, profile=Profile.NATIVE):
    environment = {"PATH": os.environ["PATH"], "MARK": "here"}
    place = HookPlace(str(cwd), environment, profile, Reference.RECORDED, lambda: "default", lambda: "id")
    hooks = Hooks(rules, place, client=client)
    hooks.settle("/journal.jsonl", tell)
    hooks.watch(lambda: STATE)
    return hooks


def rule(point, *commands, matcher="", timeout_s=None):
    return HookRule(point, matcher, tuple(CommandHook(c, timeout_s) for c in commands))


def ask(hooks, action):
    return anyio.run(hooks.ask, action, STATE)


def test_a_command_is_told_all_about_the_question(tmp_path):
    hooks = hooks_of(tmp_path, rule(P.BEFORE_CALL, 'cat > told.json; echo "$MARK $CLAUDE_PROJECT_DIR" > env.txt'))
    assert ask(hooks, RunHooks(P.BEFORE_CALL, CALL)) == HookVerdict()
    assert json.loads((tmp_path / "told.json").read_text()) == {
        "session_id": "s1",
        "transcript_path": "/journal.jsonl",
        "cwd": str(tmp_path),
        "prompt_id": "r1",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "c1",
    }
    assert (tmp_path / "env.txt").read_text() == f"here {tmp_path}\n"


@pytest.mark.parametrize(
    ("action", "more"),
    [
        (RunHooks(P.PROMPT, text="go"), {"prompt": "go"}),
        (
            RunHooks(P.STOP, text="bye", active=True),
            {"stop_hook_active": True, "last_assistant_message": "bye", "background_tasks": [], "session_crons": []},
        ),
        (RunHooks(P.STOP), {"stop_hook_active": False, "background_tasks": [], "session_crons": []}),
        (
            RunHooks(P.AFTER_CALL, CALL, ToolResult("c1", ResultKind.OK, "out", display={"x": 1})),
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c1", "tool_response": {"x": 1}, "duration_ms": 0},
        ),
        (
            RunHooks(P.REJECTED, attempt=Attempt(2, "c1", "m", VerdictKind.REJECTED, (Problem("/n", "type", "must be integer"),), '{"n":"x"}')),
            {
                "tool_use_id": "c1", "model": "m", "attempt": 2, "verdict": "rejected", "draft": '{"n":"x"}',
                "problems": [{"path": "/n", "keyword": "type", "message": "must be integer"}],
            },
        ),
        (
            RunHooks(P.AFTER_FAILURE, CALL, ToolResult("c1", ResultKind.FAILED, "no", True)),
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c1", "error": "no", "is_interrupt": False, "duration_ms": 0},
        ),
    ],
)  # fmt: skip
def test_each_point_adds_what_it_is_about(tmp_path, action, more):
    ask(hooks_of(tmp_path, rule(action.point, "cat > told.json")), action)
    told = json.loads((tmp_path / "told.json").read_text())
    common = {"session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "hook_event_name"}
    assert {k: v for k, v in told.items() if k not in common} == more


def test_exit_code_2_blocks_and_a_command_that_reads_nothing_is_no_fault(tmp_path):
    hooks = hooks_of(tmp_path, rule(P.STOP, "echo not yet >&2; exit 2", "exit 3"))
    big = RunHooks(P.STOP, text="x" * 1_000_000)
    assert ask(hooks, big) == HookVerdict(("not yet",))


def test_a_command_that_takes_too_long_says_nothing_and_is_ended(tmp_path):
    hooks = hooks_of(tmp_path, rule(P.STOP, "echo $$ > pid; sleep 60; echo no >&2; exit 2", timeout_s=0.3))
    began = time.monotonic()
    assert ask(hooks, RunHooks(P.STOP)) == HookVerdict()
    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_a_command_leaves_running_does_not_hold_up_the_run(tmp_path):
    hooks = hooks_of(tmp_path, rule(P.STOP, "sleep 60 & echo $! > pid; echo later >&2; exit 2"))
    began = time.monotonic()
    assert ask(hooks, RunHooks(P.STOP)) == HookVerdict(("later",))
    assert time.monotonic() - began < 10


def test_a_command_that_cannot_be_run_says_nothing(tmp_path):
    hooks = hooks_of(tmp_path / "gone", rule(P.STOP, "true"))
    assert ask(hooks, RunHooks(P.STOP)) == HookVerdict()


def test_the_same_command_is_asked_once_and_matchers_choose(tmp_path):
    one = "echo x >> seen.txt"
    hooks = hooks_of(
        tmp_path,
        rule(P.BEFORE_CALL, one, one),
        rule(P.BEFORE_CALL, one, matcher="Bash"),
        rule(P.BEFORE_CALL, "exit 2", matcher="Read"),
    )
    assert ask(hooks, RunHooks(P.BEFORE_CALL, CALL)) == HookVerdict()
    assert (tmp_path / "seen.txt").read_text() == "x\n"


def test_events_tell_who_was_asked_and_what_came_of_it(tmp_path):
    told = []
    hooks = hooks_of(
        tmp_path, rule(P.BEFORE_CALL, "echo hello; echo oops >&2; exit 1"), tell=lambda *frame: told.append(frame)
    )
    ask(hooks, RunHooks(P.BEFORE_CALL, CALL))
    names = {"hook_id": "id", "hook_name": "PreToolUse:Bash", "hook_event": "PreToolUse"}
    said = {"output": "hello\noops\n", "stdout": "hello\n", "stderr": "oops\n", "exit_code": 1, "outcome": "error"}
    assert told == [("hook_started", names), ("hook_response", {**names, **said})]


def test_points_are_those_that_somebody_wants_to_hear_of():
    hooks = Hooks(
        [HookRule(P.STOP, "", ()), HookRule(P.BEFORE_CALL, "Bash", ()), HookRule(P.AFTER_CALL, "StructuredOutput", ())],
        HookPlace("", {}, Profile.NATIVE, Reference.RECORDED, lambda: "", lambda: ""),
    )
    assert hooks.any
    assert hooks.points("StructuredOutput") == {P.STOP, P.AFTER_CALL}
    assert hooks.points(None) == {P.STOP}


# -- callbacks --------------------------------------------------------------------------------------------------------


def test_a_callback_is_asked_and_its_json_counts():
    frames = []
    client = Client(frames.append, lambda: "q1")
    hooks = hooks_of("/", HookRule(P.BEFORE_CALL, "", (CallbackHook("h1"),)), client=client)
    verdicts = []

    async def drive():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            decision = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
            client.hear(ControlResponse("q1", {"hookSpecificOutput": decision}))

    async def run():
        verdicts.append(await hooks.ask(RunHooks(P.BEFORE_CALL, CALL), STATE))

    anyio.run(drive)
    assert verdicts == [HookVerdict(decision=HookDecision.DENY, reason="no")]
    request = frames[0]["request"]
    assert (request["subtype"], request["callback_id"], request["tool_use_id"]) == ("hook_callback", "h1", "c1")


def test_a_callback_of_a_client_that_is_gone_says_nothing():
    client = Client(lambda frame: None, lambda: "q")
    client.close()
    callback = HookRule(P.STOP, "", (CallbackHook("h1"),))
    assert ask(hooks_of("/", callback, client=client), RunHooks(P.STOP)) == HookVerdict()
    assert ask(hooks_of("/", callback), RunHooks(P.STOP)) == HookVerdict()


# -- ordinary tools ---------------------------------------------------------------------------------------------------


def gate_of(hooks, *, rules=None, ask=None):
    async def open_gate(tool, arguments, call):
        return Allowed(arguments)

    async def nobody(tool, arguments, call):
        return Denied("nobody can be asked", DenialKind.USER)

    inner = rules or nobody
    return hooks.gate(inner, inner, ask), open_gate


def json_rule(**special):
    said = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **special}})
    return rule(P.BEFORE_CALL, f"echo '{said}'")


def passes(gate):
    return anyio.run(gate, Tool(), {"command": "ls"}, CALL)


def test_a_hook_denies_allows_or_changes_a_call(tmp_path):
    gate, _ = gate_of(hooks_of(tmp_path, json_rule(permissionDecision="deny", permissionDecisionReason="no")))
    assert passes(gate) == Denied("no", DenialKind.HOOK)
    gate, _ = gate_of(hooks_of(tmp_path, json_rule(permissionDecision="allow", updatedInput={"command": "pwd"})))
    assert passes(gate) == Allowed({"command": "pwd"})
    gate, _ = gate_of(hooks_of(tmp_path))
    assert passes(gate) == Denied("nobody can be asked", DenialKind.USER)


def test_what_a_rule_denies_no_hook_allows(tmp_path):
    async def by_rule(tool, arguments, call):
        return Denied("by rule", DenialKind.RULE)

    gate, _ = gate_of(hooks_of(tmp_path, json_rule(permissionDecision="allow")), rules=by_rule)
    assert passes(gate) == Denied("by rule", DenialKind.RULE)


def test_a_hook_may_have_somebody_asked(tmp_path):
    async def somebody(tool, arguments, call):
        return Allowed({"asked": True})

    gate, _ = gate_of(hooks_of(tmp_path, json_rule(permissionDecision="ask")), ask=somebody)
    assert passes(gate) == Allowed({"asked": True})
    gate, _ = gate_of(hooks_of(tmp_path, json_rule(permissionDecision="ask")))
    assert passes(gate) == Denied("nobody can be asked", DenialKind.USER)


def test_a_hook_may_end_the_run_with_the_call(tmp_path):
    stop = rule(P.BEFORE_CALL, """echo '{"continue":false,"stopReason":"enough"}'""")
    gate, _ = gate_of(hooks_of(tmp_path, stop))
    assert passes(gate) == Denied("nobody can be asked", DenialKind.USER, Halt("enough"))


def test_what_hooks_say_after_a_call_is_for_the_model_alone(tmp_path):
    hooks = hooks_of(tmp_path, rule(P.AFTER_CALL, "echo look >&2; exit 2"), rule(P.AFTER_FAILURE, "exit 0"))
    done = ToolResult("c1", ResultKind.OK, "out", reminder="before")
    told = reminder("PostToolUse:Bash hook blocking error: look")
    assert anyio.run(hooks.after, CALL, done, 5) == ToolResult("c1", ResultKind.OK, "out", reminder=f"before\n{told}")
    failed = ToolResult("c1", ResultKind.FAILED, "no", True)
    assert anyio.run(hooks.after, CALL, failed, 5) == failed
    denied = ToolResult("c1", ResultKind.DENIED, "no", True)
    assert anyio.run(hooks.after, CALL, denied, 5) is denied
