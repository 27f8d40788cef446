"""What is told of an exception of the caller's code.

What code raises may hold anything that it read: keys, passwords, the lines of a file. So only words that Python made, or
that were raised to be told, stand in a message of ours.

Must not go in here: catching exceptions.
"""

from __future__ import annotations

from typing import Final

from lastcall.errors import LastcallError

_OURS: Final = __file__.rpartition("/contract/")[0] + "/"


def accident(error: BaseException) -> str:
    """What an exception is that nobody raised to be told: its kind and its place; words only if Python made them."""
    kind = type(error).__name__
    named = isinstance(error, (ImportError, NameError, AttributeError)) and error.name is not None
    if named or isinstance(error, SyntaxError):
        return f"{kind}: {error}"
    trace, place = error.__traceback__, ""
    while trace is not None:  # the innermost place that is the caller's own
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((_OURS, "<")) and "/lib/python" not in file:
            place = f" in {file.rpartition('/')[2]}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return kind + place


def told(error: BaseException) -> str:
    """The same, but with the words of what is raised to be told: a `ValueError`, an `AssertionError`, an error of ours."""
    if isinstance(error, ValueError | AssertionError | LastcallError) and str(error):
        return f"{type(error).__name__}: {error}"
    return accident(error)
