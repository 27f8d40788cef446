"""What enforces each keyword, as lines."""

from __future__ import annotations

from lastcall.cli.explain import explain_lines, table
from lastcall.contract import compile_contract
from lastcall.contract.explain import By, Enforcement
from lastcall.contract.parse import parse_schema
from lastcall.nouns.profile import Profile


def contract(text):
    return compile_contract(parse_schema(text, profile=Profile.NATIVE))


def test_without_a_decoder_the_check_enforces_all_that_is_enforced():
    assert explain_lines(contract('{"type":"object","title":"t"}')) == [
        "(root)  type   the check here",
        "(root)  title  nothing (annotation)",
    ]


def test_a_missing_strict_form_is_told_with_its_reason():
    lines = explain_lines(contract('{"type":"object","additionalProperties":{"type":"string"}}'), rules="reference")
    assert lines[-1].startswith("The decoder does not help: ")


def test_long_places_keep_their_end():
    (line,) = table([Enforcement("/properties/" + "x" * 100 + "/end", "type", (By.GRAMMAR,), "only partly")])
    place, keyword, by = line.split("  ")
    assert (len(place), place[0], place[-4:]) == (60, "…", "/end")
    assert keyword == "type"
    assert by == "the embedded model's grammar (only partly)"
    assert table([]) == []
