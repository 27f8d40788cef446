"""A result is checked again by what it claims, what it came from, and what was recorded."""

from __future__ import annotations

import hashlib
import json

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.cel import cel_rule
from lastcall.contract.parse import schema_from_value
from lastcall.core import records as r
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Answered, GaveUp
from lastcall.runtime.verifying import recorded_contract, verify
from lastcall.wire.journal import encode_step

SCHEMA = {"type": "object", "properties": {"line": {"type": "string", "x-lastcall": {"quote": "input"}}}}
PLAIN = {"type": "object", "properties": {"line": {"type": "string"}}}
ARRAY = {"type": "array", "items": {"type": "integer"}}
TEXT = '{"line":"disk"}'


def contract_of(schema, **more):
    return compile_contract(schema_from_value(schema, profile=Profile.NATIVE), **more)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def journal_of(text=TEXT, schema=PLAIN, prompt="why is the disk full?"):
    outcome = Answered(Attachment("c1", "m1", text)) if text else GaveUp("no")
    opened = r.Opened("s", "1", "native", "m", "/", 0.0, "", schema_from_value(schema, profile=Profile.NATIVE).text)
    records = (opened, r.Started("run", (TextBlock(prompt),), "u", 0.0))
    attached = (r.Attached(outcome.attachment),) if text else ()
    return encode_step(records, at=0.0) + encode_step((*attached, r.Ended(outcome)), at=1.0)


OBJECT = json.loads(TEXT)


def frame_of(value=OBJECT, schema=PLAIN, journal=b"", *, rules=None, text=TEXT, **more):
    seal = {"sha256": sha(journal), "bytes": len(journal)} if journal else None
    digest = schema_from_value(schema, profile=Profile.NATIVE).digest
    receipt = {"object": sha(text.encode()) if text else None, "contract": digest, "rules": rules, "journal": seal}
    frame = {
        "type": "result",
        "is_error": False,
        "structured_output": value,
        "lastcall": {"outcome": "answered", "receipt": receipt},
    }
    return {**frame, **more}


def answers(*given):
    return {f.name: f.passed for f in verify(*given)}


def test_a_result_with_everything_beside_it_passes_everywhere():
    journal = journal_of()
    assert answers(frame_of(journal=journal), contract_of(PLAIN), journal) == dict.fromkeys(
        ("status", "object", "schema", "journal", "accepted", "contract"), True
    )
    assert recorded_contract(journal) == (json.dumps(PLAIN, separators=(",", ":")), ())
    assert recorded_contract(b"") == ("", ())


def test_what_cannot_be_asked_is_skipped():
    found = answers(frame_of(journal=b"x"), None, None)
    assert found == {"status": True, "object": True, "schema": None, "journal": None, "contract": None}
    assert answers(frame_of(), None, b"x")["journal"] is None


def test_later_runs_of_the_session_do_not_count():
    journal = journal_of()
    assert (
        answers(frame_of(journal=journal), contract_of(PLAIN), journal + journal_of('{"line":"tape"}'))["accepted"]
        is True
    )


@pytest.mark.parametrize(
    ("frame", "failed"),
    [
        (frame_of({"line": "tape"}), {"object"}),
        (frame_of(is_error=True), {"status"}),
        (frame_of({"line": 3}, text='{"line":3}'), {"contract"}),
        (frame_of(schema=SCHEMA), {"schema"}),
        ({"type": "result", "lastcall": {}}, {"receipt"}),
        ({"type": "result"}, {"receipt"}),
    ],
)
def test_each_lie_is_found(frame, failed):
    assert {name for name, passed in answers(frame, contract_of(PLAIN), None).items() if passed is False} == failed


def test_a_journal_that_was_cut_or_changed_is_not_believed():
    journal = journal_of()
    for other in (journal[:-20], journal.replace(b"disk", b"tape"), b""):
        found = answers(frame_of(journal=journal), contract_of(PLAIN), other)
        assert found["journal"] is False
        assert "accepted" not in found
    damaged = b"{\n"
    assert answers(frame_of(journal=damaged), contract_of(PLAIN), damaged)["records"] is False


def test_an_object_that_the_journal_did_not_accept_is_found():
    for text in ('{"line":"tape"}', ""):
        journal = journal_of(text)
        assert answers(frame_of(journal=journal), contract_of(PLAIN), journal)["accepted"] is False


def test_quotes_are_looked_for_in_the_journal():
    contract = contract_of(SCHEMA)
    assert answers(frame_of(schema=SCHEMA), contract, None)["contract"] is None
    good = journal_of(schema=SCHEMA)
    assert answers(frame_of(schema=SCHEMA, journal=good), contract, good)["contract"] is True
    bad = journal_of(schema=SCHEMA, prompt="why?")
    assert answers(frame_of(schema=SCHEMA, journal=bad), contract, bad)["contract"] is False


def test_rules_are_those_of_the_run_or_said_not_to_be():
    ruled = contract_of(PLAIN, rules=[cel_rule("line != ''")])
    assert answers(frame_of(rules=sha(b"[\"line != ''\"]")), ruled, None)["rules"] is True
    assert answers(frame_of(rules="00"), ruled, None)["rules"] is None
    assert answers(frame_of(rules="00"), contract_of(PLAIN), None)["rules"] is None


def test_a_wrapped_root_is_judged_as_the_caller_has_it():
    assert answers(frame_of([1, 2], ARRAY, text="[1,2]"), contract_of(ARRAY), None)["contract"] is True


def test_a_failed_run_has_no_object_to_judge():
    frame = frame_of(text="", is_error=True)
    del frame["structured_output"]
    frame["lastcall"]["outcome"] = "gave_up"
    found = answers(frame, contract_of(PLAIN), None)
    assert found == {"status": True, "object": None, "schema": True, "journal": None, "contract": None}


def test_an_object_that_nests_beyond_all_measure_cannot_be_read():
    deep: object = 1
    for _ in range(600):
        deep = [deep]
    found = answers(frame_of({"line": deep}), contract_of(PLAIN), None)
    assert (found["object"], found["contract"]) == (False, False)
