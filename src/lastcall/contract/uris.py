"""URI references as RFC 3986 resolves them, as far as schemas need it. Nothing is ever fetched.

Must not go in here: what a URI points at (`contract.documents`).
"""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_ESCAPED: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")

Parts = tuple[str | None, str | None, str, str | None, str | None]
"""Scheme, authority, path, query, fragment; `None` where a part is absent."""


def split(uri: str) -> Parts:
    """The five parts of a URI reference (RFC 3986, appendix B)."""
    match = _PARTS.fullmatch(uri)
    assert match is not None
    scheme, authority, path, query, fragment = match.groups()
    return scheme, authority, path, query, fragment


def without_fragment(uri: str) -> str:
    """The URI up to its `#`."""
    return uri.partition("#")[0]


def resolve(base: str, reference: str) -> str:
    """The target of a reference, its fragment kept (RFC 3986, 5.2.2). A base of `""` leaves it as it is."""
    scheme, authority, path, query, fragment = split(reference)
    if scheme is not None or not base:
        return _join(scheme, authority, _without_dots(path) if scheme or authority else path, query, fragment)
    base_scheme, base_authority, base_path, base_query, _ = split(base)
    if authority is not None:
        return _join(base_scheme, authority, _without_dots(path), query, fragment)
    if not path:
        return _join(base_scheme, base_authority, base_path, base_query if query is None else query, fragment)
    if not path.startswith("/"):
        path = _merged(base_authority, base_path, path)
    return _join(base_scheme, base_authority, _without_dots(path), query, fragment)


def unescape(fragment: str) -> str:
    """Percent-escapes read as UTF-8."""
    return _ESCAPED.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "replace"), fragment)


def _merged(base_authority: str | None, base_path: str, path: str) -> str:
    if base_authority is not None and not base_path:
        return "/" + path
    return base_path[: base_path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    if "." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for place, segment in enumerate(segments):
        last = place == len(segments) - 1
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
            if last:
                kept.append("")
        elif segment != ".":
            kept.append(segment)
        elif last:
            kept.append("")
    return "/".join(kept)


def _join(scheme: str | None, authority: str | None, path: str, query: str | None, fragment: str | None) -> str:
    text = f"{scheme}:" if scheme is not None else ""
    if authority is not None:
        text += f"//{authority}"
    text += path
    if query is not None:
        text += f"?{query}"
    return text if fragment is None else f"{text}#{fragment}"
