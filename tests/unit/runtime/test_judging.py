"""Validators that never end: the loop stays free, and the run ends when something says so."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel, field_validator

import lastcall
from lastcall.contract import compile_contract
from lastcall.contract.from_types import schema_of
from lastcall.contract.rules import TypeRule
from lastcall.core.events import Interrupted
from lastcall.nouns.result import Answered, Cancelled, Limit, Signal, Stopped
from lastcall.runtime import driver as driver_module
from lastcall.runtime.judging import Unanswered
from lastcall.testing import ScriptedModel
from runtime_tools import make_driver, run_driver

GATE, BEGAN = threading.Event(), threading.Event()
SEEN: ContextVar[str] = ContextVar("seen", default="")
HEARD: list[str] = []


class Endless(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def waits(cls, value: int) -> int:
        HEARD.append(SEEN.get())
        BEGAN.set()
        if value == 0:
            GATE.wait()
        if value == 9:
            raise KeyError("nine")
        return value


def contract():
    schema, loader = schema_of(Endless)
    rule = TypeRule("Endless", loader)
    return compile_contract(schema, rules=(rule,), loader=rule.load)


def test_the_deadline_ends_a_run_whose_validator_never_does():
    began = time.monotonic()
    driver = make_driver([{"object": {"a": 0}}], contract=contract(), deadline_s=0.2, deadline_words="0.2s")
    result = run_driver(driver)
    assert result.outcome == Stopped(Limit.DEADLINE, "0.2s")
    assert [p.message for p in result.attempts[0].problems] == [
        "the validators of Endless did not finish in time, so the object was not taken"
    ]
    assert result.usage.output_tokens is not None
    assert time.monotonic() - began < 8


def test_an_interrupt_ends_it_too():
    driver = make_driver([{"object": {"a": 0}}], contract=contract())

    async def main():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(interrupt)
            return await driver.run(())

    async def interrupt():
        await anyio.to_thread.run_sync(BEGAN.wait)
        driver.post(Interrupted(Signal.INTERRUPT, "u"))

    BEGAN.clear()
    assert anyio.run(main).outcome == Cancelled(Signal.INTERRUPT)


def test_one_object_has_its_time_and_then_another_may_be_sent(monkeypatch):
    monkeypatch.setattr(driver_module, "PATIENCE_S", 0.1)
    driver = make_driver([{"object": {"a": 0}}, {"object": {"a": 3}}], contract=contract())
    result = run_driver(driver)
    assert isinstance(result.outcome, Answered)
    assert result.output == Endless(a=3)
    assert [a.verdict for a in result.attempts] == ["rejected", "accepted"]
    assert driver.state.contract.rules[0].name == "Endless"
    assert not isinstance(driver.state.contract.rules[0], Unanswered)


def test_validators_see_the_context_of_the_run():
    HEARD.clear()
    SEEN.set("here")
    model = ScriptedModel({"object": {"a": 9}}, {"object": {"a": 4}})
    result = lastcall.run("x", output=Endless, model=model)
    assert result.output == Endless(a=4)
    assert set(HEARD) == {"here"}
    assert "KeyError" in result.attempts[0].problems[0].message


@pytest.mark.slow
def test_a_thread_that_is_left_behind_keeps_no_process_from_ending(tmp_path):
    (tmp_path / "shapes.py").write_text(
        "import threading\nfrom pydantic import BaseModel, field_validator\n"
        "class A(BaseModel):\n    a: int\n    @field_validator('a')\n    @classmethod\n"
        "    def waits(cls, v):\n        threading.Event().wait()\n"
    )
    (tmp_path / "s.json").write_text('[{"object": {"a": 1}}]')
    command = [sys.executable, "-m", "lastcall", "-p", "x", "--model", f"scripted:{tmp_path}/s.json"]
    command += ["--json-schema", "shapes:A", "--deadline", "1s", "--no-session-persistence"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (14, b"")
