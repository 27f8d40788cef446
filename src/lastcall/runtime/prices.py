"""What a reply costs and a model's window holds, from the public list of `genai-prices`.

The list is a package of its own and slow to import, so it is loaded in a thread while the first reply is under way.

Must not go in here: budgets (`core.decide`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar, TypeVarTuple, Unpack

import anyio

from lastcall.nouns.result import Usage

FREE = Decimal(0)

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


async def no_price(model: str, usage: Usage) -> Decimal | None:  # noqa: ARG001 -- a `ports.Price`
    """The price of a model on this machine, or of a script: nothing is paid."""
    return FREE


class PriceList:
    """Prices of one provider's models (`provider` as `genai-prices` names it)."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._windows: dict[str, int | None] = {}

    async def __call__(self, model: str, usage: Usage) -> Decimal | None:
        """US dollars; `None` where the model is not in the list or the usage was not told."""
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        return await _looked_up(_price, self._provider, model, usage)

    async def window(self, model: str) -> int | None:
        """Tokens that the model's window holds; `None` where the list does not say."""
        if model not in self._windows:
            self._windows[model] = await _looked_up(_window, self._provider, model)
        return self._windows[model]


async def _looked_up(look: Callable[[Unpack[_Ts]], _T], *asked: *_Ts) -> _T:
    """What the list says. Once it is loaded, that takes a tenth of a millisecond, which is less than a thread does."""
    if is_loaded():
        return look(*asked)
    return await anyio.to_thread.run_sync(look, *asked)


def is_loaded() -> bool:
    """Whether the list is there, so that a price costs next to nothing."""
    return getattr(sys.modules.get("genai_prices.data"), "providers", None) is not None


async def load_price_list() -> None:
    """Load the list, unless it is there, without blocking the loop."""
    if not is_loaded():
        await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)


def _load() -> None:
    import genai_prices.data  # noqa: F401, PLC0415 -- 0.1 s, in a thread


def _price(provider: str, model: str, usage: Usage) -> Decimal | None:
    from genai_prices import Usage as Tokens  # noqa: PLC0415 -- 0.2 s, only when a price is asked for
    from genai_prices import calc_price  # noqa: PLC0415

    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    tokens = Tokens(
        input_tokens=(usage.input_tokens or 0) + cached + written,  # the list counts cached tokens among the input
        output_tokens=usage.output_tokens or 0,
        cache_read_tokens=cached or None,
        cache_write_tokens=written or None,
    )
    try:
        return calc_price(tokens, model_ref=model, provider_id=provider).total_price
    except LookupError:
        return None


def _window(provider: str, model: str) -> int | None:
    from genai_prices import Usage as Tokens  # noqa: PLC0415 -- 0.2 s, only when a window is asked for
    from genai_prices import calc_price  # noqa: PLC0415

    try:
        return calc_price(Tokens(), model_ref=model, provider_id=provider).model.context_window
    except LookupError:
        return None
