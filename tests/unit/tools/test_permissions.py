"""Rules, modes and decisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.errors import BadConfig
from lastcall.nouns.tools import define
from lastcall.tools import CommandSubject, PathSubject
from lastcall.tools.files import ReadFile
from lastcall.tools.permissions import (
    Decision,
    Ground,
    Mode,
    Permissions,
    Rule,
    Verdict,
    parse_mode,
    parse_rule,
    parse_rules,
    split_rules,
)


class Shell:
    definition = define("Bash", "Run a command.", {"type": "object"})
    edits_files = False

    def subject(self, arguments):
        return CommandSubject(arguments["command"])

    async def run(self, arguments, context):
        raise AssertionError


class Write:
    definition = define("Write", "Write a file.", {"type": "object"})
    edits_files = True

    def subject(self, arguments):
        return PathSubject(arguments["file_path"])

    async def run(self, arguments, context):
        raise AssertionError


class Service:
    definition = define("mcp__shop__order", "Order.", {"type": "object"})
    edits_files = False

    def subject(self, arguments):
        return None

    async def run(self, arguments, context):
        raise AssertionError


def rules(*texts):
    return parse_rules(texts, where="--allowedTools")


def bash(command, *, allow=(), deny=(), mode=Mode.DEFAULT):
    found = Permissions(rules(*allow), rules(*deny), mode).decide(Shell(), {"command": command})
    return found.decision


# -- reading rules


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Read", Rule("Read")),
        (" Bash ", Rule("Bash")),
        ("Bash(git log:*)", Rule("Bash", "git log:*")),
        ("Bash(npm run build)", Rule("Bash", "npm run build")),
        ("Bash(*)", Rule("Bash")),
        ("Bash()", Rule("Bash")),
        ("mcp__shop__order", Rule("mcp__shop__order")),
        (r"Bash(python -c \(x\):*)", Rule("Bash", "python -c (x):*")),
        (r"Bash(a\\b)", Rule("Bash", r"a\b")),
        ("Bash(echo (x))", Rule("Bash", "echo (x)")),
    ],
)
def test_rules_are_read_as_the_reference_writes_them(text, rule):
    assert parse_rule(text, where="--allowedTools") == rule


@pytest.mark.parametrize("text", ["", "(x)", "Bash(git", "Bash)x(", "two words", "Bash(x)y"])
def test_what_is_no_rule_is_refused_with_the_flag(text):
    with pytest.raises(BadConfig) as caught:
        parse_rule(text, where="--disallowedTools")
    assert caught.value.where == "--disallowedTools"


def test_rules_are_separated_by_commas_or_spaces_outside_of_brackets():
    texts = ["Read, Bash(git log:*),Bash(a, b) Write", "", "mcp__x"]
    assert split_rules(texts, where="") == ("Read", "Bash(git log:*)", "Bash(a, b)", "Write", "mcp__x")
    assert split_rules([r"Bash(echo \)) Read"], where="") == (r"Bash(echo \))", "Read")


@pytest.mark.parametrize("text", ["Bash(git log", "Read)", "Bash(a))"])
def test_brackets_must_match(text):
    with pytest.raises(BadConfig, match="brackets"):
        split_rules([text], where="--allowedTools")


@given(st.lists(st.text(max_size=20), max_size=4))
def test_reading_rules_ends_in_rules_or_in_bad_config(texts):
    try:
        found = parse_rules(texts, where="--allowedTools")
    except BadConfig:
        return
    assert all(rule.tool and not rule.tool.isspace() for rule in found)


def test_modes_have_the_reference_s_words():
    assert [parse_mode(word) for word in ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]] == list(
        Mode
    )
    with pytest.raises(BadConfig, match="bypassPermissions"):
        parse_mode("yolo")


# -- decisions


@pytest.mark.parametrize(
    ("mode", "tool", "decision"),
    [
        (Mode.DEFAULT, Write(), Decision.ASK),
        (Mode.ACCEPT_EDITS, Write(), Decision.ALLOW),
        (Mode.PLAN, Write(), Decision.DENY),
        (Mode.DONT_ASK, Write(), Decision.DENY),
        (Mode.BYPASS, Write(), Decision.ALLOW),
        (Mode.ACCEPT_EDITS, Service(), Decision.ASK),
        *((mode, ReadFile(), Decision.ALLOW) for mode in Mode),
    ],
)
def test_without_rules_the_mode_decides(mode, tool, decision):
    assert Permissions(mode=mode).decide(tool, {"file_path": "x"}).decision is decision


def test_a_decision_tells_its_ground():
    allow, deny = rules("Write"), rules("Write")
    decide = lambda **fields: Permissions(**fields).decide(Write(), {"file_path": "x"})  # noqa: E731
    assert decide(allow=allow) == Verdict(Decision.ALLOW, Ground.RULE)
    assert decide(deny=deny) == Verdict(Decision.DENY, Ground.RULE)
    assert decide(mode=Mode.DONT_ASK) == Verdict(Decision.DENY, Ground.MODE)
    assert decide(mode=Mode.BYPASS) == Verdict(Decision.ALLOW, Ground.MODE)
    assert Permissions().decide(ReadFile(), {"file_path": "x"}) == Verdict(Decision.ALLOW, Ground.READ_ONLY)


def test_deny_wins_over_allow_and_over_bypass():
    both = Permissions(rules("Write", "Read"), rules("Write", "Read"), Mode.BYPASS)
    assert both.decide(Write(), {"file_path": "x"}).decision is Decision.DENY
    assert both.decide(ReadFile(), {"file_path": "x"}).decision is Decision.DENY


def test_plan_mode_is_not_opened_by_a_rule():
    assert Permissions(rules("Write"), (), Mode.PLAN).decide(Write(), {"file_path": "x"}).decision is Decision.DENY


@pytest.mark.parametrize("rule", ["mcp__shop__order", "mcp__shop", "mcp__shop__*"])
def test_a_server_s_name_means_all_of_its_tools(rule):
    assert Permissions(rules(rule)).decide(Service(), {}).decision is Decision.ALLOW


@pytest.mark.parametrize("rule", ["mcp__sho", "mcp__shop__ord", "mcp", "mcp__*", "mcp__shop__order__x"])
def test_a_part_of_a_server_s_name_means_nothing(rule):
    assert Permissions(rules(rule)).decide(Service(), {}).decision is Decision.ASK


def test_content_that_a_tool_has_no_notion_of_denies_all_and_allows_nothing():
    assert Permissions(rules("mcp__shop__order(cheap)")).decide(Service(), {}).decision is Decision.ASK
    assert Permissions((), rules("mcp__shop__order(cheap)")).decide(Service(), {}).decision is Decision.DENY


def test_tools_are_taken_away_by_whole_rules_only():
    permissions = Permissions(deny=rules("StructuredOutput", "Bash(rm:*)", "mcp__shop"))
    assert permissions.denies_tool("StructuredOutput")
    assert permissions.denies_tool("mcp__shop__order")
    assert not permissions.denies_tool("Bash")


# -- commands


@pytest.mark.parametrize(
    "command", ["git log", "git log -3", " git log ", "git log | git log --stat", "git log 'a; rm b'"]
)
def test_a_prefix_allows_commands_that_begin_so(command):
    assert bash(command, allow=["Bash(git log:*)"]) is Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "git logs",
        "git push",
        "git log; rm -rf x",
        "git log && git push",
        "git log\nrm x",
        "git log $(rm x)",
        "git log `rm x`",
        "git log > x",
        "git log & rm x",
        "X=1 git log",
        'git log "$(rm x)"',
        "git log $'\\'' ; rm x #'",
    ],
)
def test_a_prefix_allows_nothing_that_comes_with_it(command):
    assert bash(command, allow=["Bash(git log:*)"]) is Decision.ASK


def test_several_commands_are_allowed_by_several_rules():
    assert bash("git log | head -3", allow=["Bash(git log:*)", "Bash(head:*)"]) is Decision.ALLOW
    assert bash("git log | tail -3", allow=["Bash(git log:*)", "Bash(head:*)"]) is Decision.ASK


def test_a_whole_command_is_allowed_as_it_stands():
    assert bash("make > log && echo $(date)", allow=["Bash(make > log && echo $(date))"]) is Decision.ALLOW
    assert bash("make test", allow=["Bash(make)"]) is Decision.ASK


@pytest.mark.parametrize(
    "command", ["git push", "git push -f", "ls && git push", "X=1 git push", "(git push)", "echo $(git  push)"]
)
def test_a_denied_command_is_denied_wherever_it_hides(command):
    assert bash(command, allow=["Bash"], deny=["Bash(git push:*)"]) is Decision.DENY


def test_other_commands_are_not_denied():
    assert bash("git pushed", allow=["Bash"], deny=["Bash(git push:*)"]) is Decision.ALLOW
    assert bash("git log > git-push-log", allow=["Bash"], deny=["Bash(git push:*)"]) is Decision.ALLOW
    assert bash("make", allow=["Bash"], deny=["Bash(make clean)"]) is Decision.ALLOW
    assert bash("(make clean)", allow=["Bash"], deny=["Bash(make clean)"]) is Decision.DENY


# -- paths


@pytest.mark.parametrize(
    ("pattern", "path", "covers"),
    [
        (".env", ".env", True),
        (".env", "deep/er/.env", True),
        (".env", "/w/.env", True),
        (".env", "x.env", False),
        ("*.pem", "keys/a.pem", True),
        ("*.pem", "keys/a.pem.txt", False),
        ("src/**", "src/a/b.py", True),
        ("src/**", "lib/src/a.py", False),
        ("./src/*.py", "src/a.py", True),
        ("./src/*.py", "src/sub/a.py", False),
        ("/src/a.py", "src/a.py", True),
        ("src", "src/deep/a.py", True),
        ("src/", "src/a.py", True),
        ("//etc/**", "/etc/passwd", True),
        ("//etc", "/etc/passwd", True),
        ("~/.ssh/**", "/home/u/.ssh/id", True),
        ("~/.ssh/**", "~/.ssh/id", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("secret", "x/../secret", True),
        ("secret", "secretary", False),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
    ],
)
def test_path_patterns(pattern, path, covers):
    permissions = Permissions(deny=(Rule("Read", pattern),), cwd="/w", home="/home/u")
    decided = permissions.decide(ReadFile(), {"file_path": path}).decision
    assert (decided is Decision.DENY) is covers
    allowed = Permissions((Rule("Write", pattern),), cwd="/w", home="/home/u").decide(Write(), {"file_path": path})
    assert (allowed.decision is Decision.ALLOW) is covers


def test_a_file_s_real_place_is_asked_about_separately():
    permissions = Permissions(deny=(Rule("Read", ".env"),), cwd="/w")
    assert permissions.denies_path("Read", "/w/sub/.env")
    assert not permissions.denies_path("Write", "/w/.env")
    assert not permissions.denies_path("Read", "/w/env")
