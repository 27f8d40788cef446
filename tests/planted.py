"""Plants a bug into the product's own code for the length of a `with`: a piece of source replaced, nothing else.

The functions stay the same objects and get other code, so that whoever imported them has the bug too. A piece that no longer
occurs exactly once is an error: the bug has to be planted anew where the code has moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any


@contextmanager
def planted(module_name: str, old: str, new: str) -> Iterator[None]:
    """`old` in the module's source reads `new`, inside."""
    module = import_module(module_name)
    source = Path(str(module.__file__)).read_text("utf-8")
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {module_name}"
    other: dict[str, Any] = {"__name__": module_name}
    exec(compile(source.replace(old, new), f"{module_name} with a planted bug", "exec"), other)
    here, there = dict(_functions(vars(module), module_name)), dict(_functions(other, module_name))
    before: dict[str, CodeType] = {name: function.__code__ for name, function in here.items()}
    changed = [n for n in here if n in there and _differs(before[n], there[n].__code__)]
    assert changed, "the replaced piece stands in no function"
    try:
        for name in changed:
            here[name].__code__ = there[name].__code__
        yield
    finally:
        for name in changed:
            here[name].__code__ = before[name]


def _functions(names: dict[str, Any], module_name: str, prefix: str = "") -> Iterator[tuple[str, FunctionType]]:
    for name, value in names.items():
        if getattr(value, "__module__", module_name) != module_name:
            continue
        inner = value.fget if isinstance(value, property) else value
        if isinstance(inner, FunctionType) and inner.__module__ == module_name:
            yield prefix + name, inner
        elif isinstance(inner, type):
            yield from _functions(dict(vars(inner)), module_name, f"{prefix}{name}.")


def _differs(one: CodeType, other: CodeType) -> bool:
    """Whether two functions do different things; where they stand in their file does not matter."""
    return _meaning(one) != _meaning(other)


def _meaning(code: CodeType) -> tuple[Any, ...]:
    inner = tuple(_meaning(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, inner
