"""Runs that outgrow the model's window: the service counts and refuses, and the run ends in its object all the same."""

from __future__ import annotations

import json

import anyio
import pytest
from msgspec.structs import replace

from lastcall.cli.exits import exit_code
from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.core.policy import native
from lastcall.core.records import Compacted, SummarySaid
from lastcall.journal.load import load
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Limit, Stopped
from lastcall.providers.scripted import scripted_provider
from lastcall.runtime.client import ClientSide
from lastcall.runtime.config import RunConfig
from lastcall.runtime.publish import FramePublisher, Silent
from lastcall.runtime.replay import replay
from lastcall.runtime.session import open_session
from lastcall.tools.remote import RemoteTool

WINDOW = 20_000
SCHEMA = '{"type":"object","properties":{"turns":{"type":"integer"}},"required":["turns"]}'


class Service:
    """A model with a window of 20,000 tokens, four characters each, that works for so many turns."""

    def __init__(self, turns):
        self.turns = turns
        self.made = 0
        self.refused = 0
        self.unpaired = 0
        self.summed = 0

    def summary(self, body):
        """The model's notes of the turns that are left out; their request is within the window too."""
        assert len(json.dumps(body)) // 4 <= WINDOW
        assert not body.get("tools")
        self.summed += 1
        return f"Summary {self.summed}: {self.made} turns are done."

    def reply(self, body):
        tokens = len(json.dumps(body)) // 4
        if tokens > WINDOW:
            self.refused += 1
            words = f"prompt is too long: {tokens} tokens > {WINDOW} maximum"
            return {"status": 400, "error": {"type": "invalid_request_error", "message": words}}
        self.unpaired += not well_formed(body["messages"])
        assert body["messages"][0]["content"][0]["text"] == "count"
        assert any(tool["name"] == "StructuredOutput" for tool in body["tools"])
        if self.made == self.turns:
            return {"object": {"turns": self.made}}
        self.made += 1
        call = {"type": "tool_use", "id": f"call_{self.made}", "name": "mcp__w__work", "input": {"turn": self.made}}
        return {"content": [{"type": "text", "text": "Next. " * 20}, call]}


def well_formed(messages):
    """Every call is answered in the message after it, as services demand."""
    for before, after in zip(messages, [*messages[1:], {"role": "user", "content": []}], strict=True):
        asked = {b["id"] for b in before["content"] if b["type"] == "tool_use"}
        told = {b["tool_use_id"] for b in after["content"] if b["type"] == "tool_result"}
        if before["role"] == "assistant" and asked != told:
            return False
    return [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
        len(messages) % 2
    )


def work(tmp_path, service, summaries=None, frames=None, **choices):
    done = []

    async def call(tool, arguments, context):
        done.append(int(arguments["turn"]))
        return {"content": [{"type": "text", "text": f"turn {arguments['turn']}: " + "log line\n" * 200}]}

    tool = RemoteTool("w", {"name": "work", "inputSchema": {"type": "object"}}, call)
    config = RunConfig(
        contract=compile_contract(parse_schema(SCHEMA, profile=Profile.NATIVE), profile=Profile.NATIVE),
        cwd=str(tmp_path),
        tools="",
        allowed_tools=("mcp__w",),
        **({"session_id": "long"} if "resume" not in choices else {"unfinished": True}),
        state_dir=str(tmp_path / "state"),
        **choices,
    )

    def watch(stage):
        if frames is None:
            return Silent()
        return FramePublisher(replace(stage, partial=True), lambda: "uuid", frames.append)

    async def main():
        async with open_session(
            config,
            watch,
            scripted_provider(service.reply, summaries=summaries),
            client=ClientSide(tools=(tool,)),
        ) as session:
            return await (session.go_on() if config.unfinished else session.run("count"))

    return anyio.run(main), done


def test_three_hundred_turns_in_a_window_of_twenty_thousand_tokens_end_in_the_object(tmp_path):
    service = Service(300)
    result, done = work(tmp_path, service)
    assert result.ok, result.reason
    assert json.loads(result.object_text) == {"turns": 300}
    assert done == list(range(1, 301))
    assert service.unpaired == 0
    assert 1 <= service.refused <= 3  # the window is learnt
    journal = next((tmp_path / "state").rglob("long.jsonl"))
    assert journal.read_text().count("turn 17: log line") >= 1  # the journal keeps everything
    assert load(str(journal)).records


@pytest.mark.slow
def test_the_same_with_summaries_by_the_model(tmp_path):
    service = Service(300)
    result, done = work(tmp_path, service, summaries=service.summary)
    assert result.ok, result.reason
    assert done == list(range(1, 301))
    assert service.unpaired == 0
    assert 1 <= service.refused <= 3
    assert service.summed >= 2
    journal = next((tmp_path / "state").rglob("long.jsonl"))
    assert f"Summary {service.summed}: " in journal.read_text()
    assert sum(isinstance(x, Compacted) and x.summarized for x in load(str(journal)).records) == service.summed


def summing_session(tmp_path):
    """A finished run of sixty turns with summaries: its service, its journal, what was shown of it."""
    service, frames = Service(60), []
    result, _ = work(tmp_path, service, summaries=service.summary, frames=frames, compact_after_turns=6)
    assert result.ok
    assert service.summed >= 2
    return service, next((tmp_path / "state").rglob("long.jsonl")), frames


def test_a_summary_is_in_the_journal_and_is_nobodys_reply(tmp_path):
    service, journal, frames = summing_session(tmp_path)
    assert "Summary 1: " in journal.read_text()
    assert "Summary" not in json.dumps(frames)
    assert sum(isinstance(x, SummarySaid) for x in load(str(journal)).records) == service.summed


def test_a_run_with_summaries_replays_to_the_same_end(tmp_path):
    _, journal, _ = summing_session(tmp_path)
    contract = compile_contract(parse_schema(SCHEMA, profile=Profile.NATIVE), profile=Profile.NATIVE)
    (run,) = replay(load(str(journal)).records, contract, native(compact_after_turns=6))
    assert run.same, run.unknown


@pytest.mark.parametrize("after", ['"purpose":"summary"', '"SummarySaid"'], ids=["asked for", "half said"])
def test_a_run_that_was_killed_in_the_middle_of_a_summary_goes_on(tmp_path, after):
    _, journal, _ = summing_session(tmp_path)
    lines = journal.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if after.encode() in line)
    journal.write_bytes(b"".join(lines[: cut + 1]))
    again = Service(60)
    again.made = journal.read_text().count('"ToolStarted"')
    result, done = work(tmp_path, again, summaries=again.summary, compact_after_turns=6, resume="long")
    assert result.ok, result.reason
    assert again.summed >= 1
    assert again.unpaired == 0
    assert done == list(range(done[0], 61))  # nothing was run again
    assert f"Summary {again.summed}: " in journal.read_text()


def test_with_compaction_off_the_end_says_what_happened(tmp_path):
    result, done = work(tmp_path, Service(300), compacts=False)
    assert isinstance(result.outcome, Stopped)
    assert result.outcome.limit is Limit.WINDOW
    assert "no longer fits the model's window" in result.reason
    assert exit_code(result.outcome, Profile.NATIVE) == 14
    assert 5 < len(done) < 100


def test_old_turns_can_be_left_out_before_anybody_refuses(tmp_path):
    service = Service(60)
    result, _ = work(tmp_path, service, compact_after_turns=10)
    assert result.ok
    assert service.refused == 0


@pytest.mark.parametrize("choices", [{"compact_after_turns": 1}])
def test_even_after_every_turn_the_history_stays_well_formed(tmp_path, choices):
    service = Service(30)
    result, done = work(tmp_path, service, **choices)
    assert result.ok
    assert service.unpaired == 0
    assert done == list(range(1, 31))
