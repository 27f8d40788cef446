"""The tools `Write` (a whole file) and `Edit` (an exact piece of one).

Neither works on a file that is not what the model believes it to be: `Write` replaces only what this run has read in its
present state, `Edit` only a text that is there, and only once unless all are meant. Line ends, encoding and byte order
mark of an edited file stay as they are. Everything blocking runs in a worker thread.

Must not go in here: opening (`tools.paths`), replacing atomically (`tools.writing`), permissions.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable

from anyio import to_thread
from msgspec import Struct

from lastcall.nouns.json import JsonObject
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.tools import Output, PathSubject, ToolContext
from lastcall.tools.paths import OpenedPlace, Refusal
from lastcall.tools.seen import FileState
from lastcall.tools.writing import NotWritten, put, state_of

MAX_EDITED_BYTES = 64 << 20
_CURRENT = "(file state is current in your context — no need to Read it back)"
"""As recorded."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PATH: JsonObject = {"type": "string", "description": "The file: absolute, or relative to the working directory."}

_WRITE = define(
    "Write",
    "Write a whole file: make a new one, or replace one that you have read.",
    {
        "type": "object",
        "properties": {"file_path": _PATH, "content": {"type": "string", "description": "All of the file's text."}},
        "required": ["file_path", "content"],
        "additionalProperties": False,
    },
)
_EDIT = define(
    "Edit",
    "Replace an exact piece of a file. old_string must be in the file exactly once, white space included; with "
    "replace_all, every occurrence is replaced.",
    {
        "type": "object",
        "properties": {
            "file_path": _PATH,
            "old_string": {"type": "string", "description": "The text as it stands in the file, without line numbers."},
            "new_string": {"type": "string", "description": "The text to put in its place."},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence."},
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": False,
    },
)


class WriteFile:
    """The tool `Write`."""

    definition: ToolDefinition = _WRITE
    edits_files = True

    def subject(self, arguments: JsonObject) -> PathSubject:
        """The path, as the model wrote it."""
        return PathSubject(str(arguments["file_path"]))

    async def run(self, arguments: JsonObject, context: ToolContext) -> Output:
        """Replace or make the file."""
        content = _bytes(str(arguments["content"]))
        if content is None:
            return _failure("The content holds half of a surrogate pair, which no file can hold as text.")

        def change(place: OpenedPlace, shown: str) -> _Change | Output:
            if place.status is None:
                return _Change(content, None, "create", f"File created successfully at: {shown}")
            known, now = context.seen.latest(place.real_path), state_of(place.status)
            if known is None:
                return _failure(f"{shown} exists and has not been read in this run. Read it before you replace it.")
            if known != now:
                return _failure(f"{shown} was changed since it was read. Read it again before you replace it.")
            return _Change(content, now, "update", f"The file {shown} has been updated successfully.")

        return await _apply("Write", str(arguments["file_path"]), context, change)


class EditFile:
    """The tool `Edit`."""

    definition: ToolDefinition = _EDIT
    edits_files = True

    def subject(self, arguments: JsonObject) -> PathSubject:
        """The path, as the model wrote it."""
        return PathSubject(str(arguments["file_path"]))

    async def run(self, arguments: JsonObject, context: ToolContext) -> Output:
        """Replace one piece, or all that are alike."""
        old, new = str(arguments["old_string"]), str(arguments["new_string"])
        every = arguments.get("replace_all") is True
        if not old:
            return _failure("old_string is empty. Use Write to make a file.")
        if old == new:
            return _failure("old_string and new_string are the same; nothing would change.")

        def change(place: OpenedPlace, shown: str) -> _Change | Output:
            if place.status is None:
                return _failure(f"{shown} does not exist.")
            read = _read(place, shown)
            if isinstance(read, Output):
                return read
            before, state = read
            text = _Text.of(before)
            if text is None:
                return _failure(f"{shown} is not a text file.")
            edited = text.replaced(old, new, every=every)
            if isinstance(edited, str):
                return _failure(f"{edited} in {shown}.")
            return _Change(edited, state, "update", f"The file {shown} has been updated successfully.")

        return await _apply("Edit", str(arguments["file_path"]), context, change)


class _Change(Struct, frozen=True):
    """What is to be put in place, of which state of the file (`None`: there is none), and what is said of it."""

    content: bytes
    expected: FileState | None
    kind: str
    text: str


async def _apply(
    tool: str, path: str, context: ToolContext, change: Callable[[OpenedPlace, str], _Change | Output]
) -> Output:
    def work() -> tuple[Output, str, FileState | None]:
        shown = context.workspace.absolute(path)
        place = context.workspace.open_place(path)
        if isinstance(place, Refusal):
            return _failure(place.message), "", None
        try:
            if context.rules.denies_path(tool, place.real_path):
                return _failure(f"{path} is covered by a rule that forbids changing it."), "", None
            wanted = change(place, shown)
            if isinstance(wanted, Output):
                return wanted, "", None
            done = put(place, wanted.content, expected=wanted.expected)
        finally:
            os.close(place.parent_fd)
        if isinstance(done, NotWritten):
            return _failure(f"{shown} was not written: {done.why}. Nothing was changed."), "", None
        return (
            Output(f"{wanted.text} {_CURRENT}", display={"type": wanted.kind, "filePath": shown}),
            place.real_path,
            done,
        )

    # not abandoned when cancelled: whether the file was replaced has to be known
    output, real_path, state = await to_thread.run_sync(work)
    if state is not None:
        context.seen.note_written(real_path, state)
    return output


def _read(place: OpenedPlace, shown: str) -> tuple[bytes, FileState] | Output:
    """The file's bytes and the state they belong to."""
    try:
        fd = os.open(place.name, _READ, dir_fd=place.parent_fd)
    except OSError as error:
        return _failure(f"{shown} cannot be opened: {os.strerror(error.errno or 0).lower()}.")
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if place.status is None or state_of(status) != state_of(place.status):
            return _failure(f"{shown} was replaced while it was being opened.")
        if status.st_size > MAX_EDITED_BYTES:
            return _failure(f"{shown} has {status.st_size:,} bytes; files up to {MAX_EDITED_BYTES:,} can be edited.")
        return file.read(), state_of(status)


class _Text(Struct, frozen=True):
    """A file's text, and how it is written: byte order mark and encoding."""

    body: str
    mark: bytes
    codec: str

    @classmethod
    def of(cls, content: bytes) -> _Text | None:
        """The text, or `None` for what is none."""
        for mark, codec in (
            (codecs.BOM_UTF8, "utf-8"),
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
            (b"", "utf-8"),
            (b"", "latin-1"),
        ):
            if not content.startswith(mark) or (not mark and b"\0" in content):
                continue
            try:
                return cls(content[len(mark) :].decode(codec), mark, codec)
            except UnicodeDecodeError:
                continue
        return None

    def replaced(self, old: str, new: str, *, every: bool) -> bytes | str:
        """The file with `new` for `old`, or why not."""
        if "\r\n" in self.body and old not in self.body:
            old, new = _with_crlf(old), _with_crlf(new)
        found = self.body.count(old)
        if not found:
            return "The text of old_string is not"
        if found > 1 and not every:
            return f"The text of old_string is {found} times (add lines around it, or set replace_all)"
        try:
            return self.mark + self.body.replace(old, new).encode(self.codec)
        except UnicodeEncodeError:
            return f"new_string has characters that cannot be written in the encoding ({self.codec}) used"


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _bytes(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _failure(text: str) -> Output:
    return Output(text, failed=True, display=f"Error: {text}")
