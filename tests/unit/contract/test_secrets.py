"""Secret values are in nothing that is said."""

from decimal import Decimal

from lastcall.contract.secrets import conceal, masked
from lastcall.nouns.attachment import Problem

SECRETS = (("/token", 'hunter"2'), ("/pins", [{"x": 12345}, Decimal("1.25"), True, None, "no"]))


def test_figures_found_at_a_secret_place_are_left_out():
    inside = Problem("/token", "maxLength", "must be shorter", {"limit": 3, "got": "8", "hint": "x"})
    below = Problem("/pins/0", "type", "must be string", {"type": "string", "got": "integer"})
    beside = Problem("/tokens", "type", "must be string", {"got": "integer"})
    assert conceal((inside, below, beside), SECRETS) == (
        Problem("/token", "maxLength", "must be shorter", {"limit": 3}),
        Problem("/pins/0", "type", "must be string", {"type": "string"}),
        beside,
    )


def test_a_secret_is_hidden_in_everybodys_words():
    told = Problem(
        "", "check", 'curl: bad token hunter"2 or hunter\\"2, pin 12345, no', {"said": 'hunter"2', "n": 12345}
    )
    (shown,) = conceal((told,), SECRETS)
    assert shown.message == "curl: bad token [secret] or [secret], pin [secret], no"
    assert shown.params == {"said": "[secret]", "n": 12345}


def test_masking_leaves_the_rest_and_the_original_as_they_are():
    value = {"a/b": [1, {"c": "x"}], "d": None}
    assert masked(value, frozenset({"/a~1b/1/c"})) == {"a/b": [1, {"c": "[secret]"}], "d": None}
    assert masked(value, frozenset({""})) == "[secret]"
    assert value == {"a/b": [1, {"c": "x"}], "d": None}
