"""`python -m lastcall`, the same as the command."""

import sys


def main() -> None:
    """Run the command and leave with its code."""
    try:
        from lastcall.cli.main import main as run  # noqa: PLC0415 -- nothing at import

        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
