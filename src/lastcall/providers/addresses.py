"""Addresses of services.

Must not go in here: opening them (`providers.connection`).
"""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit, urlunsplit

from lastcall.errors import BadConfig


def endpoint(base_url: str, path: str, *, version: str = "/v1", where: str = "") -> str:
    """The address of `path` below a base address that may or may not name the version already; its query is kept.

    Raises `BadConfig`, naming `where` the base address came from, for what is no HTTP address.
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise BadConfig("the base URL is no http or https address", hint="Write it like https://host/v1.", where=where)
    base = parts.path.rstrip("/")
    if not base.endswith(version):
        base += version
    return urlunsplit(SplitResult(parts.scheme, parts.netloc, base + path, parts.query, ""))


def shown_address(url: str) -> str:
    """An address as it may be seen: without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(SplitResult(parts.scheme, host, parts.path, "", ""))
