"""Going on with a session whose journal was redacted: said, and no object is taken that was hidden in part."""

from __future__ import annotations

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.core import records as r
from lastcall.core.policy import native
from lastcall.core.resume import resume
from lastcall.core.state import Setting
from lastcall.errors import BadConfig
from lastcall.journal.sessions import Sessions
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Attempt, Usage, VerdictKind
from lastcall.nouns.tools import Arguments, ToolCall
from lastcall.runtime.config import RunConfig
from lastcall.runtime.opening import open_state, recorded_contract

SCHEMA = '{"type":"object","properties":{"k":{"type":"string"}}}'
CONTRACT = compile_contract(parse_schema(SCHEMA, profile=Profile.NATIVE), profile=Profile.NATIVE)
HIDDEN, PLAIN = '{"k":"[redacted:github]"}', '{"k":"v"}'


def opened(schema_text=SCHEMA):
    return r.Opened("abcdef-1", "1", "native", "m", "/x", 1.0, CONTRACT.digest, schema_text)


def said(text):
    """A run that got as far as a finishing call."""
    call = ToolCall("c", "m1", "StructuredOutput", Arguments(text))
    return [
        opened(),
        r.Started("run", (TextBlock("go"),), "u", 1.0),
        r.Asked(1),
        r.ReplyBegan(1, "m1", "m", Usage()),
        r.BlockSaid(1, "m1", call, "u"),
        r.ReplyClosed(1, "m1", "tool_use", Usage(1, 1)),
    ]


def attached(text):
    attempt = Attempt(1, "c", "m", VerdictKind.ACCEPTED, (), text, request=1)
    return [*said(text), r.Attempted(attempt), r.Attached(Attachment("c", "m1", text))]


def held(text):
    attempt = Attempt(1, "c", "m", VerdictKind.HELD, (), text, request=1)
    return [*said(text), r.Attempted(attempt), r.HeldBack(Attachment("c", "m1", text))]


@pytest.fixture
def go_on(tmp_path):
    told = []

    def run(records, resume="abcdef-1", **more):
        journal = Sessions(str(tmp_path)).create("/x", "abcdef-1")
        journal.append(records, at=1.0)
        journal.close()
        config = RunConfig(
            contract=CONTRACT,
            cwd="/x",
            state_dir=str(tmp_path),
            resume=resume,
            unfinished=True,
            notice=told.append,
            **more,
        )
        return open_state(config, Setting(native(), CONTRACT), "m"), told

    return run


def test_an_object_that_was_hidden_in_part_is_not_handed_over(go_on):
    with pytest.raises(BadConfig, match="was redacted in its journal, so it cannot be handed over"):
        go_on(attached(HIDDEN))


def test_one_that_was_held_is_asked_for_again(go_on):
    found, told = go_on(held(HIDDEN))
    assert found.state.held == ()
    assert found.state.attempts[0].verdict is VerdictKind.INTERRUPTED
    assert [w.code for w in found.state.warnings] == ["redacted_journal"]
    assert len(told) == 1
    step = resume(found.state)
    assert step.state.outcome is None
    assert step.state.outstanding
    found.journal.close()


def test_an_object_that_holds_no_mark_is_taken_as_ever(go_on):
    found, told = go_on(held(PLAIN))
    assert (found.state.warnings, told) == ((), [])
    assert resume(found.state).state.outcome.attachment.text == PLAIN
    found.journal.close()


def test_a_schema_that_was_hidden_in_part_has_to_be_given_again(tmp_path):
    journal = Sessions(str(tmp_path)).create("/x", "abcdef-1")
    journal.append([opened('{"const":"[redacted:aws]"}')], at=1.0)
    journal.close()
    with pytest.raises(BadConfig, match="the schema was redacted in the journal"):
        recorded_contract(RunConfig(cwd="/x", state_dir=str(tmp_path), resume="abcdef-1"))


@pytest.mark.parametrize("word", ["abcdef-1", "abc", "a"])
def test_the_beginning_of_an_id_is_enough_natively(go_on, word):
    found, _ = go_on(held(PLAIN), resume=word)
    assert found.state.session_id == "abcdef-1"
    found.journal.close()


def test_a_beginning_that_several_ids_have_is_refused(go_on, tmp_path):
    Sessions(str(tmp_path)).create("/y", "abcxyz-2").close()
    with pytest.raises(BadConfig, match="2 sessions begin with abc"):
        go_on(held(PLAIN), resume="abc")


def test_compat_wants_the_whole_id(go_on):
    with pytest.raises(BadConfig, match="No conversation found with session ID: abc"):
        go_on(held(PLAIN), resume="abc", profile=Profile.COMPAT)
