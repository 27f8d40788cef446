"""Rules that are Python functions: what a schema and a type cannot say of an object.

A rule gets the object as its type, and what was given as `deps` if it takes a second argument. It refuses by raising
`ValueError` or `AssertionError`, or by returning a sentence, several, or `False`; `None` and `True` let the object pass.
Each is a check of the contract, run while the object is held; a synchronous one runs in a thread. Of any other exception
only its kind and place are told.

Must not go in here: schemas, validators of types (`contract.from_types`).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final

import anyio.to_thread
from msgspec import Struct

from lastcall.contract.accidents import accident
from lastcall.errors import BadRule
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import CheckVerdict

RuleAnswer = str | bool | Sequence[str] | None
"""What a rule says: `None` and `True` are good, `False` and words are not."""

KEYWORD: Final = "rule"
_TAKES_DEPS: Final = 2

DEPENDENCIES: ContextVar[Any] = ContextVar("lastcall_deps", default=None)
"""What the run at hand was given as `deps`."""


class PythonRule(Struct, frozen=True):
    """A function as a check (`contract.rules.Check`). `load` turns the object's JSON into what the function gets."""

    name: str
    function: Callable[..., Any]
    takes_deps: bool
    load: Callable[[str], Any]

    async def run(self, object_text: str) -> tuple[CheckVerdict, tuple[Problem, ...]]:
        """The verdict on the object, and the problems that go to the model. Raises nothing that the function raises."""
        began = time.monotonic()
        problems = tuple(Problem("", KEYWORD, words) for words in await self._refusals(object_text))
        took_ms = round((time.monotonic() - began) * 1000)
        message = "; ".join(problem.message for problem in problems)
        return CheckVerdict(self.name, not problems, message, took_ms), problems

    async def _refusals(self, object_text: str) -> tuple[str, ...]:
        try:
            given = (self.load(object_text), DEPENDENCIES.get()) if self.takes_deps else (self.load(object_text),)
            answer = await call(self.function, *given)
        except (ValueError, AssertionError) as error:
            return (str(error) or f"{self.name} does not hold",)
        except Exception as error:  # noqa: BLE001 -- the caller's code may raise anything; the object is not taken then
            return (f"the rule {self.name} failed: {accident(error)}",)
        if answer is None or answer is True:
            return ()
        if answer is False:
            return (f"{self.name} does not hold",)
        words = (answer,) if isinstance(answer, str) else tuple(str(word) for word in answer)
        return tuple(word for word in words if word)


async def call(function: Callable[..., Any], *given: Any) -> Any:
    """What a function of the caller's returns: awaited if it is asynchronous, else run in a thread.

    A thread that is cancelled is left behind, not waited for.
    """
    if is_async(function):
        return await function(*given)
    found = await anyio.to_thread.run_sync(lambda: function(*given), abandon_on_cancel=True)
    return await found if isinstance(found, Awaitable) else found


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await (a method `__call__` counts)."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def rule_from(function: Callable[..., Any], load: Callable[[str], Any]) -> PythonRule:
    """The check that a function is. Raises `BadRule` for what cannot be called with one or two arguments."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise BadRule(f"the rule {name} cannot be called", hint="Give a function of the object.") from None
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    anyhow = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(needed) > _TAKES_DEPS or any(p.kind is p.KEYWORD_ONLY for p in needed) or not (places or anyhow):
        raise BadRule(f"the rule {name} takes other arguments", hint="A rule takes the object, and deps if it likes.")
    return PythonRule(name, function, len(needed) == _TAKES_DEPS, load)
