"""Every Python example of the documentation runs as it is printed.

The blocks of a page share their names, in order. What the model says to a block stands in an HTML comment after it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import lastcall
import needs
from lastcall import testing

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:<!-- script: (.*?) -->)?", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^<!-- needs: (.*?) -->$", re.MULTILINE)
PAGES = [page for page in sorted(ROOT.glob("docs/**/*.md")) if BLOCK.search(page.read_text("utf-8"))]


def packages(page):
    """What a page says that its examples need beside lastcall's own extras."""
    return [name for listed in NEEDS.findall(page.read_text("utf-8")) for name in listed.split(", ")]


def as_case(page):
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.slow] if packages(page) else [])


@pytest.mark.parametrize("page", [as_case(page) for page in PAGES])
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    for name in packages(page):
        needs.package(name)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": f"examples_{page.stem}"}
    for number, (code, script) in enumerate(BLOCK.findall(page.read_text("utf-8")), 1):
        monkeypatch.delenv("LASTCALL_MODEL", raising=False)
        if script:
            place = tmp_path / f"script{number}.json"
            place.write_text(json.dumps(json.loads(script)), "utf-8")
            monkeypatch.setenv("LASTCALL_MODEL", f"scripted:{place}")
        exec(compile(code, f"{page.name}, example {number}", "exec"), names)


def test_there_are_pages_with_examples():
    assert {page.name for page in PAGES} >= {"python.md", "test-without-a-model.md"}


def test_every_public_name_is_in_the_reference_and_nothing_else_of_the_package():
    """The page is written by hand; `scripts/build_docs.py` fills it from the docstrings."""
    text = (ROOT / "docs" / "python-api.md").read_text("utf-8")
    shown = set(re.findall(r"^::: lastcall\.(?!interop)(\S+)$", text, re.MULTILINE))
    assert shown == {*lastcall.__all__, *(f"testing.{name}" for name in testing.__all__)} - {"__version__"}
