"""The pages that `make docs` builds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import needs

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path):
    """What the pages are made of, where a test may change it."""
    needs.package("zensical")
    for name in ("docs", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("README.md", "CHANGELOG.md", "zensical.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


def build(place):
    return subprocess.run(
        [sys.executable, "scripts/build_docs.py"], cwd=place, capture_output=True, text=True, check=False
    )


def test_they_hold_every_page_and_the_reference_with_signatures_and_fetch_nothing(checkout):
    built = build(checkout)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {page.relative_to(checkout / "docs").with_suffix(".html") for page in (checkout / "docs").rglob("*.md")}
    made = {page.relative_to(checkout / "site") for page in (checkout / "site").rglob("*.html")}
    assert {str(page).replace("README.html", "index.html") for page in pages} <= {str(page) for page in made}
    reference = re.sub(r"<[^>]*>", "", (checkout / "site" / "python-api.html").read_text("utf-8"))
    assert "Run the prompt until there is a verified object" in reference
    assert re.search(r"max_retries: int \| None = None", reference)
    fonts = [page for page in (checkout / "site").rglob("*.html") if "fonts.googleapis" in page.read_text("utf-8")]
    assert fonts == []


@pytest.mark.parametrize("mistake", ["[gone](nowhere.md)", "::: lastcall.nothing"])
def test_a_link_or_a_name_that_leads_nowhere_fails_the_build(checkout, mistake):
    page = checkout / "docs" / "glossary.md"
    page.write_text(f"{page.read_text('utf-8')}\n{mistake}\n", "utf-8")
    assert build(checkout).returncode == 1
