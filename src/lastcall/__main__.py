"""`python -m lastcall`, the same as the command."""

import gc
import sys


def main() -> None:
    """Run the command and leave with its code."""
    gc.set_threshold(100_000, 20, 20)  # the start makes many objects that stay; collecting among them is 5 % of it
    try:
        from lastcall.cli.main import main as run  # noqa: PLC0415 -- nothing at import

        code = run()
    except KeyboardInterrupt:
        code = 130
    _leave(code)


def _leave(code: int) -> None:
    """End the process. At once where code of the caller's never ended: the interpreter's way out would abort on it."""
    threading = sys.modules.get("threading")
    if threading is not None and any(thread.name == "lastcall judging" for thread in threading.enumerate()):
        import os  # noqa: PLC0415 -- hardly ever

        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue  # closed, or nobody reads it: what could be said was said
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
