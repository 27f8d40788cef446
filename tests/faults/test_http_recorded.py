"""The recorded groups http, fallback, retraction and stop-reason against the transports alone, over real sockets.

Each case's first request to the model is made with the reference's profile; how often and how it was sent, and what was
told about it, must be as recorded. What a run makes of it is tested elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from conformance.scripted_api import ScriptedAPI
from lastcall.core.events import FellBack, ProviderEvent, ReplyEnded, RequestFailed, Retrying
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import FailureKind
from lastcall.providers.choose import ModelSettings, choose_provider
from wire_tools import TestClock, ask

CASES = Path(__file__).parents[1] / "conformance" / "cases"
GROUPS = ("http", "fallback", "retraction", "stop-reason")
NAMES = sorted(f"{path.parent.name}/{path.stem}" for group in GROUPS for path in (CASES / group).glob("*.json"))

WORDS = {
    FailureKind.OVERLOADED: "overloaded",
    FailureKind.RATE_LIMIT: "rate_limit",
    FailureKind.SERVER: "server_error",
    FailureKind.AUTHENTICATION: "authentication_failed",
    FailureKind.NETWORK: "unknown",
}


def flag(argv: list[str], name: str) -> str | None:
    return argv[argv.index(name) + 1] if name in argv else None


def play(case: dict[str, Any], base_url: str) -> tuple[list[ProviderEvent], TestClock]:
    env = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": base_url, **(case.get("env") or {})}
    retries = env.get("CLAUDE_CODE_MAX_RETRIES")
    streaming = flag(case["argv"], "--output-format") == "stream-json"
    clock = TestClock()
    settings = ModelSettings(
        profile=Profile.COMPAT,
        max_retries=int(retries) if retries else None,
        thinking_display=None if streaming else "omitted",
        clock=clock,
    )
    fallback = flag(case["argv"], "--fallback-model")

    async def run() -> list[ProviderEvent]:
        names = fallback.split(",") if fallback else ()
        provider = choose_provider(flag(case["argv"], "--model"), env, settings, fallbacks=names)
        try:
            return [event async for event in provider.stream(ask())]
        finally:
            await provider.aclose()

    return anyio.run(run), clock


def seen(body: dict[str, Any]) -> dict[str, Any]:
    keys = ("model", "max_tokens", "thinking", "output_config", "tool_choice")
    return {"stream": bool(body.get("stream")), **{key: body[key] for key in keys if body.get(key) is not None}}


@pytest.mark.parametrize("name", NAMES)
def test_the_first_request_is_sent_and_told_as_recorded(name: str) -> None:
    case = json.loads((CASES / f"{name}.json").read_text())
    recorded = case["observed"]["requests"]
    first = [
        request
        for request in recorded
        if len(request["messages"]) == 1 and request["messages"] == recorded[0]["messages"]
    ]
    with ScriptedAPI(case["model_replies"]) as api:
        events, clock = play(case, api.base_url)
    assert [seen(request["body"]) for request in api.requests] == [seen(request) for request in first]

    frames = case["observed"].get("frames", [])
    retries = [frame for frame in frames if frame.get("subtype") == "api_retry"]
    told = [event for event in events if isinstance(event, Retrying) and not event.retracted]
    if frames and len(first) == len(recorded):
        assert [(r.attempt, r.max_retries, r.failure.status, WORDS[r.failure.kind]) for r in told] == [
            (r["attempt"], r["max_retries"], r["error_status"], r["error"]) for r in retries
        ]
        for event, frame in zip(told, retries, strict=True):
            assert frame.get("retry_delay_ms", event.delay_ms) == event.delay_ms
    switches = [f for f in frames if f.get("subtype") in ("model_fallback", "model_refusal_fallback")]
    if frames and len(first) == len(recorded):
        assert [(f.trigger, f.from_model, f.to_model) for f in events if isinstance(f, FellBack)] == [
            (f["trigger"], f["original_model"], f["fallback_model"]) for f in switches
        ]
    assert isinstance(events[-1], ReplyEnded | RequestFailed)
    assert "sk-test" not in repr(events)
    assert not any(wait > 40 for wait in clock.waits)
