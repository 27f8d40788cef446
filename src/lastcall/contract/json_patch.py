"""JSON Patch (RFC 6902) on our own JSON values: all six operations, exact numbers, the order of keys kept.

A patch is taken whole or not at all: it works on a value of its own, and the first operation that cannot be done says
which one it is, at which pointer, and what stands there (kinds and sizes, never values). No patch can take long or grow
without end: copies are counted (`STEPS`), and so is depth.

Must not go in here: where patches come from (`contract.revision`), pointers of problems (`json_text.pointer_token`).
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from msgspec import Struct

from lastcall.contract.arithmetic import EXACT
from lastcall.contract.equality import Interned
from lastcall.contract.json_text import pointer_token
from lastcall.nouns.json import JsonValue

MOST_OPERATIONS: Final = 10_000
STEPS: Final = 2_000_000
"""Nodes that the operations of one patch may copy, move, compare and shift: some seconds."""
MOST_DEPTH: Final = 512
"""How deep a patched value may nest; the same as for arguments."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,15}")
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")
_END: Final = "-"
_SHOWN: Final = 80
"""Characters of a pointer or a key in a sentence."""

_NEEDS: Final = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("from", "path"),
    "copy": ("from", "path"),
    "test": ("path", "value"),
}
"""The members that each operation has to have; others are left out of account, as the RFC wants it."""

OPERATIONS: Final = tuple(_NEEDS)


class PatchFault(Struct, frozen=True):
    """Why a patch was not applied: `at` is a JSON Pointer into the patch, `why` says what stands in the way."""

    at: str
    why: str


class _CannotApply(Exception):  # noqa: N818 -- never leaves this file
    def __init__(self, why: str, member: str = "") -> None:
        super().__init__(why)
        self.why, self.member = why, member


def apply_patch(document: JsonValue, patch: JsonValue) -> JsonValue | PatchFault:
    """The patched document, or the first thing that is wrong with the patch.

    Changes `document` in place: hand over a value that nobody else looks at, and drop it where this gives a fault.
    """
    if not isinstance(patch, list):
        return PatchFault("", f"must be an array of operations, and is {_kind(patch)}")
    if len(patch) > MOST_OPERATIONS:
        return PatchFault("", f"holds {len(patch)} operations; at most {MOST_OPERATIONS} are taken")
    target = _Target(document)
    for number, operation in enumerate(patch):
        try:
            target.apply(operation)
        except _CannotApply as fault:
            member = f"/{fault.member}" if fault.member else ""
            return PatchFault(f"/{number}{member}", fault.why)
    return target.document


class _Target:
    """The document in the middle of a patch."""

    def __init__(self, document: JsonValue) -> None:
        self.document: JsonValue = document
        self._steps = STEPS

    def apply(self, operation: JsonValue) -> None:
        """One operation. Raises `_CannotApply`."""
        if not isinstance(operation, dict):
            raise _CannotApply(f"must be an operation (an object with op and path), and is {_kind(operation)}")
        op = operation.get("op")
        if not isinstance(op, str) or op not in _NEEDS:
            found = f"{_shown(op)} is none" if isinstance(op, str) else "there is none"
            raise _CannotApply(f"op must be one of {', '.join(OPERATIONS)}; {found}", "op")
        for name in _NEEDS[op]:
            if name not in operation:
                raise _CannotApply(f"{op} needs {name}")
        path = _tokens(operation["path"], "path")
        match op:
            case "add":
                self._add(path, self._copied(operation["value"]))
            case "remove":
                self._remove(path, "path")
            case "replace":
                self._replace(path, self._copied(operation["value"]))
            case "move":
                self._move(_tokens(operation["from"], "from"), path)
            case "copy":
                self._add(path, self._copied(self._at(_tokens(operation["from"], "from"), "from")))
            case _:
                self._test(path, operation["value"])

    # -- the six ----------------------------------------------------------------------------------------------------

    def _add(self, path: tuple[str, ...], value: JsonValue) -> None:
        if not path:
            self.document = value
            return
        self._demand_room(path, value)
        parent, last = self._at(path[:-1], "path"), path[-1]
        if isinstance(parent, dict):
            parent[last] = value
        elif isinstance(parent, list):
            index = len(parent) if last == _END else _index(last, path, parent, len(parent))
            self._spend(1 + (len(parent) - index) // 64)
            parent.insert(index, value)
        else:
            raise _CannotApply(_no_parent(path, parent), "path")

    def _remove(self, path: tuple[str, ...], member: str) -> JsonValue:
        if not path:
            raise _CannotApply("the whole result cannot be removed", member)
        found = self._at(path, member)
        parent, last = self._at(path[:-1], member), path[-1]
        if isinstance(parent, dict):
            del parent[last]
        else:
            index = int(last)
            self._spend(1 + (len(parent) - index) // 64)
            del parent[index]
        return cast("JsonValue", found)

    def _replace(self, path: tuple[str, ...], value: JsonValue) -> None:
        self._at(path, "path")
        if not path:
            self.document = value
            return
        self._demand_room(path, value)
        parent, last = self._at(path[:-1], "path"), path[-1]
        parent[last if isinstance(parent, dict) else int(last)] = value

    def _move(self, source: tuple[str, ...], path: tuple[str, ...]) -> None:
        found = self._at(source, "from")
        if source == path:
            return
        if path[: len(source)] == source:
            raise _CannotApply(f"{_pointer(source)} cannot be moved into itself", "path")
        self._demand_room(path, found)
        self._add(path, self._remove(source, "from"))

    def _test(self, path: tuple[str, ...], value: JsonValue) -> None:
        found = self._at(path, "path")
        self._spend(_size(found, self._steps)[0] + _size(value, self._steps)[0])
        seen = Interned(EXACT)
        if seen.add(found) != seen.add(value):
            raise _CannotApply(f"the test failed: another value stands at {_pointer(path)} ({_kind(found)})", "value")

    # -- places -----------------------------------------------------------------------------------------------------

    def _at(self, path: tuple[str, ...], member: str) -> Any:
        """The value at a pointer. Raises `_CannotApply`, saying how far there is something."""
        node: Any = self.document
        for depth, token in enumerate(path):
            if isinstance(node, dict) and token in node:
                node = node[token]
            elif isinstance(node, list) and token != _END:
                try:
                    index = _index(token, path[: depth + 1], node, len(node) - 1)
                except _CannotApply as fault:
                    raise _CannotApply(fault.why, member) from None
                node = node[index]
            else:
                raise _CannotApply(_nothing_at(path[: depth + 1], node), member)
        return node

    def _copied(self, value: JsonValue) -> JsonValue:
        """A copy that shares nothing with its original."""
        nodes, _ = _size(value, self._steps)
        self._spend(nodes)
        return _copy(value)

    def _demand_room(self, path: tuple[str, ...], value: JsonValue) -> None:
        nodes, depth = _size(value, self._steps)
        self._spend(nodes)
        if len(path) + depth > MOST_DEPTH:
            raise _CannotApply(f"the result would nest deeper than {MOST_DEPTH} levels", "path")

    def _spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _CannotApply("the patch copies, moves or compares too much; send the whole result instead")


# -- pointers -------------------------------------------------------------------------------------------------------


def _tokens(pointer: JsonValue, member: str) -> tuple[str, ...]:
    """The tokens of a JSON Pointer (RFC 6901). Raises `_CannotApply`."""
    if not isinstance(pointer, str):
        raise _CannotApply(f"{member} must be a JSON Pointer, and is {_kind(pointer)}", member)
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise _CannotApply(f"{member} must be empty or begin with /: {_shown(pointer)}", member)
    if _BAD_ESCAPE.search(pointer):
        raise _CannotApply(f"in {member}, ~ is written ~0 and / inside a key ~1: {_shown(pointer)}", member)
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def _index(token: str, path: tuple[str, ...], items: list[Any], last: int) -> int:
    """The index that a token is, at most `last`. Raises `_CannotApply`."""
    place = _pointer(path[:-1])
    if not _INDEX.fullmatch(token):
        raise _CannotApply(f"{_shown(token)} is no index of the array at {place} ({len(items)} items)", "path")
    index = int(token)
    if index > last:
        raise _CannotApply(f"there is no place {index} in the array at {place}: it has {len(items)} items", "path")
    return index


def _nothing_at(path: tuple[str, ...], parent: Any) -> str:
    place = _pointer(path[:-1])
    if isinstance(parent, dict):
        return f"there is no member {_shown(path[-1])} in the object at {place} ({len(parent)} members)"
    if isinstance(parent, list):
        return f"- stands for the end of the array at {place}, where nothing is yet ({len(parent)} items)"
    return _no_parent(path, parent)


def _no_parent(path: tuple[str, ...], parent: Any) -> str:
    return f"{_pointer(path)} is in no object or array: {_kind(parent)} stands at {_pointer(path[:-1])}"


def _pointer(path: tuple[str, ...]) -> str:
    return _cut("".join(f"/{pointer_token(token)}" for token in path)) or "the root"


def _shown(text: str) -> str:
    return f"'{_cut(text)}'"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}…{text[-_SHOWN // 2 :]}"


# -- values ---------------------------------------------------------------------------------------------------------


def _kind(value: JsonValue) -> str:
    """What a value is, without saying what it holds."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return f"a string of {len(value)} characters"
        case list():
            return f"an array of {len(value)} items"
        case dict():
            return f"an object of {len(value)} members"
        case _:
            return "a number"


def _size(value: JsonValue, enough: int) -> tuple[int, int]:
    """How many nodes a value has (counting ends beyond `enough`), and how many containers are inside each other."""
    nodes, depth, level = 1, 0, [value]
    while level and nodes <= enough:
        below: list[Any] = []
        containers = False
        for node in level:
            if isinstance(node, dict):
                below.extend(node.values())
                containers = True
            elif isinstance(node, list):
                below.extend(node)
                containers = True
        depth += containers
        nodes += len(below)
        level = below
    return nodes, depth


def _copy(value: JsonValue) -> JsonValue:
    """A deep copy without recursion."""
    holder: list[Any] = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        place, key = todo.pop()
        node = place[key]
        if isinstance(node, dict):
            fresh: Any = dict(node)
            todo += ((fresh, name) for name in fresh)
        elif isinstance(node, list):
            fresh = list(node)
            todo += ((fresh, index) for index in range(len(fresh)))
        else:
            continue
        place[key] = fresh
    return cast("JsonValue", holder[0])
