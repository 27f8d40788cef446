"""What leaves the machine is hidden; what the run returns is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.core import records as r
from lastcall.core.events import Progress
from lastcall.errors import BadConfig
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Answered, GaveUp
from lastcall.runtime.veil import NO_VEIL, veil_of

KEY = "an-odd-key-0815"
ENV = {"OPENAI_API_KEY": KEY, "HOME": "/home/somebody", "DEPLOY_TOKEN": "deploy-token-1"}
M = "[redacted:environment]"


def test_without_keys_and_without_the_flag_nothing_is_looked_at():
    record = r.Started("run", (TextBlock(KEY),), "u", 1.0)
    for veil in (NO_VEIL, veil_of({"HOME": "/home/somebody"})):
        assert veil.written([record]) == [record]
        assert veil.shown([record], [record]) == [record]
        assert veil.text(KEY) == KEY
        assert veil.fields({"a": KEY}) == {"a": KEY}
        assert list(veil.progress(piece(KEY))) == [piece(KEY)]


def test_the_keys_of_providers_are_always_hidden_other_secrets_of_the_environment_on_request():
    assert veil_of(ENV).text(f"{KEY} deploy-token-1 /home/somebody") == f"{M} deploy-token-1 /home/somebody"
    assert veil_of(ENV, ()).text(f"{KEY} deploy-token-1 /home/somebody") == f"{M} {M} /home/somebody"


def test_a_bad_pattern_is_an_error_of_the_caller_s():
    with pytest.raises(BadConfig, match="this pattern cannot be used"):
        veil_of({}, ("(",))


def test_the_object_is_hidden_in_the_journal_and_not_from_whoever_watches():
    veil = veil_of(ENV)
    attached = r.Attached(Attachment("c", "m", f'{{"k":"{KEY}"}}'))
    answered = r.Ended(Answered(attached.attachment, "done"))
    gave_up = r.Ended(GaveUp(KEY))
    records = [attached, answered, gave_up]
    written = veil.written(records)
    assert KEY not in str(written)
    assert veil.shown(records, written) == (attached, answered, r.Ended(GaveUp(M)))


# -- pieces ---------------------------------------------------------------------------------------------------------


def piece(text, kind="text_delta", name="text", index=0):
    return Progress(1, {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: text}})


def stop(index=0):
    return Progress(1, {"type": "content_block_stop", "index": index})


def told(veil, events):
    """The text of all pieces; and nothing else may come out of them."""
    out = [p for event in events for p in veil.progress(event)]
    return "".join(p.event["delta"].get("text", "") for p in out if "delta" in p.event), out


@given(st.text(max_size=30), st.text(max_size=30), st.lists(st.integers(1, 7), min_size=1, max_size=60))
def test_however_a_reply_is_cut_into_pieces_no_key_comes_through(before, after, sizes):
    text, at, pieces = f"{before}{KEY}{after}", 0, []
    while at < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(piece(text[at : at + size]))
        at += size
    seen, out = told(veil_of(ENV), [*pieces, stop()])
    assert KEY not in seen
    assert seen == f"{before}{M}{after}" or KEY in before + after
    assert out[-1] == stop()


def test_what_only_begins_like_a_key_is_told_in_the_end():
    seen, out = told(veil_of(ENV), [piece("see an-odd"), piece("-"), stop()])
    assert seen == "see an-odd-"
    assert [p.event["type"] for p in out] == ["content_block_delta", "content_block_delta", "content_block_stop"]


def test_blocks_do_not_mix_and_other_events_are_hidden_whole():
    veil = veil_of(ENV)
    assert [*veil.progress(piece("an-odd", index=0))] == []
    assert [*veil.progress(piece("-key-0815", index=1))] == [piece("-key-0815", index=1)]
    assert [*veil.progress(piece(KEY, "input_json_delta", "partial_json", 2))] == [
        piece(M, "input_json_delta", "partial_json", 2)
    ]
    start = Progress(1, {"type": "message_start", "message": {"note": KEY}})
    assert [*veil.progress(start)] == [Progress(1, {"type": "message_start", "message": {"note": M}})]
    odd = Progress(
        1, {"type": "content_block_delta", "index": 3, "delta": {"type": "signature_delta", "signature": "s"}}
    )
    assert [*veil.progress(odd)] == [odd]
