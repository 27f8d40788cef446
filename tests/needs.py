"""Programs and libraries that some tests need and a developer's machine may lack."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from importlib import import_module
from typing import Any

import pytest

_ELSEWHERE = {"postgres": "/usr/lib/postgresql"}
_APART = os.pathsep.join(
    (
        os.path.join(os.path.dirname(__file__), "browser", "node_modules", ".bin"),
        os.path.join(sys.prefix, "apart", "bin"),
    )
)
"""Where `make everything` puts programs that are on nobody's path."""


def program(name: str) -> str:
    """The program's path. Where it is missing the test is skipped, but in CI, which installs them all, it fails."""
    found = shutil.which(name) or _debian(name) or shutil.which(name, path=_APART)
    if found is not None:
        return found
    if os.environ.get("CI"):
        pytest.fail(f"{name} is not installed, and CI must not skip what needs it")
    pytest.skip(f"{name} is not installed")


def package(name: str) -> Any:
    """The package, imported. Where it is missing the test is skipped, but in CI, which installs them all, it fails."""
    if os.environ.get("CI") and importlib.util.find_spec(name) is None:
        pytest.fail(f"{name} is not installed, and CI must not skip what needs it")
    return pytest.importorskip(name)


class Library:
    """A library that is loaded when something of it is asked for. Missing, it skips the test as a program does."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, wanted: str) -> object:
        try:
            return getattr(import_module(self._name), wanted)
        except ModuleNotFoundError:
            if os.environ.get("CI"):
                pytest.fail(f"{self._name} is not installed, and CI must not skip what needs it")
            pytest.skip(f"{self._name} is not installed")


def _debian(name: str) -> str | None:
    """Debian keeps some servers' programs off the path."""
    root = _ELSEWHERE.get(name)
    if root is None or not os.path.isdir(root):
        return None
    for version in sorted(os.listdir(root), reverse=True):
        path = os.path.join(root, version, "bin", name)
        if os.access(path, os.X_OK):
            return path
    return None
