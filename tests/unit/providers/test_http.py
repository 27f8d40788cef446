"""What a transport is apart from the network; with it: tests/faults/test_http_*.py."""

from __future__ import annotations

import subprocess
import sys

import anyio

from lastcall.core.events import Progress, ReplyEnded
from lastcall.providers import Deployment
from lastcall.providers.scripted import scripted_provider
from lastcall.providers.service import Settings
from lastcall.wire.dialect import SCRIPTED
from wire_tools import TestClock, ask, collect


def test_a_transport_says_whom_it_asks_and_what_that_accepts() -> None:
    subject = scripted_provider(["a"], model="m")
    assert subject.deployment == Deployment("scripted", "m")
    assert subject.dialect == SCRIPTED


def test_progress_is_left_out_where_nobody_looks() -> None:
    silent = scripted_provider(["a"], settings=Settings(progress=False))
    assert not any(isinstance(event, Progress) for event in collect(lambda: silent.stream(ask())))


def test_the_time_of_a_request_includes_its_retries() -> None:
    subject = scripted_provider([{"status": 500}, "a"], clock=TestClock())
    ended = collect(lambda: subject.stream(ask()))[-1]
    assert isinstance(ended, ReplyEnded)
    assert ended.took_ms == 500


def test_a_transport_may_be_closed_before_it_was_used_and_twice() -> None:
    subject = scripted_provider(["a"])

    async def main() -> None:
        await subject.aclose()
        await subject.aclose()

    anyio.run(main)


def test_the_http_library_is_loaded_with_the_first_request_not_before() -> None:
    code = "import sys, lastcall.providers.choose; print('httpx2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
