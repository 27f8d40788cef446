"""HTML and SVG as values: whatever is not `Markup` is text, and text is escaped.

There is no way to make `Markup` from a string that came from elsewhere, none to set a script, an inline style or an
address that runs code; so a page made of these is inert whatever a model said.

Must not go in here: whole pages (`viewer.page`), how things look (`assets/*.css`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from msgspec import Struct

from lastcall.errors import LastcallBug

_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_FORBIDDEN_TAGS: Final = frozenset({"script", "style", "iframe", "object", "embed", "base", "meta", "link", "form"})
_FORBIDDEN_ATTRIBUTES: Final = frozenset({"style", "srcdoc", "action", "formaction", "ping"})
_VOID: Final = frozenset({"br", "hr", "img", "input", "wbr", "col"})
_ADDRESSES: Final = frozenset({"href", "src", "xlink:href"})
_SAFE_ADDRESS: Final = re.compile(r"(?:https?://|[#?]|\.{0,2}/(?!/)|[A-Za-z0-9_.-]+(?:$|[#?/]))[^\s\\]*")
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class Markup(Struct, frozen=True):
    """Finished HTML. Made by `tag` and `join` only."""

    html: str


Child = Markup | str | int | float | Decimal | None | Iterable["Child"]
"""What can stand in an element; `None` is nothing, an iterable is its members."""
Value = str | int | float | bool | None
"""An attribute's value; `None` and `False` leave it out, `True` is the bare name."""


def tag(name: str, *children: Child, **attributes: Value) -> Markup:
    """An element. In attribute names `_` stands for `-`, one at the end is dropped (`class_`).

    Raises `LastcallBug` for elements and attributes that could run or load something, and for addresses of a scheme
    other than http and https.
    """
    if not _NAME.fullmatch(name) or name.lower() in _FORBIDDEN_TAGS:
        raise LastcallBug(f"a page's markup may not hold the element {name!r}")
    start = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{start}>")
    return Markup(f"<{start}>{join(*children).html}</{name}>")


def join(*children: Child) -> Markup:
    """The children one after the other."""
    return Markup("".join(_html(child) for child in children))


def escape(text: str) -> str:
    """Text as HTML, for between tags and in quoted attributes; what no HTML text may hold becomes U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text).translate(_ESCAPES)


def _html(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child.html
    if isinstance(child, str | int | float | Decimal):
        return escape(str(child))
    return "".join(_html(member) for member in child)


def _attribute(key: str, value: Value) -> str:
    name = key.removesuffix("_").replace("_", "-")
    if not _NAME.fullmatch(name) or name.lower().startswith("on") or name.lower() in _FORBIDDEN_ATTRIBUTES:
        raise LastcallBug(f"a page's markup may not hold the attribute {name!r}")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name in _ADDRESSES and not _SAFE_ADDRESS.fullmatch(str(value)):
        raise LastcallBug("a page's link must lead to http, https, or a place in the page")
    return f' {name}="{escape(str(value))}"'
