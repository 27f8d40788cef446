"""The source tree as syntax trees, for the tests of this folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lastcall"
PURE_LAYERS = ("nouns", "contract", "core", "wire")


@cache
def modules() -> tuple[Path, ...]:
    """Every module of the package."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(path.read_text("utf-8"), str(path))


def dotted(path: Path) -> str:
    """A module's name without the package's: `core.decide`."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def names_defined(path: Path) -> set[str]:
    """The names that a module or its classes define: functions, classes, methods, fields, assigned names."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def calls_of(name: str) -> Iterator[Path]:
    """The modules that call something of this name, once for each call."""
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                called = node.func
                last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if last == name:
                    yield path
