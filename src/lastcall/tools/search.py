"""The tools `Glob` (files by name) and `Grep` (lines by content).

Both walk the tree themselves: the workspace's walls and the rules that forbid reading a file hold for them as for `Read`.
`Glob` shows every file, newest first; `Grep` leaves out what `.gitignore` files leave out, and its order is that of the
walk. Expressions run in a worker thread.

Must not go in here: searching contents (`tools.matching`), walking (`tools.tree`), patterns of paths (`tools.globs`),
opening (`tools.paths`).
"""

from __future__ import annotations

import os
import time
from decimal import Decimal

from anyio import to_thread

from lastcall.nouns.json import JsonObject
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.tools import Output, PathSubject, ToolContext
from lastcall.tools.globs import BadPattern, PathMatcher, path_matcher
from lastcall.tools.matching import SEARCH_S, Search, Wanted, allowed
from lastcall.tools.paths import Refusal
from lastcall.tools.supersets import superset

MAX_FILES_TOLD = 500
MAX_LINES_TOLD = 500
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


def _glob(matcher: PathMatcher, folder: str, context: ToolContext) -> Output:
    top = context.workspace.open_directory(folder)
    if isinstance(top, Refusal):
        return _failure(top.message)
    found: list[tuple[int, str]] = []
    try:
        for file in allowed(top, context, "Glob", time.monotonic() + SEARCH_S):
            if matcher.matches(file.path):
                try:
                    status = os.stat(file.name, dir_fd=file.parent_fd, follow_symlinks=False)
                except OSError:
                    continue
                found.append((-status.st_mtime_ns, f"{top.real_path.rstrip('/')}/{file.path}"))
    except TimeoutError:
        return _failure("That takes too long. Use a pattern with fewer stars, or a smaller path.")
    finally:
        os.close(top.fd)
    paths = [path for _, path in sorted(found)]
    told = paths[:MAX_FILES_TOLD]
    display = {"filenames": told, "numFiles": len(paths), "truncated": len(told) < len(paths)}
    if not paths:
        return Output("No files found", display=display)
    rest = f"\n\n[{len(paths) - len(told):,} more; narrow the pattern.]" if len(told) < len(paths) else ""
    return Output("\n".join(told) + rest, display=display)


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
            wanted = Wanted(
                wider=superset(str(arguments["pattern"]), ignore_case=arguments.get("-i") is True),
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
        return await to_thread.run_sync(Search(wanted, context).run, folder, abandon_on_cancel=True)


def _whole(arguments: JsonObject, *names: str) -> int:
    """The largest of these whole numbers, 0 if none is given."""
    given = [arguments.get(name) for name in names]
    return max((int(value) for value in given if isinstance(value, int | float | Decimal)), default=0)


def _failure(text: str) -> Output:
    return Output(text, failed=True, display=f"Error: {text}")
