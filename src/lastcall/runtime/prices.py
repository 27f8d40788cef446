"""What a reply costs and a model's window holds, from the public list of `genai-prices`.

The list is a package of its own and slow to import, so it is loaded in a thread while the first reply is under way. How a
model's tokens are priced is looked up once; where that is a plain sum of products it is made here, because the library
looks at every unit that it knows for each price, which takes a tenth of all that a run computes.

Must not go in here: budgets (`core.decide`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, Unpack

import anyio
from msgspec import Struct

from lastcall.nouns.result import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, PriceContext, Provider

FREE = Decimal(0)

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")
_PER = 1_000_000
_MOST_MODELS = 256
"""Services name the models that answer; what they make up must not fill the memory."""


async def no_price(model: str, usage: Usage) -> Decimal | None:  # noqa: ARG001 -- a `ports.Price`
    """The price of a model on this machine, or of a script: nothing is paid."""
    return FREE


class PriceList:
    """Prices of one provider's models (`provider` as `genai-prices` names it).

    `batched`: of its batch API, where the list has a price for that (of retired models it has none, and says the other).
    """

    __slots__ = ("_batched", "_listed", "_provider")

    def __init__(self, provider: str, *, batched: bool = False) -> None:
        self._provider = provider
        self._batched = batched
        self._listed: dict[str, _Listed | None] = {}

    async def __call__(self, model: str, usage: Usage) -> Decimal | None:
        """US dollars; `None` where the model is not in the list or the usage was not told."""
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        return await _looked_up(self._price, model, usage)

    async def window(self, model: str) -> int | None:
        """Tokens that the model's window holds; `None` where the list does not say."""
        listed = await _looked_up(self._find, model)
        return listed.model.context_window if listed is not None else None

    def _price(self, model: str, usage: Usage) -> Decimal | None:
        listed = self._find(model)
        return listed.price(usage) if listed is not None else None

    def _find(self, model: str) -> _Listed | None:
        if model not in self._listed:
            if len(self._listed) >= _MOST_MODELS:
                self._listed.clear()
            self._listed[model] = _find(self._provider, model, batched=self._batched)
        return self._listed[model]


@cache
def price_list(provider: str, *, batched: bool = False) -> PriceList:
    """The one list of a provider's prices (of its batch API: `batched`) in this process."""
    return PriceList(provider, batched=batched)


class _Rates(Struct, frozen=True):
    """US dollars for a million tokens of each kind; `None` where cached tokens cost what others do."""

    input: Decimal
    output: Decimal
    cached: Decimal | None
    written: Decimal | None

    def price(self, usage: Usage) -> Decimal:
        """What the library computes, in its steps."""
        fresh, cached, written = _counts(usage)
        if self.cached is None:
            fresh, cached = fresh + cached, 0
        if self.written is None:
            fresh, written = fresh + written, 0
        total = FREE + fresh * self.input / _PER + (usage.output_tokens or 0) * self.output / _PER
        if self.cached is not None:
            total += cached * self.cached / _PER
        if self.written is not None:
            total += written * self.written / _PER
        return total


class _Listed:
    """A model of the list. Prices may depend on the time of day, so which one holds is asked each time."""

    __slots__ = ("_context", "_provider", "_rates", "_rates_of", "model")

    def __init__(self, provider: Provider, model: ModelInfo, *, batched: bool) -> None:
        self._provider = provider
        self._context: PriceContext | None = {"processing": "batch"} if batched else None
        self.model = model
        self._rates_of: ModelPrice | None = None
        self._rates: _Rates | None = None

    def price(self, usage: Usage) -> Decimal:
        """US dollars of a reply now."""
        prices = self.model.get_prices(datetime.now(tz=UTC), self._context)
        if prices is not self._rates_of:
            self._rates, self._rates_of = _rates(prices), prices
        return self._rates.price(usage) if self._rates is not None else self._library_price(usage)

    def _library_price(self, usage: Usage) -> Decimal:
        from genai_prices import Usage as Tokens  # noqa: PLC0415 -- loaded long since

        fresh, cached, written = _counts(usage)
        tokens = Tokens(
            input_tokens=fresh + cached + written,  # the list counts cached tokens among the input
            output_tokens=usage.output_tokens or 0,
            cache_read_tokens=cached or None,
            cache_write_tokens=written or None,
        )
        return self.model.calc_price(tokens, self._provider, price_context=self._context).total_price


def _counts(usage: Usage) -> tuple[int, int, int]:
    return usage.input_tokens or 0, usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0


def _rates(prices: ModelPrice) -> _Rates | None:
    """The four rates of plain text; `None` where the price has tiers or lacks one that every price has."""
    of_text = [getattr(prices, f"{kind}_mtok") for kind in ("input", "output", "cache_read", "cache_write")]
    if any(rate is not None and not isinstance(rate, Decimal) for rate in of_text):
        return None
    fresh, output, cached, written = of_text
    return _Rates(fresh, output, cached, written) if fresh is not None and output is not None else None


async def _looked_up(look: Callable[[Unpack[_Ts]], _T], *asked: *_Ts) -> _T:
    """What the list says. Once it is loaded, that takes less than a thread does."""
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


def _find(provider: str, model: str, *, batched: bool) -> _Listed | None:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 -- 0.2 s, only when a price is asked for

    try:
        return _Listed(*get_snapshot().find_provider_model(model, None, provider, None), batched=batched)
    except LookupError:
        return None
