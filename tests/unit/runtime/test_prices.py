"""What a reply costs, by the vendor's published prices."""

from __future__ import annotations

import threading
from decimal import Decimal

import anyio
import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot

from lastcall.nouns.result import Usage
from lastcall.runtime.prices import PriceList, load_price_list, no_price, price_list


def priced(model: str, usage: Usage) -> Decimal | None:
    async def one() -> Decimal | None:
        return await PriceList("anthropic")(model, usage)

    return anyio.run(one)


def test_a_reply_costs_what_the_vendor_says() -> None:
    """Claude Haiku 4.5: 1 dollar for a million tokens in, 5 for a million out, a tenth of the first for cached ones."""
    assert priced("claude-haiku-4-5", Usage(100_000, 20_000)) == Decimal("0.2")
    assert priced("claude-haiku-4-5", Usage(0, 0, 0, 1_000_000)) == Decimal("0.1")


@pytest.mark.parametrize(("model", "usage"), [("a-model-of-no-list", Usage(1, 1)), ("claude-haiku-4-5", Usage())])
def test_what_is_not_known_has_no_price(model: str, usage: Usage) -> None:
    assert priced(model, usage) is None


def test_a_script_costs_nothing() -> None:
    assert anyio.run(no_price, "scripted", Usage(1, 1)) == 0


def test_once_the_list_is_loaded_a_price_takes_no_thread() -> None:
    async def one() -> None:
        await load_price_list()
        prices = PriceList("anthropic")
        await prices("claude-haiku-4-5", Usage(1, 1))
        before = threading.active_count()
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(prices, "claude-haiku-4-5", Usage(1, 1))
        assert threading.active_count() == before

    anyio.run(one)


@pytest.mark.parametrize(("model", "window"), [("claude-haiku-4-5", 200_000), ("a-model-of-no-list", None)])
def test_a_window_is_known_from_the_list_or_not_at_all(model: str, window: int | None) -> None:
    listed = PriceList("anthropic")
    assert anyio.run(listed.window, model) == window
    assert anyio.run(listed.window, model) == window  # remembered


USAGES = [
    Usage(*counts)
    for counts in [
        (0, 0),
        (1, 0),
        (0, 1),
        (7, 13, 0, 0),
        (100, 20, 3, 5),
        (123_457, 9_999, 1_000_003, 77),
        (0, 0, 1, 1),
    ]
]
LISTED = [(p.id, model.id) for p in get_snapshot().providers if p.id in ("anthropic", "openai") for model in p.models]


def library_price(provider: str, model: str, usage: Usage) -> Decimal | None:
    fresh, cached, written = usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    tokens = genai_prices.Usage(
        input_tokens=(fresh or 0) + (cached or 0) + (written or 0),
        output_tokens=usage.output_tokens or 0,
        cache_read_tokens=cached or None,
        cache_write_tokens=written or None,
    )
    try:
        return genai_prices.calc_price(tokens, model_ref=model, provider_id=provider).total_price
    except LookupError:
        return None


def test_the_price_of_every_listed_model_is_the_library_s() -> None:
    """Models with tiers, with the price of a morning, of images and speech: whatever the list holds, to the last digit."""

    async def all_of_them() -> None:
        lists = {name: PriceList(name) for name in ("anthropic", "openai")}
        for provider, model in LISTED:
            for usage in USAGES:
                assert await lists[provider](model, usage) == library_price(provider, model, usage), (model, usage)

    assert len(LISTED) > 100
    anyio.run(all_of_them)


def test_names_that_a_service_makes_up_do_not_fill_the_memory() -> None:
    async def ask() -> None:
        prices = PriceList("anthropic")
        for number in range(600):
            assert await prices(f"made-up-{number}", Usage(1, 1)) is None
        assert len(prices._listed) <= 256

    anyio.run(ask)


def test_all_sessions_ask_one_list() -> None:
    assert price_list("openai") is price_list("openai")


@pytest.mark.parametrize(
    ("provider", "model", "usage", "dollars"),
    [
        ("anthropic", "claude-haiku-4-5", Usage(100_000, 20_000), "0.1"),
        ("openai", "gpt-4o-mini", Usage(1_000_000, 1_000_000), "0.375"),
    ],
)
def test_over_a_batch_api_a_reply_costs_half(provider: str, model: str, usage: Usage, dollars: str) -> None:
    """Both vendors say: half of 1 and 5 dollars a million tokens, half of 0.15 and 0.60."""

    async def one() -> Decimal | None:
        return await PriceList(provider, batched=True)(model, usage)

    assert anyio.run(one) == Decimal(dollars)
