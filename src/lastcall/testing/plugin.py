"""The pytest plugin: no real requests unless a test is marked, and the ledger of every run of a failed test.

Everything heavy is imported when a test that uses lastcall runs: this module is loaded by every pytest of the environment.

Must not go in here: models, clocks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lastcall.api.result import TerminalResult
    from lastcall.testing import ScriptedModel

MARK = "real_requests"
VARIABLE = "LASTCALL_FORBID_REQUESTS"
_RESULTS: pytest.StashKey[list[Any]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", f"{MARK}: the test may ask a real model through lastcall")


@pytest.fixture(autouse=True)
def _lastcall_forbids_real_requests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the environment, so that commands that a test starts are bound by it too."""
    if request.node.get_closest_marker(MARK) is None:
        monkeypatch.setenv(VARIABLE, "1")
    else:
        monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def scripted_model() -> Callable[..., ScriptedModel]:
    """`lastcall.testing.ScriptedModel`, without an import."""
    from lastcall.testing import ScriptedModel  # noqa: PLC0415 -- loaded by tests that ask for it

    return ScriptedModel


@pytest.fixture
def lastcall_results(request: pytest.FixtureRequest) -> list[TerminalResult[Any]]:
    """The results of the runs of this test so far, in their order."""
    found: list[TerminalResult[Any]] = request.node.stash[_RESULTS]
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Collect the results of the test's runs."""
    results: list[Any] = []
    item.stash[_RESULTS] = results
    _listen(results)
    try:
        return (yield)
    finally:
        _forget(results)


def _listen(results: list[Any]) -> None:
    from lastcall.api import ends  # noqa: PLC0415 -- a module of one list

    ends.listeners.append(results.append)


def _forget(results: list[Any]) -> None:
    listeners = sys.modules["lastcall.api.ends"].listeners
    listeners[:] = [told for told in listeners if getattr(told, "__self__", None) is not results]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show the attempts of a failed test's runs."""
    report: Any = yield
    results = item.stash.get(_RESULTS, [])
    if report.failed and results:
        shown = "\n\n".join(f"run {number}: {result.ledger()}" for number, result in enumerate(results, 1))
        report.sections.append(("lastcall runs", shown))
    return report  # type: ignore[no-any-return] # a wrapper hands over what it was given
