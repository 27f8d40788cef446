"""One search for lines: which files, which lines, and when it is enough.

Every answer rests on files that were opened here, component by component below a directory that is open. Where ripgrep
is installed it goes through a large tree first and names the files that need not be opened at all; the answer is the
same without it. Expressions are applied to one line at a time, under a time limit and without the interpreter's lock, so
that a hostile one costs seconds and stops nothing else.

Must not go in here: the tools and their arguments (`tools.search`), walking (`tools.tree`).
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import FileIO
from itertools import islice
from typing import Any

from anyio import from_thread
from msgspec import Struct

from lastcall.tools import Output, ToolContext
from lastcall.tools.globs import PathMatcher
from lastcall.tools.ignores import Ignores, ignores_above
from lastcall.tools.paths import OpenedDirectory, Reason, Refusal
from lastcall.tools.ripgrep import Sieve, find_ripgrep
from lastcall.tools.tree import Found, files_below, open_below, open_file_at

PIECE_BYTES = 64 << 20
"""Longer files are searched piece by piece, cut after a line where there is one to cut after."""
SEARCH_S = 30.0
FILES_AT_ONCE = 200
"""So many files are searched at once before it is worth starting a program for the rest."""
_BATCHES = (2_000, 16_000)
_MAX_BATCH_BYTES = 500_000
_SIEVES = 2
_MAX_LINE_CHARS = 500
_SNIFFED = 8_192
_PULSE_S = 0.05
_LOOKS_EVERY = 64


class _EnoughError(Exception):
    """There is more than will be told; never leaves this module."""


def allowed(
    top: OpenedDirectory, context: ToolContext, tool: str, until: float, ignores: Ignores | None = None
) -> Iterator[Found]:
    """The files below that no rule forbids to `tool` or to `Read`, without what `ignores` leaves out.

    Raises `TimeoutError` at `until` (of the monotonic clock), or when a pattern takes too long for one path.
    """
    rules = context.rules
    forbidden_to = [name for name in dict.fromkeys((tool, "Read")) if rules.denies_some(name)]
    for file in files_below(top.fd, ignores, _pulse(until)):
        if not forbidden_to or not any(rules.denies_path(name, _shown(top, file.path)) for name in forbidden_to):
            yield file


def _pulse(until: float) -> Callable[[], None]:
    """What ends a walk that was cancelled or takes too long; it looks now and then."""
    seen = 0

    def look() -> None:
        nonlocal seen
        seen += 1
        if not seen % _LOOKS_EVERY:
            from_thread.check_cancelled()
            if time.monotonic() > until:
                raise TimeoutError

    return look


class Wanted(Struct, frozen=True):
    """What is looked for. `wider` is an expression for ripgrep that finds at least as much, where there is one."""

    wider: str | None
    expression: Any  # a compiled pattern of `regex`, which has no types of its own
    only: PathMatcher | None
    mode: str
    before: int
    after: int
    numbered: bool
    limit: int


class Search:
    """One search: what was found so far, and until when it may go on."""

    def __init__(self, wanted: Wanted, context: ToolContext) -> None:
        self._wanted = wanted
        self._context = context
        self._until = time.monotonic() + SEARCH_S
        self._lines: list[str] = []
        self._matches = 0
        self._files: list[str] = []
        self._more = False

    def run(self, path: str) -> Output:
        """What is found at the path, a folder or a file, or why it is not searched."""
        top = self._context.workspace.open_directory(path)
        try:
            if isinstance(top, Refusal):
                refused = self._search_one(path, top)
                if refused is not None:
                    return refused
            else:
                self._search_all(top)
        except _EnoughError:
            self._more = True
        except TimeoutError:
            return _failure(
                f"The search was stopped: it may take {SEARCH_S:.0f} seconds. Use a simpler pattern or a smaller path."
            )
        return self._answer()

    def _search_one(self, path: str, refusal: Refusal) -> Output | None:
        """The path may be a file."""
        if refusal.reason is not Reason.SPECIAL:
            return _failure(refusal.message)
        opened = self._context.workspace.open_file(path)
        if isinstance(opened, Refusal):
            return _failure(opened.message)
        rules = self._context.rules
        if rules.denies_path("Grep", opened.real_path) or rules.denies_path("Read", opened.real_path):
            os.close(opened.fd)
            return _failure(f"{path} is covered by a rule that forbids reading it.")
        self._search_file(opened.fd, opened.real_path)
        return None

    def _search_all(self, top: OpenedDirectory) -> None:
        with ExitStack() as stack:
            stack.callback(os.close, top.fd)
            files = self._wanted_files(top)
            for file in islice(files, FILES_AT_ONCE):
                self._search_found(file, top)
            wider = self._wanted.wider
            context = self._context
            program = None if wider is None else find_ripgrep(context.environment, context.workspace)
            if wider is None or program is None:
                for file in files:
                    self._search_found(file, top)
                return
            under_way: deque[Sieve] = deque()
            stack.callback(_close_all, under_way)
            for batch in _batches(files):
                if len(under_way) == _SIEVES:
                    self._search_passed(under_way, top)
                under_way.append(Sieve(program, wider, top.fd, top.real_path, batch))
            while under_way:
                self._search_passed(under_way, top)

    def _wanted_files(self, top: OpenedDirectory) -> Iterator[Found]:
        only = self._wanted.only
        for file in allowed(
            top, self._context, "Grep", self._until, ignores_above(top.real_path, self._context.workspace)
        ):
            if only is None or only.matches(file.path):
                yield file

    def _search_found(self, file: Found, top: OpenedDirectory) -> None:
        fd = open_file_at(file.parent_fd, file.name)
        if fd is not None:
            self._search_file(fd, _shown(top, file.path))

    def _search_passed(self, under_way: deque[Sieve], top: OpenedDirectory) -> None:
        """Wait for the first sieve and search what it let through."""
        sieve = under_way[0]
        while not sieve.wait(min(self._left(), _PULSE_S)):
            from_thread.check_cancelled()
        for path in sieve.passed():
            fd = open_below(top.fd, path)
            if fd is not None:
                self._search_file(fd, _shown(top, path))
        under_way.popleft().close()

    def _search_file(self, fd: int, shown: str) -> None:
        count = above = 0
        with FileIO(fd) as file:
            for piece in _pieces(file):
                text = piece.decode("utf-8", "replace")
                for number, start, end in self._matching_lines(text):
                    count += 1
                    if self._wanted.mode == "files_with_matches":
                        break
                    if self._wanted.mode == "content":
                        self._keep_lines(text, shown, above + number, start, end)
                if count and self._wanted.mode == "files_with_matches":
                    break
                above += piece.count(b"\n")
        if count and self._wanted.mode != "content":
            self._keep(shown if self._wanted.mode == "files_with_matches" else f"{shown}:{count}")
        if count:
            self._matches += count
            self._files.append(shown)

    def _matching_lines(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Number, beginning and end of each line in which the expression is found."""
        at, number, counted = 0, 1, 0
        search = self._wanted.expression.search
        while at <= len(text):
            match = search(text, at, timeout=self._left(), concurrent=True)
            if match is None:
                return
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.start())
            end = len(text) if end < 0 else end
            if start == len(text):
                return  # after the last line feed there is no line, and none in an empty file
            number += text.count("\n", counted, start)
            counted = start
            # the whole text was searched because that is fast; a line has to match by itself
            if match.end() <= end or search(text[start:end], timeout=self._left(), concurrent=True):
                yield number, start, end
            at = end + 1

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _keep_lines(self, text: str, shown: str, number: int, start: int, end: int) -> None:
        wanted = self._wanted
        before = _lines_before(text, start, wanted.before)
        after = _lines_after(text, end, wanted.after)
        if self._lines and (wanted.before or wanted.after):
            self._keep("--")
        for offset, line in enumerate([*before, text[start:end], *after], -len(before)):
            mark = "-" if offset else ":"
            place = f"{number + offset}{mark}" if wanted.numbered else ""
            cut = f"{line[:_MAX_LINE_CHARS]}…" if len(line) > _MAX_LINE_CHARS else line
            self._keep(f"{shown}{mark}{place}{cut}".rstrip("\r"))

    def _keep(self, line: str) -> None:
        if len(self._lines) >= self._wanted.limit:
            raise _EnoughError
        self._lines.append(line)

    def _answer(self) -> Output:
        display = {"mode": self._wanted.mode, "numFiles": len(self._files), "numMatches": self._matches}
        notes = ["[There is more; narrow the search.]"] if self._more else []
        body = "\n".join(self._lines) if self._lines else "No matches found"
        return Output("\n\n".join([body, *notes]), display=display)


def _batches(files: Iterator[Found]) -> Iterator[list[str]]:
    """The files' paths, a command line full at a time; the first ones are short."""
    batch: list[str] = []
    room, most = _MAX_BATCH_BYTES, _BATCHES[0]
    for file in files:
        path = file.path
        batch.append(path)
        room -= len(path) * (1 if path.isascii() else 4) + 1
        if len(batch) >= most or room <= 0:
            yield batch
            batch, room, most = [], _MAX_BATCH_BYTES, _BATCHES[1]
    if batch:
        yield batch


def _pieces(file: FileIO) -> Iterator[bytes]:
    """The content of a text file in pieces of whole lines; nothing of a binary one. A longer line is cut."""
    size = os.fstat(file.fileno()).st_size
    rest = b""
    first = True
    while chunk := file.read(min(size + 1, PIECE_BYTES)):  # a buffer of this size is made at once
        if first and b"\0" in chunk[:_SNIFFED]:
            return
        first = False
        block = rest + chunk
        cut = block.rfind(b"\n") + 1 or (len(block) if len(block) >= PIECE_BYTES else 0)
        rest = block[cut:]
        if cut:
            yield block[:cut]
        from_thread.check_cancelled()
    if rest:
        yield rest


def _lines_before(text: str, start: int, count: int) -> list[str]:
    lines: list[str] = []
    while len(lines) < count and start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        lines.insert(0, text[above : start - 1])
        start = above
    return lines


def _lines_after(text: str, end: int, count: int) -> list[str]:
    lines: list[str] = []
    while len(lines) < count and end + 1 < len(text):
        below = text.find("\n", end + 1)
        below = len(text) if below < 0 else below
        lines.append(text[end + 1 : below])
        end = below
    return lines


def _shown(top: OpenedDirectory, path: str) -> str:
    return f"{top.real_path.rstrip('/')}/{path}"


def _close_all(sieves: deque[Sieve]) -> None:
    for sieve in sieves:
        sieve.close()


def _failure(text: str) -> Output:
    return Output(text, failed=True, display=f"Error: {text}")
