"""The documentation is true: what it names exists."""

from __future__ import annotations

import re

import pytest

from architecture.sources import PACKAGE, ROOT, modules, names_defined
from lastcall.cli.flags import FLAGS, REFUSED
from lastcall.cli.subcommands import SUBCOMMANDS

PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("changes/*.md"), *ROOT.glob("examples/**/*.md")]
)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]+")

FOREIGN_FLAGS = {
    "--flag", "--no-deps", "--require-hashes", "--only-binary", "--die-with-parent", "--network", "--upgrade", "--user",
}  # fmt: skip
"""Flags of other programs that the documentation may name."""


def ids(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


def options_of_subcommands():
    found = set()
    for path in [*(PACKAGE / "cli").glob("*.py"), *(ROOT / "bench").glob("*.py")]:
        found |= set(re.findall(r"\"(--[a-z][\w-]+)\"", path.read_text("utf-8")))
    return found


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_every_flag_that_is_named_exists(page):
    known = {flag.name for flag in FLAGS} | {alias for flag in FLAGS for alias in flag.aliases}
    known |= options_of_subcommands() | REFUSED | FOREIGN_FLAGS
    assert set(FLAG.findall(page.read_text("utf-8"))) - known == set()


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_every_link_leads_somewhere(page):
    text = page.read_text("utf-8")
    targets = [target for target in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_every_source_file_that_is_named_exists(page):
    named = re.findall(r"`([\w./-]+\.py)\b", page.read_text("utf-8"))
    assert [name for name in named if not any((place / name).exists() for place in (PACKAGE, ROOT, page.parent))] == []


def test_every_function_of_the_tour_is_in_the_file_named_before_it():
    current = None
    checked = 0
    for span in SPAN.findall((ROOT / "docs" / "tour.md").read_text("utf-8")):
        if re.fullmatch(r"[\w/]+\.py", span):
            current = PACKAGE / span
        elif match := re.fullmatch(r"(\w+)\(\)", span):
            assert current is not None
            assert match.group(1) in names_defined(current), f"{span} is not in {current.relative_to(PACKAGE)}"
            checked += 1
        elif re.fullmatch(r"[A-Z][a-z]\w+", span) and span != "StructuredOutput":
            assert any(span in names_defined(path) for path in modules()), span
    assert checked >= 15


def test_every_flag_and_subcommand_has_its_place_in_the_documentation():
    """docs/flags.md is the list; the other pages explain."""
    text = (ROOT / "docs" / "flags.md").read_text("utf-8")
    assert [flag.name for flag in FLAGS if f"`{flag.name}`" not in text] == []
    assert [name for name in SUBCOMMANDS if f"`lastcall {name}`" not in text] == []


def glossary():
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE
    )
    return [(word.strip(), instead.strip()) for word, _, instead in rows[2:] if word.strip() != "word"]


def test_the_glossary_is_sorted_and_every_word_is_used():
    words = [word for word, _ in glossary()]
    assert words == sorted(words)
    source = " ".join(path.read_text("utf-8").lower() for path in modules())
    assert [word for word in words if word not in source] == []


def test_no_name_uses_a_word_that_the_glossary_rules_out():
    ruled_out = {"violation", "artifact", "flavour", "rollback", "invocation", "tick"}
    listed = {other.strip() for _, instead in glossary() for other in instead.split(",")}
    assert ruled_out <= listed
    bad = []
    for path in modules():
        for name in names_defined(path):
            words = re.sub(r"([A-Z])", r"_\1", name).lower().split("_")
            bad += [f"{path.relative_to(PACKAGE)}: {name}" for word in words if word in ruled_out]
    assert bad == []


def test_the_list_of_flags_is_what_the_table_says():
    """`python scripts/list_flags.py` writes it."""
    place = ROOT / "scripts" / "list_flags.py"
    scope = {"__file__": str(place), "__name__": "list_flags"}
    exec(compile(place.read_text("utf-8"), str(place), "exec"), scope)
    assert (ROOT / "docs" / "flags.md").read_text("utf-8") == scope["page"]()
