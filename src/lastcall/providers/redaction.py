"""Taking credentials out of everything that a person, a file or a model may see.

What a transport was given (values of headers, user names, passwords and query values of its address) is replaced wherever
it occurs; what merely has the shape of a well-known key is replaced too, since services repeat in their messages what was
sent to them.

Must not go in here: redaction of the caller's own data (`--redact`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from msgspec.structs import replace

from lastcall.nouns.result import Failed

REDACTED = "[redacted]"
_SHORTEST_SECRET = 4
"""Shorter values would blank out ordinary words."""

_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie", "x-goog-api-key"}
)
_SHAPES = (
    r"\bsk-[A-Za-z0-9_-]{16,}"  # Anthropic, OpenAI and their imitators
    r"|\b(?:gsk|xai|hf|r8|pplx|nvapi|tgp)[-_][A-Za-z0-9_-]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bgh[opsu]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"  # a signed token
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{8,}=*"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"  # user and password of an address
)


class Redactor:
    """Replaces the secrets it was given, and what looks like a key, in texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found = {form for secret in secrets for form in (secret, quote(secret, safe=""))}
        kept = sorted((form for form in found if len(form) >= _SHORTEST_SECRET), key=len, reverse=True)
        self._given = re.compile("|".join(map(re.escape, kept))) if kept else None

    def __call__(self, text: str) -> str:
        """`text` without what must not be seen."""
        if self._given is not None:
            text = self._given.sub(REDACTED, text)
        return re.sub(
            _SHAPES, REDACTED, text
        )  # compiled when a service has failed: that takes a third of a millisecond

    def failure(self, failure: Failed) -> Failed:
        """The failure with its words redacted."""
        return replace(failure, detail=self(failure.detail), provider_kind=self(failure.provider_kind))


def is_credential(header: str) -> bool:
    """Whether a header of this name holds what nobody may see."""
    return header.lower() in _SECRET_HEADERS


def secrets_of(url: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """The values that must not be seen, of an address and the headers sent to it."""
    parts = urlsplit(url)
    secrets = [value for _, value in parse_qsl(parts.query)]
    secrets += [unquote(value) for value in (parts.username, parts.password) if value]
    for name, value in headers.items():
        if is_credential(name):
            secrets.append(value)
            secrets.append(value.removeprefix("Bearer ").removeprefix("Basic "))
    return tuple(secrets)
