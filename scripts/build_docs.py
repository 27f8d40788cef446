"""The documentation as pages in site/: `python scripts/build_docs.py`. Exit code 1 for a link that leads nowhere.

README.md becomes the first page; the others are those of docs/. Zensical makes the pages, mkdocstrings the reference from
the source's docstrings; neither needs a network.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "docs"
OUTSIDE = re.compile(r"\]\((?:\.\./)+(README|CHANGELOG)\.md")
FOLDER = re.compile(r"\]\(((?!https?:)[^)#\s]+)/\)")
FILE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(?:(?:examples|bench|src|scripts|tests|changes)/[^)\s]*|LICENSE)\)")


def staged(text: str, page: Path) -> str:
    """A page as it stands in build/docs: its links to other pages fitted, those to files of the repository unlinked."""
    up = "../" * (len(page.parts) - 1)
    text = OUTSIDE.sub(lambda found: f"]({up}{'index' if found[1] == 'README' else 'changelog'}.md", text)
    text = FILE.sub(r"\1", text)
    return FOLDER.sub(r"](\1/README.md)", text)


def stage() -> int:
    """Put all pages together in build/docs; how many there are."""
    shutil.rmtree(STAGE, ignore_errors=True)
    pages = {page.relative_to(ROOT / "docs"): page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")}
    readme = (ROOT / "README.md").read_text("utf-8")
    pages[Path("index.md")] = readme.replace("](docs/", "](").replace("](CHANGELOG.md", "](changelog.md")
    pages[Path("changelog.md")] = (ROOT / "CHANGELOG.md").read_text("utf-8")
    for page, text in pages.items():
        place = STAGE / page
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(staged(text, page), "utf-8")
    for picture in (ROOT / "docs").rglob("*"):
        if picture.suffix in (".svg", ".png"):
            shutil.copy(picture, STAGE / picture.relative_to(ROOT / "docs"))
    return len(pages)


def main() -> int:
    count = stage()
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=False)
    if built.returncode == 0:
        print(f"{count} pages in site/")
    return 1 if built.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
