"""The signals of every test's children are the usual ones, however the tests themselves were started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell that starts the tests in the background, or under nohup, ignores these, and children inherit that."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
