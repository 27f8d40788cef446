"""The embedded model as a provider; its engine plays a script."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from lastcall.core.events import BlockEnded, ChannelChanged, Progress, ReplyEnded, ReplyStarted, RequestFailed
from lastcall.errors import BadConfig, MissingExtra, ModelUnavailable
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.request import Choice
from lastcall.nouns.result import FailureKind, Usage
from lastcall.nouns.tools import Arguments, ToolCall, define
from lastcall.providers import local, local_machine
from lastcall.providers.local import LocalProvider, LocalSettings, open_local
from lastcall.providers.local_grammar import call_text
from local_tools import READ, asked_of, asks, solid, told_by

Make = Callable[..., tuple[LocalProvider, Path]]
OBJECT = '{"ticket": "INC-2041", "area": "login", "customers": 1, "start": "09:00"}'
FINISHED = {"text": call_text("StructuredOutput", OBJECT)}


def test_a_finishing_call_comes_as_any_models_does(engine: Make) -> None:
    provider, _ = engine(FINISHED | {"cached": 5})
    started, block, ended = solid(told_by(provider, asks())[0])
    assert isinstance(started, ReplyStarted)
    assert started.model == "local:tiny"
    assert isinstance(block, BlockEnded)
    assert isinstance(block.block, ToolCall)
    assert (block.block.name, block.block.arguments) == ("StructuredOutput", Arguments(OBJECT))
    assert isinstance(ended, ReplyEnded)
    assert ended.stop_reason == "tool_use"
    assert ended.usage.cache_read_input_tokens == 5
    assert ended.usage.output_tokens == len(FINISHED["text"])


def test_without_tools_it_answers_in_text(engine: Make) -> None:
    provider, log = engine({"text": "Four."})
    events = solid(told_by(provider, asks(tools=()))[0])
    assert [event.block for event in events if isinstance(event, BlockEnded)] == [TextBlock("Four.")]
    assert events[-1].stop_reason == "end_turn"  # type: ignore[union-attr]
    assert "grammar" not in asked_of(log)[0]


def test_the_engine_is_started_once_and_a_dead_one_again(engine: Make) -> None:
    provider, _ = engine(FINISHED)

    async def run() -> list[int]:
        pids = []
        for kills in (False, True, False):
            client = await provider.ready()
            pids.append(client._process.pid)
            if kills:
                client._process.kill()
        await provider.aclose()
        await provider.aclose()
        return pids

    first, second, third = anyio.run(run)
    assert first == second != third


def test_a_schema_that_the_engine_refuses_is_asked_for_again_without_it(engine: Make) -> None:
    drops = {"drops": "Unimplemented keys", "drops_with": "INC-"}
    provider, log = engine(FINISHED | drops)
    first, second = (solid(events) for events in told_by(provider, asks(), asks()))
    assert isinstance(first[0], ChannelChanged)
    assert "Unimplemented keys" in first[0].detail
    assert [type(event) for event in first[1:]] == [ReplyStarted, BlockEnded, ReplyEnded]
    assert [type(event) for event in second] == [ReplyStarted, BlockEnded, ReplyEnded]  # remembered
    assert ["INC-" in body["grammar"] for body in asked_of(log)] == [True, False, False]


def test_prose_is_never_taken_for_a_call_when_the_grammar_was_dropped(engine: Make) -> None:
    provider, _ = engine({"text": "x", "drops": "no"})
    *_, failed = solid(told_by(provider, asks())[0])
    assert isinstance(failed, RequestFailed)
    assert failed.failure.kind is FailureKind.SERVER
    assert "no grammar of the schema: no" in failed.failure.detail


def test_a_call_written_while_the_grammar_was_dropped_is_not_used_either(engine: Make) -> None:
    provider, _ = engine({"text": "x", "drops": "no", "dropped_text": FINISHED["text"]})
    events = solid(told_by(provider, asks())[0])
    assert [type(event) for event in events] == [ChannelChanged, RequestFailed]


def test_a_reply_that_does_not_keep_to_the_tools_is_a_failure_even_without_a_complaint(engine: Make) -> None:
    provider, _ = engine({"text": "Sure! Here is the object."})
    (failed,) = solid(told_by(provider, asks())[0])
    assert isinstance(failed, RequestFailed)
    assert failed.failure.kind is FailureKind.BROKEN_STREAM
    assert "it wrote 'Sure!'" in failed.failure.detail


def test_a_forced_choice_offers_only_the_finishing_tools_with_the_same_prompt(engine: Make) -> None:
    provider, log = engine(FINISHED)
    tools = (READ, *asks().tools)
    told_by(provider, asks(tools=tools), asks(tools=tools, choice=Choice.FINISH))
    auto, forced = asked_of(log)
    assert "Read" in auto["grammar"]
    assert "Read" not in forced["grammar"]
    assert auto["prompt"] == forced["prompt"]


def test_a_cut_off_reply_says_so(engine: Make) -> None:
    provider, _ = engine({"text": FINISHED["text"][:60], "stop": "limit"}, settings=LocalSettings(max_tokens=60))
    assert solid(told_by(provider, asks())[0])[-1].stop_reason == "max_tokens"  # type: ignore[union-attr]


def test_what_cannot_be_is_the_last_event_never_an_exception(engine: Make) -> None:
    provider, _ = engine(FINISHED, load_error="Failed to init server")
    (failed,) = told_by(provider, asks())[0]
    assert isinstance(failed, RequestFailed)
    assert failed.failure.kind is FailureKind.MODEL_UNAVAILABLE
    assert "Failed to init server" in failed.failure.detail


def test_a_conversation_that_is_too_long_fails_as_such(engine: Make) -> None:
    provider, _ = engine(FINISHED, context=50)
    (failed,) = told_by(provider, asks())[0]
    assert isinstance(failed, RequestFailed)
    assert failed.failure.kind is FailureKind.TOO_LONG


def test_a_broken_reply_fails_as_such(engine: Make) -> None:
    provider, _ = engine(FINISHED | {"cut": True})
    failed = told_by(provider, asks())[0][-1]
    assert isinstance(failed, RequestFailed)
    assert failed.failure.kind is FailureKind.BROKEN_STREAM


@pytest.mark.parametrize("refusal", ["check_processor", "check_memory"])
def test_a_machine_that_cannot_carry_it_is_told_before_the_engine_starts(
    engine: Make,
    refusal: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise ModelUnavailable("not here.")

    monkeypatch.setattr(local, refusal, refuse)
    provider, _ = engine(FINISHED)
    (failed,) = told_by(provider, asks())[0]
    assert isinstance(failed, RequestFailed)
    assert failed.failure.kind is FailureKind.MODEL_UNAVAILABLE


def test_closing_the_iterator_closes_the_engines_request(engine: Make) -> None:
    provider, log = engine(FINISHED | {"stall": 30, "piece": 100})
    no_choice = define(
        "StructuredOutput", "", {"type": "object", "properties": {"n": {"type": "integer"}}}, finishing=True
    )
    closed = anyio.Path(f"{log}.closed")

    async def run() -> None:
        async with aclosing(provider.stream(asks(tools=(no_choice,)))) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, Progress):
                    break
        with anyio.fail_after(5):
            while not await closed.exists():  # noqa: ASYNC110 -- another process makes it
                await anyio.sleep(0.02)
        await provider.aclose()

    anyio.run(run)


def test_several_requests_at_once_start_one_engine(engine: Make) -> None:
    provider, _ = engine(FINISHED)
    ended: list[Any] = []

    async def one() -> None:
        ended.append([event async for event in provider.stream(asks())][-1])

    async def run() -> int:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(one)
        client = await provider.ready()
        pid = client._process.pid
        await provider.aclose()
        return pid

    anyio.run(run)
    assert [type(event) for event in ended] == [ReplyEnded] * 3


def test_opening_fetches_and_starts_nothing(tmp_path: Path) -> None:
    provider = open_local("small", models=tmp_path / "m", settings=LocalSettings(max_tokens=9))
    assert provider.deployment.model == "local:small"
    assert provider.deployment.max_tokens == 9
    assert not (tmp_path / "m").exists()


def test_a_wrong_name_and_a_missing_engine_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadConfig):
        open_local("enormous")
    monkeypatch.setattr(local_machine, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra):
        open_local()


def test_usage_is_the_engines_count(engine: Make) -> None:
    provider, log = engine(FINISHED | {"cached": 3})
    ended = told_by(provider, asks())[0][-1]
    assert isinstance(ended, ReplyEnded)
    assert ended.usage == Usage(len(asked_of(log)[0]["prompt"]) - 3, len(FINISHED["text"]), 0, 3)


def test_notices_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    local._say("Fetching")
    assert capsys.readouterr() == ("", "Fetching\n")
