"""Settings to rules, answers to verdicts. The compat sentences are recorded ones."""

from __future__ import annotations

import pytest

from lastcall.errors import BadConfig
from lastcall.nouns.hooks import HookDecision, HookPoint, HookVerdict
from lastcall.nouns.profile import Profile, Reference
from lastcall.wire.hooks import (
    About,
    Answer,
    CallbackHook,
    CommandHook,
    HookRule,
    answer_of_command,
    combine,
    read_client_rules,
    read_rules,
    reminder,
)

P = HookPoint
NATIVE, COMPAT = Profile.NATIVE, Profile.COMPAT


def rules_of(hooks, profile=NATIVE):
    return read_rules(hooks, where="settings.json", profile=profile)


def command(text="true", **more):
    return {"type": "command", "command": text, **more}


# -- rules ------------------------------------------------------------------------------------------------------------


def test_settings_name_points_matchers_commands_and_times():
    hooks = {
        "PreToolUse": [{"matcher": "Bash|Read", "hooks": [command("a", timeout=3), command("b")]}],
        "Stop": [{"hooks": [command("c")]}, {"hooks": []}],
    }
    assert rules_of(hooks) == (
        HookRule(P.BEFORE_CALL, "Bash|Read", (CommandHook("a", 3.0), CommandHook("b"))),
        HookRule(P.STOP, "", (CommandHook("c"),)),
    )


def test_a_rejected_attempt_is_a_point_of_ours_that_the_reference_and_its_clients_do_not_know():
    hooks = {"AttemptRejected": [{"hooks": [command("a")]}]}
    assert rules_of(hooks) == (HookRule(P.REJECTED, "", (CommandHook("a"),)),)
    assert rules_of(hooks, COMPAT) == ()
    assert read_client_rules({"AttemptRejected": [{"hookCallbackIds": ["1"]}]}) == ()


def test_what_a_hook_says_of_a_rejected_attempt_is_advice_for_the_model():
    said = [
        Answer("x", 2, "", "Use digits."),
        Answer("", value={"hookSpecificOutput": {"additionalContext": "No units."}}),
    ]
    assert combine(said, About(P.REJECTED)).context == (
        reminder("Use digits."),
        reminder("AttemptRejected hook additional context: No units."),
    )


@pytest.mark.parametrize("timeout", [True, "3", 0, -1, None, float("inf")])
def test_what_is_no_time_is_none(timeout):
    (rule,) = rules_of({"Stop": [{"hooks": [command(timeout=timeout)]}]})
    assert rule.hooks == (CommandHook("true"),)


@pytest.mark.parametrize(
    ("hooks", "words"),
    [
        ([], "no object"),
        ({"Sotp": []}, "no hook point 'Sotp'"),
        ({"Stop": {}}, "a group of hooks is no object"),
        ({"Stop": [7]}, "a group of hooks is no object"),
        ({"Stop": [{"hooks": 7}]}, "a group of hooks is no object"),
        ({"PreToolUse": [{"matcher": 7, "hooks": []}]}, "no text"),
        ({"PreToolUse": [{"matcher": "(", "hooks": []}]}, "no regular expression"),
        ({"Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}, "no command"),
        ({"Stop": [{"hooks": ["x"]}]}, "no command"),
        ({"Stop": [{"hooks": [{"type": "command"}]}]}, "no command"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(hooks, words):
    with pytest.raises(BadConfig, match=words) as refused:
        rules_of(hooks)
    assert refused.value.where.startswith("settings.json")


def test_in_compat_what_is_unknown_means_nothing():
    assert rules_of({"Sotp": [], "Stop": [{"hooks": [{"type": "prompt"}]}]}, COMPAT) == ()


def test_clients_name_callbacks():
    hooks = {
        "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h1", "h2"], "timeout": 5}, {"matcher": None}, 7],
        "Stop": [{"hookCallbackIds": ["h3"]}],
        "Elsewhere": [{"hookCallbackIds": ["h4"]}],
        "PostToolUse": None,
    }
    assert read_client_rules(hooks) == (
        HookRule(P.BEFORE_CALL, "Bash", (CallbackHook("h1", 5.0), CallbackHook("h2", 5.0))),
        HookRule(P.STOP, "", (CallbackHook("h3"),)),
    )
    assert read_client_rules(None) == ()


@pytest.mark.parametrize(
    ("matcher", "tool", "expected"),
    [
        ("", "Bash", True), ("*", "Bash", True), ("Bash", "Bash", True), ("Bash", "BashOutput", False),
        ("Read|Bash", "Bash", True), ("bash", "Bash", False), ("mcp__.*", "mcp__a__b", True), ("^Ba", "Bash", True),
        (".*Write", "Bash", False),
    ],
)  # fmt: skip
def test_a_matcher_is_all_names_or_an_expression(matcher, tool, expected):
    assert HookRule(P.BEFORE_CALL, matcher, ()).concerns(tool) is expected


def test_points_without_a_tool_have_no_matcher():
    assert HookRule(P.STOP, "Bash", ()).concerns("")


# -- answers ----------------------------------------------------------------------------------------------------------


def test_json_counts_only_from_a_command_that_ended_well():
    said = answer_of_command("c", 0, ' {"continue": false}\n', "")
    assert said.value == {"continue": False}
    assert answer_of_command("c", 1, '{"continue": false}', "").value is None
    assert answer_of_command("c", 0, '{"continue": ', "").value is None
    assert answer_of_command("c", 0, "words", "").value is None


def verdict(answer, point, profile=NATIVE, *, tool="", prompt="", reference=Reference.RECORDED):
    return combine([answer], About(point, tool, prompt, profile, reference))


def test_exit_code_2_keeps_back_what_the_point_is_about():
    said = Answer("cmd", 2, "", "no\n")
    assert verdict(said, P.STOP) == HookVerdict(("no",))
    assert verdict(said, P.STOP, COMPAT) == HookVerdict(("[cmd]: no\n",))
    assert verdict(said, P.PROMPT) == HookVerdict(("no",))
    assert verdict(said, P.PROMPT, COMPAT, prompt="go") == HookVerdict(
        ("UserPromptSubmit operation blocked by hook:\n[cmd]: no\n\n\nOriginal prompt: go",)
    )
    denied = verdict(said, P.BEFORE_CALL, COMPAT, tool="Bash")
    assert denied == HookVerdict(decision=HookDecision.DENY, reason="PreToolUse:Bash hook error: [cmd]: no\n")
    assert verdict(said, P.BEFORE_CALL, tool="Bash") == HookVerdict(decision=HookDecision.DENY, reason="no")
    told = verdict(said, P.AFTER_CALL, COMPAT, tool="Bash")
    assert told == HookVerdict(context=(reminder("PostToolUse:Bash hook blocking error: [cmd]: no\n"),))


def test_a_hook_without_words_still_blocks():
    assert verdict(Answer("cmd", 2), P.STOP) == HookVerdict(("Blocked by hook",))


@pytest.mark.parametrize("point", P)
@pytest.mark.parametrize("answer", [Answer("c", 1, "out", "err"), Answer("c", 0), Answer("c", failed=True, code=2)])
def test_other_codes_and_failures_say_nothing(point, answer):
    assert verdict(answer, point, COMPAT) == HookVerdict()


def test_what_a_prompt_hook_prints_is_told_to_the_model_and_other_hooks_output_is_not():
    assert verdict(Answer("c", 0, "it rains\n"), P.PROMPT).context == (
        reminder("UserPromptSubmit hook success: it rains"),
    )
    assert verdict(Answer("c", 0, "it rains\n"), P.STOP) == HookVerdict()


def value(**members):
    return Answer("cmd", value=members)


def special(**members):
    return value(hookSpecificOutput=members)


def test_a_call_is_allowed_denied_asked_about_or_changed():
    allowed = special(permissionDecision="allow", updatedInput={"a": 1})
    assert verdict(allowed, P.BEFORE_CALL) == HookVerdict(decision=HookDecision.ALLOW, arguments='{"a":1}')
    denied = special(permissionDecision="deny", permissionDecisionReason="not yet")
    for profile in Profile:
        assert verdict(denied, P.BEFORE_CALL, profile, tool="Bash") == HookVerdict(
            decision=HookDecision.DENY, reason="not yet"
        )
    assert verdict(special(permissionDecision="ask"), P.BEFORE_CALL).decision is HookDecision.ASK
    older = value(decision="block", reason="old words")
    assert verdict(older, P.BEFORE_CALL) == HookVerdict(decision=HookDecision.DENY, reason="old words")
    assert verdict(value(decision="approve"), P.BEFORE_CALL).decision is HookDecision.ALLOW
    assert verdict(special(permissionDecision="perhaps"), P.BEFORE_CALL) == HookVerdict()


def test_the_later_version_puts_the_hook_before_the_reason():
    denied = special(permissionDecision="deny", permissionDecisionReason="not yet")
    said = verdict(denied, P.BEFORE_CALL, COMPAT, tool="StructuredOutput", reference=Reference.LATER)
    assert said.reason == "PreToolUse:StructuredOutput hook error: not yet"


def test_the_end_may_be_asked_for_with_a_reason():
    assert verdict(value(**{"continue": False, "stopReason": "enough"}), P.STOP) == HookVerdict(halt="enough")
    assert verdict(value(**{"continue": False}), P.AFTER_CALL) == HookVerdict(halt="")
    assert verdict(value(**{"continue": True}), P.AFTER_CALL) == HookVerdict()


def test_a_json_block_gives_its_reason_and_what_it_adds():
    blocked = value(decision="block", reason="again", hookSpecificOutput={"additionalContext": "see log"})
    assert verdict(blocked, P.STOP, COMPAT).blocked == ("again",)
    told = verdict(blocked, P.AFTER_CALL, COMPAT, tool="Bash").context
    assert told == (
        reminder('PostToolUse:Bash hook blocking error from command: "cmd": again'),
        reminder("PostToolUse:Bash hook additional context: see log"),
    )
    assert verdict(blocked, P.AFTER_FAILURE, tool="Bash").context[0] == reminder(
        "PostToolUseFailure:Bash hook blocking error: again"
    )
    assert verdict(value(decision="block"), P.STOP).blocked == ("Blocked by hook",)
    assert verdict(special(additionalContext="x"), P.PROMPT).context == (
        reminder("UserPromptSubmit hook additional context: x"),
    )
    assert verdict(value(hookSpecificOutput=7), P.STOP) == HookVerdict()


def test_of_several_hooks_the_strictest_counts_and_everything_is_passed_on():
    answers = [
        special(permissionDecision="allow", updatedInput={"a": 1}, additionalContext="one"),
        special(permissionDecision="deny", permissionDecisionReason="no"),
        special(permissionDecision="ask", permissionDecisionReason="who knows", updatedInput={"a": 2}),
    ]
    assert combine(answers, About(P.BEFORE_CALL, "Bash")) == HookVerdict(
        decision=HookDecision.DENY,
        reason="no",
        arguments='{"a":2}',
        context=(reminder("PreToolUse:Bash hook additional context: one"),),
    )
    assert combine([], About(P.STOP)) == HookVerdict()
    two = combine([Answer("a", 2, "", "x"), Answer("b", 2, "", "y"), value(**{"continue": False})], About(P.STOP))
    assert two == HookVerdict(("x", "y"), halt="")
