"""An error as one sentence on stderr, and its exit code."""

from __future__ import annotations

from lastcall.cli.exits import FAULT, USAGE
from lastcall.cli.streams import say
from lastcall.errors import JournalError, LastcallError, ProviderError, UsageError


def say_error(error: LastcallError) -> int:
    """Print the sentence; the exit code for the error's type."""
    say(f"lastcall: {error}")
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, ProviderError):
        return 15
    return FAULT if not isinstance(error, JournalError) else USAGE
