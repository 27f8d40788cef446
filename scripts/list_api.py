"""The list of public names in docs/python-api.md, from their docstrings: `python scripts/list_api.py`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import lastcall
from lastcall import testing

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "python-api.md"
HEAD = """# Python: every public name

Written by `python scripts/list_api.py` from the docstrings. [Use it from Python](tasks/python.md) shows how
they go together.
"""


class _Any:
    def __repr__(self) -> str:
        return "…"


_ANY = _Any()


def signature(name: str, found: Any) -> str:
    """The call, without annotations and defaults, which editors show."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return name
    shown = [p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else _ANY) for p in parameters]
    return f"{name}{inspect.Signature(shown, __validate_parameters__=False)}"


def words(found: Any) -> str:
    return (inspect.getdoc(found) or "").replace("\n```python\n", "\n```text\n")


def members(found: Any) -> list[str]:
    """Public methods and properties of a class that say something of their own."""
    lines = []
    for name, member in vars(found).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        first = words(member).split("\n\n")[0].replace("\n", " ")
        lines.append(f"- `{name}{'' if isinstance(member, property) else '()'}`: {first}")
    return lines


def entry(name: str, found: Any) -> str:
    shown = signature(name, found) if callable(found) else name
    text = words(found) if inspect.isclass(found) or inspect.isroutine(found) else ""
    parts = [f"### `{name}`", f"```text\n{shown}\n```" if shown != name else "", text]
    if inspect.isclass(found):
        parts.append("\n".join(members(found)))
    return "\n\n".join(part for part in parts if part)


def page() -> str:
    main = [entry(name, getattr(lastcall, name)) for name in lastcall.__all__ if name != "__version__"]
    kit = [entry(f"testing.{name}", getattr(testing, name)) for name in testing.__all__ if name != "BAD_KINDS"]
    text = "\n\n".join([HEAD, "## lastcall", *main, "## lastcall.testing", *kit]) + "\n"
    return re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"\n{3,}", "\n\n", text))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
