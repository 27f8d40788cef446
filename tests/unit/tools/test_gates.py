"""The gate that asks the rules."""

from __future__ import annotations

import pytest

from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import define
from lastcall.tools import CommandSubject, PathSubject
from lastcall.tools.files import ReadFile
from lastcall.tools.gates import Allowed, DenialKind, Denied, permission_gate
from lastcall.tools.permissions import Mode, Permissions, parse_rules


class Write:
    definition = define("Write", "Write a file.", {"type": "object"})
    edits_files = True

    def subject(self, arguments):
        return PathSubject(arguments["file_path"])

    async def run(self, arguments, context):
        raise AssertionError


class Shell:
    definition = define("Bash", "Run a command.", {"type": "object"})
    edits_files = False

    def subject(self, arguments):
        return CommandSubject(arguments["command"])

    async def run(self, arguments, context):
        raise AssertionError


ARGUMENTS = {"file_path": "/w/out.txt", "command": "echo"}


@pytest.fixture
def passing(wait, call):
    def ask_gate(tool, *, allow="", deny="", mode=Mode.DEFAULT, profile=Profile.COMPAT, ask=None):
        rules = Permissions(parse_rules([allow], where=""), parse_rules([deny], where=""), mode)
        gate = permission_gate(rules, profile, ask=ask)
        return wait(gate, tool, ARGUMENTS, call(tool.definition.name, ARGUMENTS))

    return ask_gate


def test_allowed_calls_go_on_with_their_arguments(passing):
    assert passing(ReadFile()) == Allowed(ARGUMENTS)
    assert passing(Write(), allow="Write") == Allowed(ARGUMENTS)


def test_a_denied_call_is_told_as_recorded(passing):
    expected = Denied("Permission to use Write has been denied.", DenialKind.RULE)
    assert passing(Write(), deny="Write") == expected
    assert passing(Write(), deny="Write", profile=Profile.NATIVE) == expected


def test_nobody_to_ask_is_told_as_recorded(passing):
    """conformance: tools/write-denied-then-good."""
    assert passing(Write()) == Denied(
        "Claude requested permissions to write to /w/out.txt, but you haven't granted it yet.", DenialKind.USER
    )
    assert passing(Shell()).text == "Claude requested permissions to use Bash, but you haven't granted it yet."
    assert "nobody can be asked" in passing(Shell(), profile=Profile.NATIVE).text


def test_modes_that_deny_say_so(passing):
    """conformance: tools/bash-dontask."""
    denied = passing(Shell(), mode=Mode.DONT_ASK)
    assert denied.kind is DenialKind.RULE
    assert denied.text.startswith(
        "Permission to use Bash has been denied because Claude Code is running in don't ask mode. IMPORTANT: You *may* "
    )
    assert denied.text.endswith("Let the user decide how to proceed.")
    assert "Claude" not in passing(Shell(), mode=Mode.DONT_ASK, profile=Profile.NATIVE).text
    assert "plan mode" in passing(Shell(), mode=Mode.PLAN).text


def test_somebody_who_can_be_asked_decides_what_the_rules_leave_open(passing):
    asked = []

    async def ask(tool, arguments, call):
        asked.append((tool.definition.name, arguments, call.call_id))
        return Allowed({"command": "echo safe"})

    assert passing(Shell(), ask=ask) == Allowed({"command": "echo safe"})
    assert asked == [("Bash", ARGUMENTS, "toolu_1")]
    for settled in ({"deny": "Bash"}, {"allow": "Bash"}, {"mode": Mode.DONT_ASK}, {"mode": Mode.BYPASS}):
        passing(Shell(), ask=ask, **settled)
    assert len(asked) == 1
