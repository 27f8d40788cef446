"""What a reply costs, by the vendor's published prices."""

from __future__ import annotations

import threading
from decimal import Decimal

import anyio
import pytest

from lastcall.nouns.result import Usage
from lastcall.runtime.prices import PriceList, load_price_list, no_price


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
