"""Several messages of one session."""

from __future__ import annotations

import contextlib
import json

import anyio
import pytest

import lastcall
from lastcall.providers.scripted import scripted_provider
from lastcall.testing import ScriptedModel

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_session_remembers_and_each_message_has_its_own_result():
    model = scripted_provider([{"object": {"n": "x"}}, {"object": {"n": 1}}, {"object": {"n": 2}}])

    async def main():
        async with lastcall.Session(COUNT, model=model) as session:
            return await session.run("one"), await session.run("two")

    first, second = anyio.run(main)
    assert (first.output, second.output) == ({"n": 1}, {"n": 2})
    assert (len(first.attempts), len(second.attempts)) == (2, 1)
    assert "one" in str(model.requests[-1]["messages"])


def test_a_session_on_disk_can_be_gone_on_with(tmp_path):
    config = lastcall.RunConfig(persist=True, state_dir=str(tmp_path), cache_dir=str(tmp_path))

    async def main(config, model):
        async with lastcall.Session(COUNT, model=model, config=config) as session:
            await session.run("remember 17")
            return session.session_id

    session_id = anyio.run(main, config, scripted_provider([{"object": {"n": 1}}]))
    resumed = lastcall.RunConfig(persist=True, state_dir=str(tmp_path), cache_dir=str(tmp_path), resume=session_id)
    model = scripted_provider([{"object": {"n": 2}}])
    assert anyio.run(main, resumed, model) == session_id
    assert "remember 17" in str(model.requests[0]["messages"])


def test_nothing_is_written_unless_it_is_asked_for(tmp_path):
    config = lastcall.RunConfig(state_dir=str(tmp_path), cache_dir=str(tmp_path))
    lastcall.run("Hi.", model=scripted_provider(["Hello."]), config=config)
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_is_not_open_says_so():
    async def main():
        await lastcall.Session(model=scripted_provider(["x"])).run("hi")

    with pytest.raises(lastcall.UsageError, match="not open"):
        anyio.run(main)


def test_a_session_runs_one_message_at_a_time():
    async def main():
        model = scripted_provider([{"delay_ms": 60_000, "content": []}])
        async with lastcall.Session(model=model) as session, session.stream("one"):
            while not model.requests:
                await anyio.lowlevel.checkpoint()
            with pytest.raises(lastcall.UsageError, match="one message at a time"):
                await session.run("two")

    anyio.run(main)


def test_no_built_in_tool_is_offered_unless_it_is_named():
    model = scripted_provider([{"object": {"n": 1}}])
    lastcall.run("x", output=COUNT, model=model)
    lastcall.run("x", output=COUNT, model=model, tools=["Read", "Grep"])
    offered = [[tool["name"] for tool in request["tools"]] for request in model.requests]
    assert offered[0] == ["StructuredOutput", "DeclineOutput"]
    assert set(offered[1]) == {"Read", "Grep", "StructuredOutput", "DeclineOutput"}


@pytest.mark.parametrize("left", ["raised", "cancelled"])
def test_after_a_run_that_was_left_the_session_runs_the_next_message(left):
    """The history stays well-formed: what was open is answered, and the model sees both messages."""
    leaves = [True]

    @lastcall.hook("before_tool")
    async def leave(question):
        if leaves and leaves.pop():
            if left == "raised":
                raise ZeroDivisionError
            scopes[0].cancel()
            await anyio.sleep_forever()

    def act() -> str:
        return "done"

    scopes = []
    model = ScriptedModel({"call": {"name": "act", "input": {}}}, {"object": {"n": 1}})
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    async def talk():
        async with lastcall.Session(schema, model=model, tools=[act], hooks=[leave]) as session:
            with anyio.CancelScope() as scope, contextlib.suppress(ZeroDivisionError):
                scopes.append(scope)
                await session.run("one")
            with anyio.fail_after(10):
                return await session.run("two")

    result = anyio.run(talk)
    assert result.output == {"n": 1}
    assert result.warnings == ()
    asked = json.dumps(model.requests[1]["messages"])
    assert asked.index("one") < asked.index("Interrupted") < asked.index("two")
