"""Chains of models."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from lastcall.core.events import (
    BlockEnded,
    FellBack,
    Progress,
    ProviderEvent,
    ReplyEnded,
    ReplyStarted,
    RequestFailed,
    Retrying,
)
from lastcall.nouns.ids import MessageId
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Failed, FailureKind, Usage
from lastcall.providers.fallback import RECORDED_TRIGGERS, REFUSAL, FallbackProvider, Link
from lastcall.providers.retries import RetryRules
from lastcall.providers.scripted import ScriptedProvider, scripted_provider
from lastcall.providers.service import Settings
from wire_tools import TestClock, ask, collect, solid

REFUSED: dict[str, Any] = {
    "content": [{"type": "text", "text": "I"}],
    "stop_reason": "refusal",
    "stop_details": {"type": "refusal", "category": "cyber", "explanation": "E"},
}
OVERLOADED: dict[str, Any] = {"status": 529, "error": {"type": "overloaded_error", "message": "x"}}
BROKEN: dict[str, Any] = {"content": [{"type": "text", "text": "half"}], "cut": {"after_blocks": 1}}


def model(name: str, *replies: Any, retries: int = 0, profile: Profile = Profile.NATIVE) -> ScriptedProvider:
    settings = Settings(
        profile=profile, retry_rules=RetryRules(retries_after_blocks=profile is Profile.NATIVE, overloads=2)
    )
    return scripted_provider(list(replies), model=name, max_retries=retries, settings=settings)


def chain(*links: Link | ScriptedProvider, profile: Profile = Profile.NATIVE) -> FallbackProvider:
    whole = [link if isinstance(link, Link) else Link(link) for link in links]
    return FallbackProvider(whole, profile=profile, clock=TestClock())


def told(subject: FallbackProvider) -> list[Any]:
    return solid(collect(lambda: subject.stream(ask())))


def kinds(events: list[ProviderEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_the_next_model_answers_and_stays() -> None:
    first, second = model("a", OVERLOADED), model("b", "hello")
    subject = chain(first, second)
    assert subject.deployment.model == "a"
    events = told(subject)
    assert events[0] == FellBack(1, "a", "b", "overloaded", "made1")  # type: ignore[arg-type]
    assert [event.block for event in events if isinstance(event, BlockEnded)] == [TextBlock("hello")]
    assert (subject.deployment.model, subject.dialect) == ("b", second.dialect)
    assert kinds(told(subject)) == ["ReplyStarted", "BlockEnded", "ReplyEnded"]
    assert (len(first.requests), len(second.requests)) == (1, 2)


@pytest.mark.parametrize(
    ("reply", "trigger"),
    [
        (OVERLOADED, "overloaded"),
        ({"status": 404, "error": {"message": "model: x"}}, "model_not_found"),
        ({"status": 429}, "rate_limit"),
        ({"status": 500}, "server_error"),
        ({"drop": True}, "network"),
        (BROKEN, "stream_error"),
        (REFUSED, "refusal"),
    ],
)
def test_what_another_model_may_not_share_makes_it_take_over(reply: dict[str, Any], trigger: str) -> None:
    events = told(chain(model("a", reply), model("b", "hello")))
    assert [event.trigger for event in events if isinstance(event, FellBack)] == [trigger]
    assert isinstance(events[-1], ReplyEnded)


@pytest.mark.parametrize("status", [400, 401, 403, 413])
def test_what_every_model_would_meet_ends_the_request(status: int) -> None:
    events = told(chain(model("a", {"status": status}), model("b", "hello")))
    assert kinds(events) == ["RequestFailed"]


def test_what_was_said_is_taken_back_and_what_was_spent_is_told() -> None:
    events = told(chain(model("a", BROKEN), model("b", "hello")))
    assert kinds(events) == ["ReplyStarted", "BlockEnded", "FellBack", "ReplyStarted", "BlockEnded", "ReplyEnded"]
    assert (events[2].retracted, events[2].usage) == (("msg_0000",), Usage(100, 1, 0, 0))


def test_what_a_retry_took_back_is_not_taken_back_again() -> None:
    events = told(chain(model("a", BROKEN, {"status": 500}, retries=1), model("b", "hello")))
    fell = next(event for event in events if isinstance(event, FellBack))
    assert isinstance(events[2], Retrying)
    assert (events[2].retracted, fell.retracted) == (("msg_0000",), ())


def test_a_refused_reply_is_never_shown_as_ended() -> None:
    events = told(chain(model("a", REFUSED), model("b", "hello")))
    assert kinds(events) == ["ReplyStarted", "BlockEnded", "FellBack", "ReplyStarted", "BlockEnded", "ReplyEnded"]
    fell = events[2]
    assert (fell.retracted, fell.usage, fell.details) == (
        (MessageId("msg_0000"),), Usage(100, 20, 0, 0), REFUSED["stop_details"]
    )  # fmt: skip


def test_the_end_of_a_refused_reply_is_shown_after_the_change_as_recorded() -> None:
    # group retraction, case partial-messages
    events = collect(lambda: chain(model("a", REFUSED), model("b", "hello")).stream(ask()))
    shown = [event.event["type"] if isinstance(event, Progress) else type(event).__name__ for event in events]
    begun = [
        "ReplyStarted",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "BlockEnded",
        "content_block_stop",
    ]
    assert shown == [
        *begun,
        "FellBack",
        "message_delta",
        "message_stop",
        *begun,
        "message_delta",
        "message_stop",
        "ReplyEnded",
    ]


def test_the_last_model_of_a_chain_may_refuse_and_fail() -> None:
    events = told(chain(model("a", OVERLOADED), model("b", REFUSED)))
    assert kinds(events) == ["FellBack", "ReplyStarted", "BlockEnded", "ReplyEnded"]
    assert events[-1].stop_reason == "refusal"
    shown = collect(lambda: chain(model("b", REFUSED)).stream(ask()))
    assert [e.event["type"] for e in shown if isinstance(e, Progress)][-2:] == ["message_delta", "message_stop"]
    events = told(chain(model("a", OVERLOADED), model("b", OVERLOADED)))
    assert kinds(events) == ["FellBack", "RequestFailed"]
    assert events[-1].failure == Failed(FailureKind.OVERLOADED, "x", 529, "overloaded_error")


def test_a_link_takes_over_only_for_its_own_reasons() -> None:
    after_refusal = Link(model("b", "b"), frozenset({REFUSAL}), frozenset({"cyber"}))
    recorded = Link(model("c", "c"), RECORDED_TRIGGERS)
    assert [
        e.to_model for e in told(chain(model("a", REFUSED), after_refusal, recorded)) if isinstance(e, FellBack)
    ] == ["b"]
    assert [
        e.to_model for e in told(chain(model("a", OVERLOADED), after_refusal, recorded)) if isinstance(e, FellBack)
    ] == ["c"]
    for details in ({"category": "zzz"}, {"category": None}, {}):
        events = told(chain(model("a", {**REFUSED, "stop_details": details}), after_refusal, recorded))
        assert kinds(events) == ["ReplyStarted", "BlockEnded", "ReplyEnded"]
    assert kinds(told(chain(model("a", {"status": 500}), after_refusal, recorded))) == ["RequestFailed"]


def test_the_reference_does_not_fall_back_from_a_reply_that_had_begun_to_speak() -> None:
    # group fallback, cases stream-error-after-call and stream-error-before-blocks
    error = {"type": "overloaded_error", "message": "x"}
    late = {"content": [{"type": "text", "text": "a"}], "error_event": {"after_blocks": 1, "error": error}}
    early = {"content": [{"type": "text", "text": "a"}], "error_event": {"after_blocks": 0, "error": error}}
    compat = Profile.COMPAT
    events = told(chain(model("a", late, profile=compat), Link(model("b", "b"), RECORDED_TRIGGERS), profile=compat))
    assert kinds(events) == ["ReplyStarted", "BlockEnded", "RequestFailed"]
    first = model("a", early, retries=10, profile=compat)
    events = told(chain(first, Link(model("b", "b"), RECORDED_TRIGGERS), profile=compat))
    assert kinds(events).count("Retrying") == 2
    assert [event.trigger for event in events if isinstance(event, FellBack)] == ["overloaded"]
    assert len(first.requests) == 3


def test_closing_in_the_middle_closes_the_model_that_speaks() -> None:
    async def main() -> list[ProviderEvent]:
        subject = chain(model("a", OVERLOADED), model("b", "hello"))
        events = subject.stream(ask())
        heard = [await anext(events), await anext(events)]
        await events.aclose()  # type: ignore[attr-defined]
        await subject.aclose()
        return heard

    first, second = anyio.run(main)
    assert isinstance(first, FellBack)
    assert isinstance(second, ReplyStarted)


def test_a_failure_that_ends_the_request_is_told_once() -> None:
    events = told(chain(model("a", {"status": 400})))
    assert [type(event) for event in events] == [RequestFailed]
