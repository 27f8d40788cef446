"""The documentation as pages: `python scripts/build_docs.py` writes site/. Exit code 1 for a link that leads nowhere."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
LINK = re.compile(r'href="(?!https?:|mailto:|#)([^"#]+)')
STYLE = """body{max-width:48rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;color:#222}
pre,code{font:14px/1.4 ui-monospace,monospace;background:#f5f5f2}pre{padding:.8rem;overflow:auto}
table{border-collapse:collapse}td,th{border:1px solid #ddd;padding:.25rem .6rem;text-align:left;vertical-align:top}
nav{font-size:14px;margin-bottom:2rem}nav a{margin-right:1rem}"""


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def target(page: Path) -> Path:
    """Where a page goes: docs/x.md to site/docs/x.html, README.md to site/index.html."""
    if page == ROOT / "README.md":
        return SITE / "index.html"
    return (SITE / page.relative_to(ROOT)).with_suffix(".html")


def title(text: str, page: Path) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found.group(1) if found else page.stem


def build(page: Path) -> list[str]:
    """Write one page; its dead links."""
    text = page.read_text("utf-8")
    body = MarkdownIt("commonmark").enable("table").render(text)
    dead = []

    def moved(match: re.Match[str]) -> str:
        linked = (page.parent / match.group(1)).resolve()
        if not linked.exists():
            dead.append(f"{page.relative_to(ROOT)}: {match.group(1)}")
        new = (
            re.sub(r"README\.md$", "index.html", match.group(1)) if linked.parent == ROOT else html_name(match.group(1))
        )
        return f'href="{new}'

    body = LINK.sub(moved, body)
    up = "../" * (len(page.relative_to(ROOT).parts) - 1)
    nav = f'<nav><a href="{up}index.html">lastcall</a><a href="{up}docs/flags.html">Flags</a>'
    nav += f'<a href="{up}docs/architecture.html">Architecture</a><a href="{up}docs/glossary.html">Glossary</a></nav>'
    out = target(page)
    out.parent.mkdir(parents=True, exist_ok=True)
    head = f'<!doctype html><meta charset="utf-8"><title>{html.escape(title(text, page))}</title><style>{STYLE}</style>'
    out.write_text(f"{head}{nav}{body}", "utf-8")
    return dead


def html_name(link: str) -> str:
    return re.sub(r"\.md$", ".html", link)


def main() -> int:
    dead = [link for page in pages() for link in build(page)]
    for link in dead:
        print(f"dead link in {link}", file=sys.stderr)
    print(f"{len(pages())} pages in {SITE.relative_to(ROOT)}/")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
