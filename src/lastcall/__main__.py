"""`python -m lastcall`, the same as the command."""

import gc
import sys


def main() -> None:
    """Run the command and leave with its code."""
    gc.set_threshold(100_000, 20, 20)  # the start makes many objects that stay; collecting among them is 5 % of it
    try:
        from lastcall.cli.main import main as run  # noqa: PLC0415 -- nothing at import

        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
