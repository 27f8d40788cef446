"""Deciding on an event whose judgement runs code of the caller's: the validators of a type.

Such code may take long or never end. It runs in a thread of its own, so that the loop stays free: a deadline, an
interrupt and a time of its own end the wait, and the object counts as refused, because nothing said that it is good. The
thread is left behind (nothing can stop it); it keeps no process from ending. Code that never lets go of the interpreter's
lock holds everything, here as anywhere in Python.

Must not go in here: rules of a run's end (`core`), functions that are checks (`api.rules`), commands (`runtime.checks`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from copy import copy
from typing import Final, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract
from lastcall.contract.rules import Rule, TypeRule
from lastcall.core.decide import decide
from lastcall.core.events import BlockEnded, Event, HooksFinished, ReplyEnded
from lastcall.core.state import RunState
from lastcall.core.step import Step
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue

PATIENCE_S: Final = 60.0
"""How long the validators of one object may take; as long as a command that checks it."""

T = TypeVar("T")


class Unanswered(Struct, frozen=True):
    """A rule in the place of validators that gave no answer."""

    name: str

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """It refuses whatever it is asked about."""
        del value
        words = f"the validators of {self.name} did not finish in time, so the object was not taken"
        return (Problem("", "type_validator", words),)


def runs_foreign_code(state: RunState, event: Event) -> bool:
    """Whether deciding on this event may run validators of the caller's."""
    contract = state.contract
    if contract is None or not isinstance(event, ReplyEnded | HooksFinished | BlockEnded):
        return False
    return any(isinstance(rule, TypeRule) for rule in contract.rules)


async def decide_aside(state: RunState, event: Event, patience: anyio.CancelScope) -> Step:
    """What the event leads to; where `patience` is over first, what it leads to if the validators refuse."""
    with patience:
        return await _in_own_thread(lambda: decide(state, event))
    assert state.contract is not None
    setting = replace(state.setting, contract=_unanswered(state.contract))
    step = decide(replace(state, setting=setting), event)
    return replace(step, state=replace(step.state, setting=state.setting))


def _unanswered(contract: Contract) -> Contract:
    other = copy(contract)
    rules: list[Rule] = [Unanswered(r.name) if isinstance(r, TypeRule) else r for r in contract.rules]
    other.rules = tuple(rules)
    return other


async def _in_own_thread(function: Callable[[], T]) -> T:
    """What a function returns or raises, from a thread that nobody waits for once this is cancelled."""
    done, token, context = anyio.Event(), anyio.lowlevel.current_token(), copy_context()
    found: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            found.append(context.run(function))
        except BaseException as error:  # noqa: BLE001 -- raised again where it was called
            raised.append(error)
        try:
            anyio.from_thread.run_sync(done.set, token=token)
        except RuntimeError:
            return  # the loop is gone, and whoever waited with it

    threading.Thread(target=work, name="lastcall judging", daemon=True).start()
    await done.wait()
    if raised:
        raise raised[0]
    return found[0]
