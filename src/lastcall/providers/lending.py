"""One provider for many conversations at once: connections and what was learned are shared, the rest is each one's own.

A session closes the provider it is given (`runtime.session.open_session`). Give it `lend(provider)`, and the connections
stay open for the others; whoever opened the provider closes it.

Must not go in here: which conversations there are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from lastcall.core.events import ProviderEvent
from lastcall.nouns.request import ModelRequest
from lastcall.providers import Deployment, Provider
from lastcall.wire.dialect import Dialect


@runtime_checkable
class Lender(Protocol):
    """A provider that keeps something of one conversation, and so lends a fresh one to each."""

    def lend(self) -> Provider:
        """A provider for one conversation; closing it lets go of nothing that is shared."""
        ...


def lend(provider: Provider) -> Provider:
    """The provider for one conversation of several; closing it closes nothing."""
    return provider.lend() if isinstance(provider, Lender) else Lent(provider)


class Lent:
    """Another's provider (`providers.Provider`), which may be asked but not closed."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def deployment(self) -> Deployment:
        """The model that answers."""
        return self._provider.deployment

    @property
    def dialect(self) -> Dialect:
        """What it accepts."""
        return self._provider.dialect

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The reply, event by event."""
        return self._provider.stream(request)

    async def aclose(self) -> None:
        """Whoever lent it closes it."""
