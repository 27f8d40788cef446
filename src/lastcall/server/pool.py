"""Providers that stay open for all runs which ask a model in the same way.

Must not go in here: what a provider is (`providers`), which models there are (`server.settings`).
"""

from __future__ import annotations

from typing import Final

from lastcall.providers import Provider
from lastcall.providers.lending import lend
from lastcall.runtime.config import RunConfig
from lastcall.runtime.session import open_provider

_MOST: Final = 64
"""More ways than this to ask get connections of their own, so that requests cannot fill the memory."""
_ALONE: Final = "scripted:"
"""A script is played from its beginning by each run."""


class ProviderPool:
    """Open providers, by everything that one is made from."""

    def __init__(self) -> None:
        self._open: dict[tuple[object, ...], Provider] = {}

    def provider(self, config: RunConfig) -> Provider:
        """A provider for one run. Raises `UsageError`."""
        if (config.model or "").startswith(_ALONE):
            return open_provider(config)
        key = (
            config.model,
            config.fallback_models,
            config.max_tokens,
            config.thinking_tokens,
            config.effort,
            config.max_retries,
            config.partial,
        )
        found = self._open.get(key)
        if found is None:
            if len(self._open) >= _MOST:
                return open_provider(config)
            found = self._open[key] = open_provider(config)
        return lend(found)

    async def aclose(self) -> None:
        """Let go of all connections and processes."""
        while self._open:
            _, provider = self._open.popitem()
            await provider.aclose()
