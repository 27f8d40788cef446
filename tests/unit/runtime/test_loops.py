"""Which event loop runs."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import anyio
import pytest

from lastcall.errors import BadConfig, MissingExtra
from lastcall.runtime import loops
from lastcall.runtime.loops import loop_options


@pytest.mark.parametrize("word", ["", "0", "no", "False", " 0 "])
def test_the_usual_loop_runs_unless_another_is_asked_for(word: str) -> None:
    assert loop_options({"LASTCALL_UVLOOP": word}) == {}
    assert loop_options({}) == {}


def test_uvloop_that_is_asked_for_and_not_there_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'lastcall\[uvloop\]'"):
        loop_options({"LASTCALL_UVLOOP": "1"})


def test_a_word_that_means_nothing_is_refused() -> None:
    with pytest.raises(BadConfig, match="'maybe' is neither yes nor no"):
        loop_options({"LASTCALL_UVLOOP": "maybe"})


def test_uvloop_that_is_there_makes_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library takes the loop from a module of this name; here it is one that only counts."""
    made = []

    def new_event_loop() -> asyncio.AbstractEventLoop:
        made.append(asyncio.SelectorEventLoop())
        return made[-1]

    uvloop = ModuleType("uvloop")
    uvloop.new_event_loop = new_event_loop  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "uvloop", uvloop)
    monkeypatch.setattr(loops, "find_spec", lambda name: name)

    async def nothing() -> int:
        return 7

    assert anyio.run(nothing, backend_options=loop_options({"LASTCALL_UVLOOP": "1"})) == 7
    assert len(made) == 1
