"""Hooks around requests to the model: what they see, what they may change, and that nothing they do costs an object."""

from __future__ import annotations

import json
from decimal import Decimal

import anyio
import pytest

import lastcall
from lastcall.nouns.result import FailureKind, Usage
from lastcall.testing import BadModel, ScriptedModel
from raw_server import RawServer, response

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GOOD = {"object": {"n": 8}}
BAD = {"object": {"n": "eight"}}


def system_of(request):
    return "\n".join(block["text"] for block in request["system"])


def before(answer):
    """A hook that always answers so."""

    @lastcall.hook("before_request")
    def asked(question):
        return answer

    return asked


def seeing(point, into):
    return lastcall.hook(point)(into.append)


def test_a_hook_sees_the_request_as_it_is_about_to_be_sent():
    asked = []
    model = ScriptedModel(BAD, GOOD)
    config = lastcall.RunConfig(system_prompt="You count.")
    lastcall.run(
        "Four and four.", output=COUNT, model=model, hooks=[seeing("before_request", asked)], deps=7, config=config
    )
    assert [(q.number, q.model, q.reserved, q.deps) for q in asked] == [
        (1, "scripted", False, 7),
        (2, "scripted", False, 7),
    ]
    assert asked[0].system.startswith("You count.")
    assert [block.text for block in asked[0].messages[0].blocks] == ["Four and four."]
    assert [tool.name for tool in asked[0].tools] == ["StructuredOutput", "DeclineOutput"]
    assert len(asked[1].messages) == 3


def test_words_are_added_to_the_system_prompt_of_each_request_and_take_nothing_away():
    asked = []
    model = ScriptedModel(BAD, GOOD)
    hooks = [before(lastcall.RequestAnswer(system="Be brief.")), seeing("before_request", asked)]
    lastcall.run("x", output=COUNT, model=model, hooks=hooks)
    plain = ScriptedModel(GOOD)
    lastcall.run("x", output=COUNT, model=plain)
    assert [system_of(request) for request in model.requests] == [f"{system_of(plain.requests[0])}\n\nBe brief."] * 2
    assert asked[0].system.endswith("Be brief.")  # a later hook sees what an earlier one left
    assert model.requests[0]["tools"] == plain.requests[0]["tools"]


def test_a_hook_that_says_nothing_changes_nothing():
    model, plain = ScriptedModel(GOOD), ScriptedModel(GOOD)
    lastcall.run("x", output=COUNT, model=model, hooks=[before(None)])
    lastcall.run("x", output=COUNT, model=plain)
    assert model.requests == plain.requests


def test_another_model_answers_the_request_for_which_a_hook_picks_it_and_no_other():
    strong = ScriptedModel(GOOD, model="strong")

    @lastcall.hook("before_request")
    async def harder(question):
        return lastcall.RequestAnswer(model=strong) if question.number == 2 else None

    seen = []
    weak = ScriptedModel(BAD, model="weak")
    result = lastcall.run("x", output=COUNT, model=weak, hooks=[harder, seeing("after_request", seen)])
    assert result.output == {"n": 8}
    assert [attempt.model for attempt in result.attempts] == ["weak", "strong"]
    assert [reply.model for reply in seen] == ["weak", "strong"]
    assert (len(weak.requests), len(strong.requests)) == (1, 1)


def test_a_model_is_picked_by_name_with_the_runs_environment_opened_once_and_priced_as_its_own(tmp_path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([BAD, BAD, GOOD]), "utf-8")
    model = ScriptedModel("unused")
    result = lastcall.run(
        "x", output=COUNT, model=model, hooks=[before(lastcall.RequestAnswer(model=f"scripted:{script}"))]
    )
    assert result.output == {"n": 8}
    assert model.requests == ()


def test_a_reply_of_a_priced_service_is_paid_at_its_own_price():
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "t", "name": "StructuredOutput", "input": {"n": 8}}],
        "usage": {"input_tokens": 1_000_000, "output_tokens": 0},
    }  # fmt: skip

    async def run():
        async with RawServer(response(200, json.dumps(message).encode())) as server:
            environment = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.base_url}
            config = lastcall.RunConfig(environment=environment)
            answer = lastcall.RequestAnswer(model="anthropic:claude-haiku-4-5", headers={"X-Tenant": "acme"})
            result = await lastcall.arun(
                "x", output=COUNT, model=ScriptedModel("x"), hooks=[before(answer)], config=config
            )
            return result, server.requests

    result, requests = anyio.run(run)
    assert result.cost_usd == Decimal(1)  # the vendor's list: one dollar for a million tokens read
    assert requests[0][1]["x-tenant"] == "acme"
    assert requests[0][1]["x-api-key"] == "k"


def test_headers_go_along_with_every_sending_of_the_request():
    model = ScriptedModel({"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}, GOOD)
    hooks = [before(lastcall.RequestAnswer(headers={"x-a": "1"})), before(lastcall.RequestAnswer(headers={"x-b": "2"}))]
    lastcall.run("x", output=COUNT, model=model, hooks=hooks)
    assert model.player.headers == [{"x-a": "1", "x-b": "2"}] * 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorization", "Bearer x"), ("X-Api-Key", "x"), ("Host", "x"), ("content-length", "3"),
        ("transfer-encoding", "chunked"), ("a b", "x"), ("", "x"), ("x:y", "x"),
        ("x-a", "1\r\nx-b: 2"), ("x-a", "Zürich"), ("x-a", 3),
    ],
)  # fmt: skip
def test_a_header_that_may_not_or_cannot_be_sent_is_refused_before_anything_is(name, value):
    model = ScriptedModel(GOOD)
    with pytest.raises(lastcall.UsageError, match="asked"):
        lastcall.run("x", output=COUNT, model=model, hooks=[before(lastcall.RequestAnswer(headers={name: value}))])
    assert model.requests == ()


def test_values_of_headers_are_not_repeated_in_what_the_service_says_of_them():
    refused = {"status": 400, "error": {"type": "invalid_request_error", "message": "no tenant acme-corporation here"}}
    hooks = [before(lastcall.RequestAnswer(headers={"x-tenant": "acme-corporation"}))]
    result = lastcall.run("x", output=COUNT, model=ScriptedModel(refused), hooks=hooks)
    assert "acme-corporation" not in json.dumps(result.envelope(), default=str)
    assert "[redacted]" in result.reason


def test_an_answer_of_another_kind_is_refused_and_names_the_hook():
    with pytest.raises(lastcall.UsageError, match="asked answered with str"):
        lastcall.run("x", model=ScriptedModel("x"), hooks=[before("Be brief.")])


def test_what_a_hook_raises_before_a_request_is_raised_and_nothing_is_sent():
    @lastcall.hook("before_request")
    def broken(question):
        raise LookupError("no such tenant")

    model = ScriptedModel(GOOD)
    with pytest.raises(LookupError) as raised:
        lastcall.run("x", output=COUNT, model=model, hooks=[broken])
    assert raised.value.__notes__ == ["raised by the hook broken (before_request) of a lastcall run"]
    assert model.requests == ()


def test_a_hook_sees_each_whole_reply_and_what_it_cost():
    seen = []
    reply = {
        "content": [
            {"type": "text", "text": "Eight."},
            {"type": "tool_use", "id": "t", "name": "StructuredOutput", "input": {"n": 8}},
        ],
        "usage": {"input_tokens": 70, "output_tokens": 9},
    }
    result = lastcall.run("x", output=COUNT, model=ScriptedModel(reply), hooks=[seeing("after_request", seen)], deps=1)
    assert result.ok
    [told] = seen
    assert (told.number, told.text, told.stop_reason, told.failure, told.deps) == (1, "Eight.", "tool_use", None, 1)
    assert [(call.name, json.loads(call.arguments.text)) for call in told.calls] == [("StructuredOutput", {"n": 8})]
    assert (told.usage.input_tokens, told.usage.output_tokens) == (70, 9)


def test_of_a_reply_that_was_taken_back_only_what_came_in_its_place_is_seen():
    seen = []
    result = lastcall.run(
        "x", output=COUNT, model=BadModel("resume-fallback", good={"n": 8}), hooks=[seeing("after_request", seen)]
    )
    assert result.ok
    assert [len(reply.calls) for reply in seen] == [1]


def test_a_request_that_failed_for_good_is_seen_with_its_failure():
    seen = []
    model = ScriptedModel({"status": 401, "error": {"type": "authentication_error", "message": "no"}})
    result = lastcall.run("x", output=COUNT, model=model, hooks=[seeing("after_request", seen)])
    assert not result.ok
    [told] = seen
    assert (told.failure.kind, told.calls, told.usage) == (FailureKind.AUTHENTICATION, (), Usage())


def test_what_a_hook_raises_after_the_last_reply_costs_no_object_and_is_a_warning():
    @lastcall.hook("after_request")
    async def broken(seen):
        raise ZeroDivisionError("x")

    result = lastcall.run("x", output=COUNT, model=ScriptedModel(BAD, GOOD), hooks=[broken])
    assert result.output == {"n": 8}
    words = "the hook broken (after_request) failed: ZeroDivisionError in test_hooked_requests.py, line "
    assert [(w.code, w.message.startswith(words)) for w in result.warnings] == [("hook_failed", True)] * 2
    assert [w["code"] for w in result.envelope()["lastcall"]["warnings"]] == ["hook_failed"] * 2


def test_no_hook_can_weaken_the_contract():
    """Whatever the model is told or whoever answers, what does not pass is rejected."""

    @lastcall.hook("before_request")
    def wild(question):
        return lastcall.RequestAnswer(system="The schema does not matter. n may be text.", model=other)

    other = ScriptedModel(BAD)
    result = lastcall.run("x", output=COUNT, model=ScriptedModel(GOOD), hooks=[wild])
    assert not result.ok
    assert {attempt.verdict for attempt in result.attempts} == {"rejected"}


def test_a_session_asks_its_hooks_in_every_run_and_closes_what_they_opened(tmp_path):
    seen, closed = [], []

    class Other(ScriptedModel):
        async def aclose(self):
            closed.append(self)
            await super().aclose()

    own, other = Other(GOOD), Other(GOOD)

    async def talk():
        hooks = [before(lastcall.RequestAnswer(model=other)), seeing("after_request", seen)]
        async with lastcall.Session(COUNT, model=own, hooks=hooks) as session:
            await session.run("one")
            await session.run("two")

    anyio.run(talk)
    assert len(seen) == 2
    assert closed == [own]  # one that a hook made itself is the hook's to close
