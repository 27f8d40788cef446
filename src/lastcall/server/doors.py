"""Who is let in, and how much of what: bearer tokens, requests a minute.

Must not go in here: how tokens are kept (`server.tokens`), what is behind the doors.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from lastcall.server import tokens
from lastcall.server.answers import Refusal
from lastcall.server.database import Connection
from lastcall.server.house import House
from lastcall.server.rows import Grant, TokenRow

_MINUTE_S: Final = 60.0
_REMEMBERED: Final = 10_000


class Principal(Struct, frozen=True):
    """Whoever asks: a token's id (`""` where nobody needs one), and what it may do."""

    key: str
    name: str
    grant: Grant


class Allowance:
    """How often each may ask: so many at once, then as they come back over a minute. `clock` is in seconds."""

    def __init__(self, clock: object = None) -> None:
        self._now = clock if callable(clock) else time.monotonic
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, key: str, per_minute: int) -> float:
        """0 if it may ask now (and has then), else the seconds to wait."""
        now = self._now()
        left, at = self._left.pop(key, (float(per_minute), now))
        left = min(float(per_minute), left + (now - at) * per_minute / _MINUTE_S)
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left, now)
        while len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) * _MINUTE_S / per_minute


class Doors:
    """Lets people in. Tokens are looked up with each request, so that one that was revoked lets nobody in from then on."""

    def __init__(self, house: House, allowance: Allowance | None = None) -> None:
        self._house = house
        self._allowance = allowance or Allowance()
        settings = house.settings
        self._most = Grant(settings.concurrency, settings.per_minute, settings.schema_bytes)

    async def enter(self, headers: Mapping[str, str]) -> Principal:
        """Who asks. Raises `Refusal`, `StorageError`."""
        token = _token(headers)
        row, made = await self._house.read(lambda db: _look_up(db, token))
        settings = self._house.settings
        needed = made or not settings.on_loopback
        if row is None and (made if token is not None else needed and not settings.insecure):
            words = "the token lets nobody in" if token is not None else "a token is needed"
            raise Refusal(401, "unauthorized", words, hint="Send it as: Authorization: Bearer TOKEN.")
        if row is None:
            principal = Principal("", "anonymous", self._most)
        else:
            principal = Principal(row.token_id, row.name, _narrowed(row.grant, self._most))
        self._demand_allowance(principal)
        return principal

    def _demand_allowance(self, principal: Principal) -> None:
        per_minute = principal.grant.per_minute
        if per_minute is None:
            return
        wait_s = self._allowance.wait_s(principal.key, per_minute)
        if wait_s > 0:
            words = f"more than {per_minute} requests a minute"
            raise Refusal(429, "too_many_requests", words, hint="Wait.", retry_s=max(1, round(wait_s + 0.5)))


def _look_up(db: Connection, token: str | None) -> tuple[TokenRow | None, bool]:
    """Whose token it is, and whether there is or was any: the last one that is revoked opens nothing."""
    row = tokens.bearer(db, token) if token is not None else None
    return row, row is not None or tokens.any_made(db)


def _token(headers: Mapping[str, str]) -> str | None:
    scheme, _, word = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and word.strip():
        return word.strip()
    return headers.get("x-api-key") or None


def _narrowed(grant: Grant, most: Grant) -> Grant:
    """A token's own limits where it has any, else the server's."""
    return Grant(
        *(own if own is not None else all_s for own, all_s in zip(_figures(grant), _figures(most), strict=True))
    )


def _figures(grant: Grant) -> tuple[int | None, int | None, int | None]:
    return grant.concurrency, grant.per_minute, grant.schema_bytes
