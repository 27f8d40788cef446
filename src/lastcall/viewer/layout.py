"""JSON as lines: one value a line, with the places that problems name, and what changed from one text to the next.

Texts are laid out as they were written: numbers keep their digits, keys given twice stand there twice. What is no JSON
stays as it is, with a mark where reading stopped.

Must not go in here: how lines look (`assets/run.js`), which text belongs to which attempt (`viewer.story`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract.json_text import JsonFault, pointer_token, read_json
from lastcall.nouns.attachment import Problem

MOST_LINES: Final = 3_000
"""A text of more lines is shown up to here."""
MOST_CHARACTERS: Final = 200_000
"""And up to here."""
_LONGEST: Final = 2_000
"""Characters of one line that are shown."""
_KEPT_AROUND: Final = 3
_MOST_COMPARED: Final = 4_000_000
"""Lines of one text times lines of the other: beyond, what differs is told as replaced."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_MAX_BYTES: Final = 1 << 26


class Line(Struct, frozen=True, omit_defaults=True, rename={"depth": "d", "text": "t", "marks": "m", "side": "s"}):
    """One line: how deep, its text, the problems of its place, and in a comparison the side it is on.

    `side` is `+`, `-`, or `~` for a line that stands for unchanged ones that are left out.
    """

    depth: int = 0
    text: str = ""
    marks: tuple[str, ...] = ()
    side: str = ""


class Placed(Struct, frozen=True):
    """Lines, each with the JSON Pointer of the value that begins there (`None` for lines that only close one)."""

    lines: tuple[Line, ...]
    paths: tuple[str | None, ...]
    left_out: int = 0


def lay_out(text: str) -> Placed:
    """The text as lines, so many as a page can hold (`left_out` counts the others)."""
    if isinstance(read_json(text, numbers="exact", max_bytes=_MAX_BYTES), JsonFault):
        rows: list[_Row] = [(0, row, None) for row in text.split("\n")]
    else:
        rows = list(_rows(text))
    kept: list[Line] = []
    size = 0
    for depth, row, _ in rows[:MOST_LINES]:
        kept.append(Line(depth, _cut(row)))
        size += len(kept[-1].text)
        if size > MOST_CHARACTERS:
            break
    paths = tuple(path for _, _, path in rows[: len(kept)])
    return Placed(tuple(kept), paths, len(rows) - len(kept))


def mark(placed: Placed, problems: Sequence[Problem]) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """The lines with the problems at their places, and the problems that have none (every one names its path there)."""
    # of a key given twice the last one counts
    places = {path: number for number, path in enumerate(placed.paths) if path is not None}
    marks: dict[int, list[str]] = {}
    loose = []
    for problem in problems:
        found = _place(places, problem)
        if found is None:
            loose.append(f"{problem.path or '(root)'}: {problem.message}")
        else:
            marks.setdefault(found, []).append(_words(problem, placed.paths[found]))
    lines = tuple(replace(line, marks=tuple(marks[n])) if n in marks else line for n, line in enumerate(placed.lines))
    return lines, tuple(loose)


def compare(old: Placed, new: Placed) -> tuple[Line, ...]:
    """The new lines with what was taken away and added; unchanged ones far from a change are counted in one line."""
    before, after = [_gist(x) for x in old.lines], [_gist(x) for x in new.lines]
    lines: list[Line] = []
    for word, a, b, c, d in _opcodes(before, after):
        if word == "equal":
            lines += _folded(new.lines[c:d], opens=c == 0, closes=d == len(after))
        else:
            lines += [replace(line, marks=(), side="-") for line in old.lines[a:b]]
            lines += [replace(line, marks=(), side="+") for line in new.lines[c:d]]
    return tuple(lines)


# -- laying out -----------------------------------------------------------------------------------------------------


class _Open(Struct):
    """An object or array that is not closed yet."""

    path: str
    named: bool
    members: int = 0


_Row = tuple[int, str, str | None]
"""Depth, text, path."""


def _rows(text: str) -> Iterator[_Row]:
    """Each line of a text that is JSON."""
    pieces = [*_TOKEN.findall(text), ""]
    opened: list[_Open] = []
    at = 0
    while pieces[at]:
        piece, label, path = pieces[at], "", ""
        at += 1
        if piece == ",":
            continue
        if piece in "}]":
            opened.pop()
            yield len(opened), piece + _comma(pieces[at]), None
            continue
        if opened:
            parent = opened[-1]
            path = f"{parent.path}/{_step(piece) if parent.named else parent.members}"
            parent.members += 1
            if parent.named:
                label, piece = f"{piece}: ", pieces[at + 1]
                at += 2
        if piece in "{[" and pieces[at] in "}]":
            piece += pieces[at]
            at += 1
        elif piece in "{[":
            yield len(opened), label + piece, path
            opened.append(_Open(path, piece == "{"))
            continue
        yield len(opened), label + piece + _comma(pieces[at]), path


def _step(key: str) -> str:
    return pointer_token(json.loads(key, strict=False))


def _comma(following: str) -> str:
    return "," if following == "," else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\u2026 ({len(text) - _LONGEST:,} more characters)"


# -- problems -------------------------------------------------------------------------------------------------------


def _place(places: dict[str, int], problem: Problem) -> int | None:
    """The line of the value that a problem is about: its own, that of the key that should not be, or the nearest around."""
    extra = problem.params.get("additionalProperty") or problem.params.get("unevaluatedProperty")
    if isinstance(extra, str) and (own := places.get(f"{problem.path}/{pointer_token(extra)}")) is not None:
        return own
    path = problem.path
    while path not in places and path:
        path = path.rpartition("/")[0]
    return places.get(path)


def _words(problem: Problem, path: str | None) -> str:
    """The sentence; with its path where the line is another value's."""
    allowed = problem.params.get("allowedValues")
    listed = f": {', '.join(json.dumps(x, ensure_ascii=False) for x in allowed)}" if isinstance(allowed, list) else ""
    got = problem.params.get("got")
    words = f"{problem.message}{_cut(listed)}{f' (got {got})' if isinstance(got, str) else ''}"
    return words if problem.path == path or (path or "").startswith(problem.path) else f"{problem.path}: {words}"


# -- comparing ------------------------------------------------------------------------------------------------------


def _gist(line: Line) -> tuple[int, str]:
    """What makes two lines the same: not the comma."""
    return line.depth, line.text.removesuffix(",")


def _opcodes(before: list[tuple[int, str]], after: list[tuple[int, str]]) -> Sequence[tuple[str, int, int, int, int]]:
    if len(before) * len(after) > _MOST_COMPARED:
        return [("replace", 0, len(before), 0, len(after))]
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _folded(same: Sequence[Line], *, opens: bool, closes: bool) -> list[Line]:
    """Unchanged lines, those near a change alone. `opens`, `closes`: nothing changed stands before, after them."""
    head = 0 if opens else _KEPT_AROUND
    tail = 0 if closes else _KEPT_AROUND
    plain = [replace(line, marks=()) for line in same]
    hidden = len(plain) - head - tail
    if hidden < 2:
        return plain
    count = Line(plain[head].depth, f"{hidden} unchanged lines", side="~")
    return [*plain[:head], count, *plain[len(plain) - tail :]]
