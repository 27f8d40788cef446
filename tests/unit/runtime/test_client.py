"""Questions to a client: each has one answer, and all end when the client is gone."""

import anyio
import pytest

from lastcall.runtime.client import Client, ClientGone
from lastcall.wire.control import ControlResponse


class Wire:
    """The frames that went out; ids count up."""

    def __init__(self):
        self.frames = []
        self.client = Client(self.frames.append, self._new_id)
        self._n = 0

    def _new_id(self):
        self._n += 1
        return f"q{self._n}"


def test_answers_find_their_questions_in_any_order():
    wire, answers = Wire(), {}

    async def ask(name):
        answers[name] = await wire.client.ask({"subtype": "hook_callback", "callback_id": name})

    async def drive():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "a")
            tasks.start_soon(ask, "b")
            await anyio.wait_all_tasks_blocked()
            wire.client.hear(ControlResponse("q2", {"n": 2}))
            wire.client.hear(ControlResponse("nobody", {}))
            wire.client.hear(ControlResponse("q1", {"n": 1}))

    anyio.run(drive)
    assert answers == {"a": {"n": 1}, "b": {"n": 2}}
    assert [f["request"]["callback_id"] for f in wire.frames] == ["a", "b"]


def test_an_error_is_no_answer():
    wire = Wire()

    async def drive():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_with_error)
            with pytest.raises(ClientGone, match="no such hook"):
                await wire.client.ask({"subtype": "hook_callback"})

    async def answer_with_error():
        await anyio.wait_all_tasks_blocked()
        wire.client.hear(ControlResponse("q1", {}, "no such hook"))

    anyio.run(drive)


def test_open_questions_end_when_the_client_goes_and_no_more_are_asked():
    wire = Wire()

    async def leave():
        await anyio.wait_all_tasks_blocked()
        wire.client.close()

    async def drive():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
            with pytest.raises(ClientGone, match="before it answered"):
                await wire.client.ask({"subtype": "can_use_tool"})
        with pytest.raises(ClientGone, match="closed its end"):
            await wire.client.ask({"subtype": "can_use_tool"})

    anyio.run(drive)
    assert [f["type"] for f in wire.frames] == ["control_request"]


def test_a_question_that_is_given_up_is_taken_back():
    wire = Wire()

    async def drive():
        with pytest.raises(TimeoutError):
            await wire.client.ask({"subtype": "hook_callback"}, timeout_s=0.001)

    anyio.run(drive)
    assert wire.frames[-1] == {"type": "control_cancel_request", "request_id": "q1"}
