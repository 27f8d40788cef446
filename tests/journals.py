"""Journals for tests, line by line: what a run leaves behind, with whatever texts a test wants in it."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal

from lastcall.core import records as r
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Answered, Attempt, Usage, VerdictKind
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult
from lastcall.wire.journal import encode_step

SCHEMA = {
    "title": "Incident",
    "type": "object",
    "required": ["ticket", "customers"],
    "properties": {
        "ticket": {"type": "string", "pattern": "^INC-[0-9]{4}$"},
        "customers": {"type": "integer", "minimum": 0},
    },
}
SPENT = Usage(100, 20)
BEGAN = 1_760_000_000.0


class Writer:
    """Makes the lines of a session. Every method gives what is written in one go; the clock goes on by itself."""

    def __init__(self, session_id="s1", model="scripted", cwd="/home/u/project", schema=SCHEMA, at=BEGAN):
        self.session_id, self.model, self.cwd, self.schema, self.at = session_id, model, cwd, schema, at
        self.requests = itertools.count(1)
        self.calls = itertools.count(1)
        self.attempts = itertools.count(1)
        self.request = 0

    def step(self, *records, after=0.25):
        self.at += after
        return encode_step(records, at=self.at)

    def opened(self):
        text = "" if self.schema is None else json.dumps(self.schema)
        return self.step(
            r.Opened(self.session_id, "0.1.0", "native", self.model, self.cwd, self.at, "digest" * bool(text), text)
        )

    def prompt(self, text):
        return self.step(r.Started("run", (TextBlock(text),), "u", self.at), self._asked())

    def _asked(self):
        self.request = next(self.requests)
        return r.Asked(self.request)

    def reply(self, *blocks, usage=SPENT, cost="0.0012", stop="tool_use"):
        """One reply of these blocks, and its end."""
        message = f"m{self.request}"
        said = [r.BlockSaid(self.request, message, block, f"u{n}") for n, block in enumerate(blocks)]
        began = r.ReplyBegan(self.request, message, self.model, Usage(100, 1))
        closed = r.ReplyClosed(self.request, message, stop, usage, cost_usd=Decimal(cost), took_ms=850)
        return self.step(began, *said) + self.step(closed, after=0.85)

    def call(self, name, arguments):
        return ToolCall(f"c{next(self.calls)}", f"m{self.request}", name, Arguments(json.dumps(arguments)))

    def tool(self, name, arguments, answer, *, kind=ResultKind.OK, took_ms=40, text=""):
        """A turn with one call, its answer, and the next request."""
        call = self.call(name, arguments)
        said = [TextBlock(text)] if text else []
        return (
            self.reply(*said, call)
            + self.step(r.ToolStarted(call.call_id, name, True))
            + self.step(r.CallAnswered(ToolResult(call.call_id, kind, answer), took_ms=took_ms), self._asked())
        )

    def rejected(self, draft, *problems, asks=True):
        call = self.call("StructuredOutput", draft)
        attempt = self._attempt(call, VerdictKind.REJECTED, tuple(Problem(*p) for p in problems))
        told = r.CallAnswered(
            ToolResult(call.call_id, ResultKind.REJECTED, "The output does not match the schema.", True)
        )
        return self.reply(call) + self.step(attempt, told, *([self._asked()] if asks else []))

    def accepted(self, draft):
        call = self.call("StructuredOutput", draft)
        attachment = Attachment(call.call_id, call.message_id, json.dumps(draft))
        return self.reply(call) + self.step(
            self._attempt(call, VerdictKind.ACCEPTED), r.Attached(attachment),
            r.CallAnswered(ToolResult(call.call_id, ResultKind.ACCEPTED, "done")), r.Ended(Answered(attachment)),
        )  # fmt: skip

    def _attempt(self, call, verdict, problems=()):
        text = call.arguments.text
        return r.Attempted(
            Attempt(next(self.attempts), call.call_id, self.model, verdict, problems, text, request=self.request)
        )

    def whole(self, prompt="Write up the incident."):
        """A run with tools, a rejected attempt and an accepted one."""
        return b"".join([
            self.opened(), self.prompt(prompt), self.tool("Read", {"file_path": "log.txt"}, "40 customers", text="Let me look."),
            self.tool("Read", {"file_path": "gone"}, "No such file", kind=ResultKind.FAILED),
            self.rejected({"ticket": "INC-12", "customers": "many"}, ("/ticket", "pattern", "must match pattern"), ("/customers", "type", "must be integer")),
            self.accepted({"ticket": "INC-0012", "customers": 40}),
        ])  # fmt: skip


def place(state_dir, session_id, content, project="-home-u-project"):
    """Write a session's journal where sessions lie; its path."""
    folder = state_dir / "sessions" / project
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session_id}.jsonl"
    path.write_bytes(content)
    return path
