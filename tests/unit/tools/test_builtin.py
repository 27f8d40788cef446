"""What `--tools` and `--disallowedTools` make of the built-in tools."""

from __future__ import annotations

import pytest

from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.tools.builtin import builtin_tools, choose_tools, remarks_on_rules
from lastcall.tools.permissions import Permissions, parse_rules


def chosen(text, *, deny="", profile=Profile.NATIVE):
    permissions = Permissions(deny=parse_rules([deny], where="--disallowedTools"))
    toolbox = choose_tools(builtin_tools(), text, permissions, profile=profile, finishing=("StructuredOutput",))
    return [definition.name for definition in toolbox.definitions], toolbox.switched_off


def test_without_a_choice_all_tools_are_offered():
    assert "Read" in chosen(None)[0]
    assert chosen("default")[0] == chosen(None)[0]
    assert chosen(None)[0] == [definition.name for definition in builtin_tools().definitions]


def test_an_empty_choice_offers_none_and_knows_them_as_switched_off():
    names, switched_off = chosen("")
    assert names == []
    assert {"Read", "Bash", "Write"} <= switched_off


def test_names_choose():
    assert chosen("Read")[0] == ["Read"]
    assert chosen(" Read , StructuredOutput ")[0] == ["Read"]
    assert "Read" in chosen("default,Read")[0]


def test_an_unknown_name_is_refused_natively_and_ignored_in_compat():
    with pytest.raises(BadConfig, match=r"there is no tool Raed \(did you mean Read\?\)") as caught:
        chosen("Raed")
    assert "Read" in caught.value.hint
    assert chosen("Raed", profile=Profile.COMPAT)[0] == []


def test_a_tool_that_is_denied_as_a_whole_is_not_offered():
    assert chosen(None, deny="Read")[0] == [name for name in chosen(None)[0] if name != "Read"]
    assert "Read" in chosen("Read", deny="Read(.env)")[0]


@pytest.mark.parametrize(
    ("rules", "remarks"),
    [
        ("Bash(git log:*) WebFetch mcp__x mcp__x__y StructuredOutput", []),
        ("bash(git:*)", ["--allowedTools: there is no tool bash (did you mean Bash?); the rule changes nothing"]),
        ("Gerp, Gerp(x)", ["--allowedTools: there is no tool Gerp (did you mean Grep?); the rule changes nothing"]),
        ("Teleport", ["--allowedTools: there is no tool Teleport; the rule changes nothing"]),
    ],
)
def test_a_rule_about_a_tool_that_nobody_has_is_remarked_on(rules, remarks):
    assert list(remarks_on_rules([rules], where="--allowedTools", known=["StructuredOutput"])) == remarks


def test_names_of_foreign_tools_choose_nothing_and_are_no_error():
    assert chosen("Read,mcp__server__tool")[0] == ["Read"]
