"""The bytes of a conversation that only grows."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lastcall.nouns.messages import Message, TextBlock, UserMessage
from lastcall.wire.history import Groups, KeptHistory


def message(text: str) -> UserMessage:
    return UserMessage((TextBlock(text),))


def text_of(told: Message) -> str:
    block = told.blocks[0]
    assert isinstance(block, TextBlock)
    return block.text


class Writer:
    """Joins neighbours that begin with the same letter, leaves out empty ones, counts what it writes."""

    def __init__(self) -> None:
        self.written = 0

    def __call__(self, messages: Sequence[Message]) -> Groups:
        groups: Groups = []
        for index, told in enumerate(messages):
            text = text_of(told).encode()
            self.written += 1
            if groups and text and groups[-1][1][:1] == text[:1]:
                groups[-1] = (groups[-1][0], groups[-1][1] + b"+" + text)
            elif text:
                groups.append((index, text))
        return groups


def joined(kept: KeptHistory, messages: Sequence[Message]) -> bytes:
    closed, last = kept.join(tuple(messages))
    return bytes(closed) + last


def test_a_growing_history_is_written_once_but_for_its_last_group() -> None:
    writer = Writer()
    kept = KeptHistory(writer)
    history: list[Message] = []
    for number in range(100):
        history.append(message("ab"[number % 2] + str(number)))
        joined(kept, history)
    assert writer.written < 200
    assert joined(kept, history) == joined(KeptHistory(Writer()), history)


def test_equal_messages_are_not_taken_for_the_same() -> None:
    kept = KeptHistory(Writer())
    joined(kept, [message("a1"), message("b1"), message("a2")])
    changed = [message("a1"), message("b!"), message("a2")]
    assert joined(kept, changed) == b"a1,b!,a2"


def test_a_history_that_shrinks_to_what_was_closed_is_written_whole() -> None:
    kept = KeptHistory(Writer())
    history = [message("a1"), message("b1"), message("a2")]
    assert joined(kept, history) == b"a1,b1,a2"
    assert joined(kept, history[:2]) == b"a1,b1"
    assert joined(kept, history[:1]) == b"a1"
    assert joined(kept, []) == b""
    assert joined(kept, history) == b"a1,b1,a2"


@given(st.data())
def test_any_sequence_of_histories_gives_what_writing_afresh_gives(data: st.DataObject) -> None:
    pool = [message(text) for text in ("a1", "a2", "b1", "b2", "", "a1")]
    kept = KeptHistory(Writer())
    history: list[Message] = []
    for _ in range(data.draw(st.integers(1, 8))):
        del history[data.draw(st.integers(0, len(history))) :]
        history += [pool[index] for index in data.draw(st.lists(st.integers(0, len(pool) - 1), max_size=3))]
        assert joined(kept, history) == joined(KeptHistory(Writer()), history)
