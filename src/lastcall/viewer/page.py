"""One self-contained HTML file: styles, scripts and values inside, nothing loaded from anywhere.

A content security policy in the file allows the scripts and styles of this package by their hashes and nothing else, and
`require-trusted-types-for` makes a browser refuse to read markup from text. Values travel in one block of JSON that no
value can end early.

Must not go in here: markup of single things (`viewer.markup`, `viewer.charts`), what a page shows.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from lastcall.version import VERSION
from lastcall.viewer.markup import Markup, escape, join, tag

BLOCK_ID: Final = "lastcall-values"
"""Id of the element that holds a page's values as JSON."""
_BASE: Final = "base"
_JSON_ESCAPES: Final = str.maketrans({
    "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029",
})  # fmt: skip


def render_page(
    title: str,
    main: Markup,
    *,
    values: Any = None,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    connects: bool = False,
    links: Markup | None = None,
) -> str:
    """The whole file as text, to be written or sent as UTF-8.

    `main` is the content; `values` becomes the JSON block (left out for `None`); `styles` and `scripts` name files of
    `assets` without their suffix, after the ones that every page has; `links` stands in the head of the page. `connects`
    allows requests to the page's own origin, which only a page that is served needs.
    """
    style = "".join(asset(f"{name}.css") for name in (_BASE, *styles))
    script = '"use strict";\n(() => {\n' + "".join(asset(f"{name}.js") for name in (_BASE, *scripts)) + "})();\n"
    block = "" if values is None else _script(json_block(values), f'type="application/json" id="{BLOCK_ID}"')
    body = join(
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag(
            "header",
            tag("span", "lastcall", class_="mark"),
            links,
            tag("span", class_="spring"),
            tag("button", "Auto", type="button", id="theme", class_="quiet"),
            class_="top",
        ),
        tag("main", main, id="main", tabindex="-1"),
        tag("footer", f"lastcall {VERSION}", class_="foot"),
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(style, script, connects=connects))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body.html}\n{block}{_script(script)}</body>\n</html>\n"
    )


def policy(style: str, script: str, *, connects: bool = False) -> str:
    """The content security policy of a page with this style and this script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "connect-src 'self'" if connects else "connect-src 'none'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def json_block(values: Any) -> str:
    """Values as JSON that can stand in a script element: no `<`, so no value can end it or open a comment."""
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"), allow_nan=False).translate(_JSON_ESCAPES)


@cache
def asset(name: str) -> str:
    """The text of a file of `assets`."""
    return (files("lastcall.viewer") / "assets" / name).read_text("utf-8")


def _script(text: str, attributes: str = "") -> str:
    return f"<script{' ' * bool(attributes)}{attributes}>{text}</script>\n"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
