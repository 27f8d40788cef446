"""When a request is sent again, and after how long.

Source of the choices: the recorded groups `http`, `fallback` and `retraction` of the conformance corpus for the
reference's profile; the native profile differs where the reference takes a broken reply for a whole one, gives one up
that can be asked for again, or asks again what cannot get better.

Must not go in here: sending (`providers.http`), other models (`providers.fallback`).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lastcall.nouns.profile import Profile
from lastcall.nouns.result import NO_USAGE, Failed, FailureKind, Usage
from lastcall.wire.reply import NO_REPLY

RETRY_AFTER_CAP_S: Final = 120.0
"""The longest wait that a service can ask for; after it the request is sent again whatever it said."""
FIRST_DELAY_S: Final = 0.5
LONGEST_DELAY_S: Final = 32.0
SPREAD: Final = 0.25
"""Up to this part of a delay is added by chance, so that clients that failed together do not come back together."""

_TRANSIENT: Final = frozenset(
    {
        FailureKind.OVERLOADED,
        FailureKind.RATE_LIMIT,
        FailureKind.SERVER,
        FailureKind.NETWORK,
        FailureKind.TIMEOUT,
        FailureKind.BROKEN_STREAM,
    }
)
_UNAUTHORISED: Final = 401
_NOT_FOUND: Final = 404


class RetryRules(Struct, frozen=True):
    """The choices of a profile.

    `retries_unauthorised`: a 401 is sent again (the reference may have refreshed its token in between).
    `retries_after_blocks`: a stream that broke after a whole block is asked for again, its blocks being void.
    `plain_after_not_found`: a 404 to a streaming request is asked for once more without streaming.
    `overloads`: after so many retries in a row because of overload the model is given up (`None`: as all others); set
    where another model stands ready.
    """

    retries_unauthorised: bool = False
    retries_after_blocks: bool = True
    plain_after_not_found: bool = False
    overloads: int | None = None


RULES: Final = {
    Profile.NATIVE: RetryRules(),
    Profile.COMPAT: RetryRules(retries_unauthorised=True, retries_after_blocks=False, plain_after_not_found=True),
}


class Lost(Struct, frozen=True):
    """One sending that gave no complete reply.

    `retry_after` is the header's text, `should_retry` the service's own word on it (`None`: none). `begun` says whether
    a reply had begun, `blocks` how many whole blocks of it were given, `usage` what it is known to have spent.
    """

    failure: Failed
    retry_after: str = ""
    should_retry: bool | None = None
    begun: bool = False
    blocks: int = 0
    usage: Usage = NO_USAGE


class Course:
    """The retries of one request."""

    def __init__(self, rules: RetryRules, max_retries: int) -> None:
        self._rules = rules
        self._max_retries = max_retries
        self._overloads = 0
        self.retries = 0

    def may_go_plain(self, lost: Lost) -> bool:
        """Whether the same should be asked without streaming: no reply began in the stream, or nothing was found."""
        if lost.failure.provider_kind == NO_REPLY:
            return True
        return self._rules.plain_after_not_found and lost.failure.status == _NOT_FOUND

    def may_retry(self, lost: Lost) -> bool:
        """Whether the request is to be sent again; counts the retry."""
        failure = lost.failure
        self._overloads = self._overloads + 1 if failure.kind is FailureKind.OVERLOADED else 0
        if not self._is_transient(lost) or self.retries >= self._max_retries:
            return False
        if self._rules.overloads is not None and self._overloads > self._rules.overloads:
            return False
        self.retries += 1
        return True

    def _is_transient(self, lost: Lost) -> bool:
        if lost.should_retry is not None:
            return lost.should_retry
        if lost.blocks and not self._rules.retries_after_blocks:
            return False
        if lost.failure.status == _UNAUTHORISED:
            return self._rules.retries_unauthorised
        return lost.failure.kind in _TRANSIENT

    def delay_s(self, lost: Lost, *, now: float, chance: float) -> float:
        """How long to wait before the retry that was just counted."""
        asked = read_retry_after(lost.retry_after, now=now)
        if asked is not None:
            return min(asked, RETRY_AFTER_CAP_S)
        delay = min(FIRST_DELAY_S * 2.0 ** min(self.retries - 1, 30), LONGEST_DELAY_S)
        return delay * (1 + SPREAD * chance)


def read_retry_after(text: str, *, now: float) -> float | None:
    """The seconds that a `retry-after` header asks for; `None` for what is no length of time.

    It may be seconds (a fraction is taken) or a date; `now` is seconds since the epoch.
    """
    text = text.strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return _seconds_until(text, now)
    return seconds if 0 <= seconds < float("inf") else None


def _seconds_until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 -- 7 ms, and hardly any service sends a date

    try:
        return max(parsedate_to_datetime(date).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
