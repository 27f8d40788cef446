"""Server-sent events; expectations from the event-stream section of the HTML standard."""

import pytest

from lastcall.errors import BrokenStream
from lastcall.wire.sse import SseDecoder, SseEvent, SseLimits


def decode(*chunks: bytes, limits: SseLimits | None = None) -> list[SseEvent]:
    decoder = SseDecoder(limits)
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def test_the_standards_first_example_gives_three_events() -> None:
    stream = b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
    assert decode(stream) == [
        SseEvent("", b"first event"),
        SseEvent("", b"second event"),
        SseEvent("", b" third event"),
    ]


def test_the_standards_example_of_empty_data_gives_two_events() -> None:
    # "The first event has an empty string as its data, the second a newline; the third is not complete."
    assert decode(b"data\n\ndata\ndata\n\ndata:") == [SseEvent("", b""), SseEvent("", b"\n")]


def test_a_space_after_the_colon_changes_nothing() -> None:
    assert decode(b"data:test\n\ndata: test\n\n") == [SseEvent("", b"test")] * 2


def test_several_data_lines_are_joined_by_line_feeds() -> None:
    assert decode(b"data: YHOO\ndata: +2\ndata: 10\n\n") == [SseEvent("", b"YHOO\n+2\n10")]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_of_the_standard_ends_a_line(end: bytes) -> None:
    stream = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert decode(stream) == [SseEvent("a", b"1"), SseEvent("", b"2")]


def test_a_pair_of_carriage_return_and_line_feed_may_be_split() -> None:
    assert decode(b"data: 1\r", b"\n\r", b"\ndata: 2\r", b"", b"\n\r\n") == [SseEvent("", b"1"), SseEvent("", b"2")]


def test_a_carriage_return_at_the_end_of_a_read_is_a_line_end_by_itself() -> None:
    assert decode(b"data: 1\r", b"data: 2\r", b"\r") == [SseEvent("", b"1\n2")]


def test_a_line_feed_after_a_split_pair_is_an_empty_line() -> None:
    assert decode(b"data: 1\r", b"\n\n") == [SseEvent("", b"1")]


def test_a_byte_order_mark_is_skipped_once_and_only_at_the_start() -> None:
    mark = b"\xef\xbb\xbf"
    assert decode(mark[:1], mark[1:] + b"data: 1\n\n") == [SseEvent("", b"1")]
    assert decode(b"data: 1\n\n" + mark + b"data: 2\n\n") == [SseEvent("", b"1")]


def test_other_line_separators_are_data() -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode()
    assert decode(b"data: " + text + b"\n\n") == [SseEvent("", text)]


def test_characters_split_between_reads_stay_whole() -> None:
    rocket = "🚀".encode()
    assert decode(b"data: " + rocket[:2], rocket[2:] + b"\n\n") == [SseEvent("", rocket)]


def test_comments_and_unknown_fields_carry_nothing() -> None:
    assert decode(b": keep-alive\n\n:\n\nretry: 10\nid: 7\nfoo: bar\nnothing\n\n") == []


def test_an_event_name_does_not_outlive_its_event() -> None:
    assert decode(b"event: a\n\ndata: 1\n\n") == [SseEvent("", b"1")]


def test_the_last_event_without_its_empty_line_is_told_apart() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"event: x\ndata: [DONE]\n") == []
    assert decoder.finish() == SseEvent("x", b"[DONE]")
    torn = SseDecoder()
    torn.feed(b'data: {"a"')
    assert torn.finish() == SseEvent("", b'{"a"')
    clean = SseDecoder()
    clean.feed(b"data: 1\n\n: bye\n")
    assert clean.finish() is None


def test_an_event_over_its_budget_is_refused_in_one_line_and_in_many() -> None:
    limits = SseLimits(event_bytes=100)
    with pytest.raises(BrokenStream, match="larger than 100 bytes"):
        decode(b"data: " + b"x" * 101, limits=limits)
    with pytest.raises(BrokenStream, match="larger than 100 bytes"):
        decode(*[b"data: 12345678\n"] * 13, limits=limits)
    assert len(decode(*[b"data: 12345678\n\n"] * 100, limits=limits)) == 100


def test_a_stream_over_its_budget_is_refused_though_it_only_holds_comments() -> None:
    with pytest.raises(BrokenStream, match="larger than 1000 bytes"):
        decode(*[b": ping\n\n"] * 126, limits=SseLimits(stream_bytes=1000))


def test_the_cost_of_a_large_event_in_tiny_reads_is_linear() -> None:
    # 600,000 bytes, three at a time: copying what was read at every read would move 60 GB
    decoder = SseDecoder()
    decoder.feed(b"data: ")
    for _ in range(200_000):
        decoder.feed(b"abc")
    assert [len(event.data) for event in decoder.feed(b"\n\n")] == [600_000]
    assert decoder.seen_bytes == 600_008
