"""What a session has seen, found in its history: the prompt of the run, and the answers that tools gave.

Only what a tool answered counts, with the input of its call: not what the model says, and not what lastcall told it.

Must not go in here: what is concluded from it (`contract.annotations`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.contract.seen import Sight, ToolSeen
from lastcall.core.state import RunState
from lastcall.nouns.ids import CallId
from lastcall.nouns.tools import ToolCall, ToolResult


def sight_of(state: RunState) -> Sight:
    """The prompt of the run, and every call that a tool answered, in the order of the answers."""
    calls: dict[CallId, ToolCall] = {}
    seen: list[ToolSeen] = []
    for block in chain(_closed(state), (entry.block for entry in state.pending)):
        if isinstance(block, ToolCall):
            calls[block.call_id] = block
        elif isinstance(block, ToolResult) and block.kind.of_tool and block.call_id in calls:
            call = calls[block.call_id]
            seen.append(ToolSeen(call.name, call.arguments.text, _text(block), not block.failed))
    return Sight(state.prompt_text, tuple(seen))


def _closed(state: RunState) -> Iterator[object]:
    for message in chain(state.left_out, state.messages):
        yield from message.blocks


def _text(result: ToolResult) -> str:
    """The text of an answer; of content blocks, the texts among them."""
    if not result.blocks:
        return result.content
    read = read_json(result.content, numbers="exact")
    blocks = [] if isinstance(read, JsonFault) or not isinstance(read.value, list) else read.value
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
