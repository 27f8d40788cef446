"""Numbers and times of the command line."""

from __future__ import annotations

import pytest

from lastcall.cli import limits
from lastcall.cli.args import BadFlag, parse
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile


@pytest.mark.parametrize(("words", "most"), [([], 10), (["--max-repeats", "4"], 4), (["--max-repeats", "0"], None)])
def test_repetitions_have_a_bound_unless_it_is_taken_away(words, most):
    assert limits.max_repeats(parse(words)) == most


@pytest.mark.parametrize("value", ["-1", "x", "1.5", "", "1234567890"])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(BadFlag, match="must be a whole number"):
        limits.count(parse([f"--max-budget-tokens={value}"]), "max_budget_tokens", least=1)


@pytest.mark.parametrize(("given", "seconds"), [("90s", 90), ("5m", 300), ("1h", 3600), ("250ms", 0.25), ("7", 7)])
def test_times_have_units(given, seconds):
    assert limits.seconds(given) == seconds


@pytest.mark.parametrize("given", ["0s", "-1", "soon", "1d"])
def test_what_is_no_time_is_refused(given):
    with pytest.raises(BadFlag, match="must be a time such as"):
        limits.seconds(given)


def test_attempts_come_from_the_flag_else_from_the_environment():
    assert limits.attempts(parse(["--max-attempts", "2"]), {"MAX_STRUCTURED_OUTPUT_RETRIES": "9"}, Profile.NATIVE) == 2
    assert limits.attempts(parse([]), {"MAX_STRUCTURED_OUTPUT_RETRIES": " 9x"}, Profile.NATIVE) == 9
    assert limits.attempts(parse([]), {}, Profile.NATIVE) == 5
    assert limits.attempts(parse([]), {"MAX_STRUCTURED_OUTPUT_RETRIES": "0"}, Profile.COMPAT) == 0
    with pytest.raises(BadConfig, match="no number of attempts"):
        limits.attempts(parse([]), {"MAX_STRUCTURED_OUTPUT_RETRIES": "0"}, Profile.NATIVE)
