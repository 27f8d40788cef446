"""Runs as lines of the standard logging."""

from __future__ import annotations

import logging

import pytest

import lastcall
from lastcall.testing import ScriptedModel

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def played():
    def double(n: int) -> int:
        return n * 2

    call = {"call": {"name": "double", "input": {"n": 4711}}}
    model = ScriptedModel(call, {"object": {"n": "secret words"}}, {"object": {"n": 8}})
    return lastcall.run("The prompt.", output=COUNT, model=model, tools=[double])


def test_each_kind_of_line_has_its_logger_and_none_holds_content(caplog):
    with caplog.at_level(logging.DEBUG, "lastcall"):
        played()
    assert {record.name for record in caplog.records} == {
        "lastcall.run", "lastcall.model", "lastcall.tool", "lastcall.attempt",
    }  # fmt: skip
    assert "1 rejected /n type" in caplog.text
    assert "answered, 2 attempts" in caplog.text
    assert [word for word in ("The prompt", "4711", "9422", "secret") if word in caplog.text] == []


def test_failures_are_warnings(caplog):
    overloaded = {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with caplog.at_level(logging.INFO, "lastcall"):
        lastcall.run("x", model=ScriptedModel(overloaded, {"status": 400, "error": {"type": "x", "message": "y"}}))
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO", "WARNING", "WARNING"]
    assert "retry 1 in" in caplog.text
    assert "request lost: bad_request (status 400)" in caplog.text


def test_the_variable_shows_lines_on_standard_error(monkeypatch, capsys):
    logger = logging.getLogger("lastcall")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    monkeypatch.setenv("LASTCALL_LOG", "debug")
    lastcall.run("x", model=ScriptedModel("Hello."))
    lastcall.run("x", model=ScriptedModel("Hello."))
    shown = capsys.readouterr().err
    assert shown.count("lastcall.run INFO") == 4
    assert "lastcall.model DEBUG request 1" in shown
    logger.setLevel(logging.NOTSET)


def test_a_run_that_breaks_says_that_it_was_cancelled(caplog):
    def broken(request):
        raise KeyError

    with caplog.at_level(logging.INFO, "lastcall"), pytest.raises(KeyError):
        lastcall.run("x", model=ScriptedModel(broken))
    assert "cancelled" in caplog.text
