"""What is asked of an engine, and what of its answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from lastcall.errors import BrokenStream, ModelUnavailable, ProviderError
from lastcall.providers.local import LocalProvider
from lastcall.providers.local_client import EngineClient, Sampling, Stopped, TooLong, Written
from lastcall.providers.local_prompt import Foreign, Marker
from local_tools import asked_of

Make = Callable[..., tuple[LocalProvider, Path]]
PROMPT = (Marker("<|im_start|>user\n"), Foreign("<|im_end|>"))


def with_client(provider: LocalProvider, act: Callable[[EngineClient], Any]) -> Any:
    async def run() -> Any:
        try:
            return await act(await provider.ready())
        finally:
            await provider.aclose()

    return anyio.run(run)


def completed(
    provider: LocalProvider, *, max_tokens: int = 100, grammar: str = "g", times: int = 1, seed: int | None = None
) -> list[Any]:
    async def act(client: EngineClient) -> list[Any]:
        for _ in range(times):
            said = [item async for item in client.complete(PROMPT, grammar, Sampling(max_tokens, 0.5, seed))]
        return said

    return with_client(provider, act)


def test_text_from_outside_goes_as_plain_characters_and_is_counted_once(engine: Make) -> None:
    provider, log = engine({"text": "hi", "cached": 2})
    said = completed(provider, times=2)
    assert said == [Written("hi"), Stopped(None, 28, 2, 2)]
    assert [(body["content"], body["parse_special"]) for body in asked_of(log, "/tokenize")] == [
        ("<|im_start|>user\n", True), ("<|im_end|>", False),
    ]  # fmt: skip


def test_a_completion_goes_with_tokens_grammar_and_sampling(engine: Make) -> None:
    provider, log = engine({"text": "hi"})
    completed(provider, seed=7)
    body = asked_of(log)[0]
    assert body["prompt"] == [-1, *map(ord, "<|im_start|>user\n"), *map(ord, "<|im_end|>")]
    assert (body["grammar"], body["temperature"], body["seed"], body["n_predict"]) == ("g", 0.5, 7, 100)
    assert body["cache_prompt"] is True


@pytest.mark.parametrize(("max_tokens", "limit"), [(10, "max_tokens"), (10_000, "model_context_window_exceeded")])
def test_a_reply_that_was_cut_off_says_by_what(engine: Make, max_tokens: int, limit: str) -> None:
    provider, log = engine({"text": "hi", "stop": "limit"}, context=64)
    assert completed(provider, max_tokens=max_tokens, grammar="")[-1].limit == limit
    assert asked_of(log)[0]["n_predict"] == min(max_tokens, 64 - 28)
    assert "grammar" not in asked_of(log)[0]


def test_a_conversation_that_does_not_fit_is_not_sent(engine: Make) -> None:
    provider, log = engine({"text": "hi"}, context=28)
    with pytest.raises(TooLong, match="has 28 tokens, and the embedded model takes 28"):
        completed(provider)
    assert asked_of(log) == []


def test_a_huge_text_is_not_even_counted(engine: Make) -> None:
    provider, log = engine({"text": "hi"}, context=100)
    with pytest.raises(TooLong, match="far more"):
        with_client(provider, lambda client: client.tokens_of([Foreign("x" * 10_000)]))
    assert not log.exists()


def test_what_the_engine_refuses_is_told_with_its_words(engine: Make) -> None:
    provider, _ = engine({"status": 400, "error": {"message": "bad grammar"}})
    with pytest.raises(ProviderError, match="the engine refused: bad grammar"):
        completed(provider)


@pytest.mark.parametrize(
    "reply", [{"text": "hello world", "cut": True}, {"text": "x", "status": None, "piece": 1, "cut": True}]
)
def test_a_reply_that_breaks_off_is_no_reply(engine: Make, reply: dict[str, Any]) -> None:
    provider, _ = engine(reply)
    with pytest.raises(BrokenStream, match="broke off"):
        completed(provider)


def test_an_engine_that_dies_says_so(engine: Make) -> None:
    provider, _ = engine({"text": "hello world", "dies": 3})
    with pytest.raises(ModelUnavailable, match="ended with code 3"):
        completed(provider)


def test_only_the_last_texts_are_remembered(engine: Make) -> None:
    provider, _ = engine({"text": "hi"})

    async def act(client: EngineClient) -> int:
        for number in range(300):
            await client.tokens_of([Foreign(str(number))])
        return len(client._tokens)

    assert with_client(provider, act) == 256
