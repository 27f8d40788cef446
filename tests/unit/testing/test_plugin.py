"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import os
import subprocess
import sys

import pytest

import lastcall


def test_real_requests_are_forbidden():
    with pytest.raises(lastcall.UsageError, match="real requests are forbidden"):
        lastcall.run("x", model="anthropic:claude-haiku-4-5")


def test_an_environment_of_ones_own_does_not_get_around_it():
    config = lastcall.RunConfig(environment={"ANTHROPIC_API_KEY": "k" * 20})
    with pytest.raises(lastcall.UsageError, match="real requests are forbidden"):
        lastcall.run("x", model="anthropic:claude-haiku-4-5", config=config)


@pytest.mark.real_requests
def test_a_marked_test_may():
    assert "LASTCALL_FORBID_REQUESTS" not in os.environ


def test_scripts_answer(scripted_model, lastcall_results):
    assert lastcall.run("x", model=scripted_model("Hello.")).output == "Hello."
    assert [result.output for result in lastcall_results] == ["Hello."]


def test_that_fails(scripted_model):
    schema = {"type": "object", "required": ["total"]}
    result = lastcall.run("x", output=schema, model=scripted_model({"object": {}}))
    assert result.ok


def test_that_fails_without_a_run():
    assert False
"""


def test_the_plugin_forbids_marks_collects_and_shows_the_ledger(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    ran = pytester.runpytest_subprocess("-p", "lastcall.testing.plugin", "-p", "no:lastcall", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=4, failed=2)
    ran.stdout.fnmatch_lines(
        ["*lastcall runs*", "run 1: out_of_attempts: *", "  attempt 1 (scripted): rejected  {}", "*'total'*"]
    )
    assert ran.stdout.str().count("lastcall runs") == 1
