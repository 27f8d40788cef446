"""No word of an exception is told that may hold what somebody's code read."""

from __future__ import annotations

import re

import pytest

from lastcall.contract.accidents import accident, told
from lastcall.errors import BadConfig


def caught(error):
    with pytest.raises(type(error)) as found:
        raise error
    return found.value


def of_python(code):
    with pytest.raises(Exception) as found:
        exec(code, {})
    return found.value


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("nobody", "NameError: name 'nobody' is not defined"),
        ("(1).nothing", "AttributeError: 'int' object has no attribute 'nothing'"),
    ],
)
def test_words_that_python_made_are_told(code, words):
    assert accident(of_python(code)) == words
    assert told(of_python(code)) == words


def test_a_fault_of_syntax_is_told():
    assert "SyntaxError: " in accident(of_python("x ="))


@pytest.mark.parametrize(
    "error", [KeyError("hunter2"), ImportError("hunter2"), OSError(2, "hunter2"), SystemExit("hunter2")]
)
def test_of_anything_else_kind_and_place_are(error):
    found = caught(error)
    expected = rf"{type(found).__name__} in test_accidents\.py, line \d+"
    assert re.fullmatch(expected, accident(found))
    assert re.fullmatch(expected, told(found))


def test_an_exception_that_was_never_raised_has_no_place():
    assert accident(KeyError("hunter2")) == "KeyError"


def test_code_without_a_file_is_no_place():
    assert accident(of_python("{}['hunter2']")).startswith("KeyError in test_accidents.py")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("no vendor of ours"), "ValueError: no vendor of ours"),
        (AssertionError("too small"), "AssertionError: too small"),
        (BadConfig("wrong", hint="Correct it."), "BadConfig: wrong. Correct it."),
    ],
)
def test_what_is_raised_to_be_told_is_told(error, words):
    assert told(caught(error)) == words
    assert "no vendor" not in accident(caught(error))


def test_an_assertion_without_words_has_its_place():
    assert told(caught(AssertionError())).startswith("AssertionError in test_accidents.py, line ")
