"""The tools `Glob` (files by name) and `Grep` (lines by content).

Both walk the tree themselves: the workspace's walls and the rules that forbid reading a file hold for them as for `Read`.
Expressions run in a worker thread under a time limit and without the interpreter's lock, so that a hostile one costs
seconds and stops nothing else.

Must not go in here: walking (`tools.tree`), patterns of paths (`tools.globs`), opening (`tools.paths`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from decimal import Decimal
from re import Pattern
from typing import Any

from anyio import from_thread, to_thread
from msgspec import Struct

from lastcall.nouns.json import JsonObject
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.tools import Output, PathSubject, ToolContext
from lastcall.tools.globs import BadPattern, path_matcher
from lastcall.tools.paths import OpenedDirectory, Reason, Refusal
from lastcall.tools.tree import Found, files_below

MAX_FILES_TOLD = 500
MAX_LINES_TOLD = 500
MAX_SEARCHED_BYTES = 256 << 20
"""Larger files are not searched, and the answer says so."""
SEARCH_S = 30.0
_MAX_LINE_CHARS = 500
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SNIFFED = 8_192
_FOLDER: JsonObject = {"type": "string", "description": "Where to search; the working directory unless given."}

_GLOB = define(
    "Glob",
    "Find files by a pattern such as **/*.py or src/{a,b}/*.ts. The newest ones come first.",
    {
        "type": "object",
        "properties": {"pattern": {"type": "string", "minLength": 1}, "path": _FOLDER},
        "required": ["pattern"],
        "additionalProperties": False,
    },
    read_only=True,
)
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
_GREP = define(
    "Grep",
    "Find lines by a regular expression. output_mode: files_with_matches (the default), content (the lines) or count.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "The regular expression."},
            "path": {"type": "string", "description": "A file or folder; the working directory unless given."},
            "glob": {"type": "string", "minLength": 1, "description": "Only files that match, such as *.js."},
            "output_mode": {"enum": ["content", "files_with_matches", "count"]},
            "-i": {"type": "boolean", "description": "Ignore case."},
            "-n": {"type": "boolean", "description": "Number the lines (the default)."},
            "-A": {**_COUNT, "description": "Lines to show after each."},
            "-B": {**_COUNT, "description": "Lines to show before each."},
            "-C": {**_COUNT, "description": "Lines to show around each."},
            "head_limit": {**_COUNT, "description": "At most so many lines or files."},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    read_only=True,
)


class Glob:
    """The tool `Glob`."""

    definition: ToolDefinition = _GLOB
    edits_files = False

    def subject(self, arguments: JsonObject) -> PathSubject:
        """The folder that is searched."""
        return PathSubject(str(arguments.get("path") or "."))

    async def run(self, arguments: JsonObject, context: ToolContext) -> Output:
        """The matching files, newest first."""
        folder = str(arguments.get("path") or ".")
        try:
            matcher = path_matcher(str(arguments["pattern"]))
        except BadPattern as error:
            return _failure(f"pattern: {error}.")
        return await to_thread.run_sync(_glob, matcher, folder, context, abandon_on_cancel=True)


def _glob(matcher: Pattern[str], folder: str, context: ToolContext) -> Output:
    top = context.workspace.open_directory(folder)
    if isinstance(top, Refusal):
        return _failure(top.message)
    found: list[tuple[int, str]] = []
    try:
        for file in _allowed(top, context, "Glob"):
            if matcher.fullmatch(file.path):
                try:
                    status = os.stat(file.name, dir_fd=file.parent_fd, follow_symlinks=False)
                except OSError:
                    continue
                found.append((-status.st_mtime_ns, f"{top.real_path.rstrip('/')}/{file.path}"))
    finally:
        os.close(top.fd)
    paths = [path for _, path in sorted(found)]
    told = paths[:MAX_FILES_TOLD]
    display = {"filenames": told, "numFiles": len(paths), "truncated": len(told) < len(paths)}
    if not paths:
        return Output("No files found", display=display)
    rest = f"\n\n[{len(paths) - len(told):,} more; narrow the pattern.]" if len(told) < len(paths) else ""
    return Output("\n".join(told) + rest, display=display)


def _allowed(top: OpenedDirectory, context: ToolContext, tool: str) -> Iterator[Found]:
    """The files below that no rule forbids."""
    folder = top.real_path.rstrip("/")
    for count, file in enumerate(files_below(top.fd)):
        if not count % 256:
            from_thread.check_cancelled()
        real = f"{folder}/{file.path}"
        if not context.rules.denies_path(tool, real) and not context.rules.denies_path("Read", real):
            yield file


# -- Grep -----------------------------------------------------------------------------------------------------------


class Grep:
    """The tool `Grep`."""

    definition: ToolDefinition = _GREP
    edits_files = False

    def subject(self, arguments: JsonObject) -> PathSubject:
        """The file or folder that is searched."""
        return PathSubject(str(arguments.get("path") or "."))

    async def run(self, arguments: JsonObject, context: ToolContext) -> Output:
        """The lines, files or counts."""
        import regex  # noqa: PLC0415 -- 10 ms that only searches need

        try:
            wanted = _Wanted(
                expression=regex.compile(
                    str(arguments["pattern"]), regex.MULTILINE | (regex.IGNORECASE if arguments.get("-i") else 0)
                ),
                only=path_matcher(str(arguments["glob"])) if arguments.get("glob") else None,
                mode=str(arguments.get("output_mode") or "files_with_matches"),
                before=_whole(arguments, "-B", "-C"),
                after=_whole(arguments, "-A", "-C"),
                numbered=arguments.get("-n") is not False,
                limit=min(_whole(arguments, "head_limit") or MAX_LINES_TOLD, MAX_LINES_TOLD),
            )
        except BadPattern as error:
            return _failure(f"glob: {error}.")
        except regex.error as error:
            return _failure(f"The pattern is no regular expression: {error}.")
        folder = str(arguments.get("path") or ".")
        return await to_thread.run_sync(_Search(wanted, context).run, folder, abandon_on_cancel=True)


class _Wanted(Struct, frozen=True):
    expression: Any  # a compiled pattern of `regex`, which has no types of its own
    only: Pattern[str] | None
    mode: str
    before: int
    after: int
    numbered: bool
    limit: int


class _Search:
    """One search: what was found so far, and until when it may go on."""

    def __init__(self, wanted: _Wanted, context: ToolContext) -> None:
        self._wanted = wanted
        self._context = context
        self._until = time.monotonic() + SEARCH_S
        self._lines: list[str] = []
        self._beyond = 0
        self._matches = 0
        self._files: list[str] = []
        self._unsearched: list[str] = []

    def run(self, path: str) -> Output:
        top = self._context.workspace.open_directory(path)
        try:
            if isinstance(top, Refusal):
                refused = self._search_one(path, top)
                if refused is not None:
                    return refused
            else:
                self._search_all(top)
        except TimeoutError:
            return _failure(
                f"The search was stopped after {SEARCH_S:.0f} seconds. Use a simpler pattern or a smaller path."
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
        try:
            for file in _allowed(top, self._context, "Grep"):
                if self._wanted.only is not None and not self._wanted.only.fullmatch(file.path):
                    continue
                try:
                    fd = os.open(file.name, _OPEN, dir_fd=file.parent_fd)
                except OSError:
                    continue
                self._search_file(fd, f"{top.real_path.rstrip('/')}/{file.path}")
        finally:
            os.close(top.fd)

    def _search_file(self, fd: int, shown: str) -> None:
        with os.fdopen(fd, "rb", buffering=0) as file:
            size = os.fstat(fd).st_size
            if size > MAX_SEARCHED_BYTES:
                self._unsearched.append(shown)
                return
            content = file.read(size + 1)  # a buffer of this size is made at once
        if b"\0" in content[:_SNIFFED]:
            return
        text = content.decode("utf-8", "replace")
        count = 0
        for number, start, end in self._matching_lines(text):
            count += 1
            if self._wanted.mode == "files_with_matches":
                break
            if self._wanted.mode == "content":
                self._keep_lines(text, shown, number, start, end)
        if count:
            self._matches += count
            self._files.append(shown)
            if self._wanted.mode == "count":
                self._keep(f"{shown}:{count}")
            elif self._wanted.mode == "files_with_matches":
                self._keep(shown)

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
            if start == len(text) and start > 0:
                return  # after the last line feed there is no line
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
        before = text[:start].split("\n")[-1 - wanted.before : -1] if wanted.before else []
        after = text[end + 1 :].split("\n", wanted.after)[: wanted.after] if wanted.after else []
        if self._lines and (wanted.before or wanted.after):
            self._keep("--")
        for offset, line in enumerate([*before, text[start:end], *after], -len(before)):
            mark = "-" if offset else ":"
            place = f"{number + offset}{mark}" if wanted.numbered else ""
            cut = f"{line[:_MAX_LINE_CHARS]}…" if len(line) > _MAX_LINE_CHARS else line
            self._keep(f"{shown}{mark}{place}{cut}".rstrip("\r"))

    def _keep(self, line: str) -> None:
        if len(self._lines) < self._wanted.limit:
            self._lines.append(line)
        else:
            self._beyond += 1

    def _answer(self) -> Output:
        display = {"mode": self._wanted.mode, "numFiles": len(self._files), "numMatches": self._matches}
        notes = [f"[{self._beyond:,} more lines; narrow the search.]"] if self._beyond else []
        if self._unsearched:
            notes.append(f"[Too large to be searched: {', '.join(self._unsearched[:5])}.]")
        body = "\n".join(self._lines) if self._lines else "No matches found"
        return Output("\n\n".join([body, *notes]), display=display)


def _whole(arguments: JsonObject, *names: str) -> int:
    """The largest of these whole numbers, 0 if none is given."""
    given = [arguments.get(name) for name in names]
    return max((int(value) for value in given if isinstance(value, int | float | Decimal)), default=0)


def _failure(text: str) -> Output:
    return Output(text, failed=True, display=f"Error: {text}")
