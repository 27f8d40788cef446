"""Names of models to providers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.providers import Deployment, Provider
from lastcall.providers.capability import CapabilityMemory
from lastcall.providers.choose import ModelSettings, choose_provider, default_model
from lastcall.providers.fallback import FallbackProvider
from lastcall.wire.dialect import Feature
from wire_tools import TestClock, collect, solid
from wire_tools import ask as asked

ANTHROPIC_ENV = {"ANTHROPIC_API_KEY": "k"}
OPENAI_ENV = {"OPENAI_API_KEY": "k"}
BOTH = {**ANTHROPIC_ENV, **OPENAI_ENV}


def choose(model: str | None, env: dict[str, str] | None = None, **choices: Any) -> Provider:
    fallbacks = choices.pop("fallbacks", ())
    return choose_provider(model, BOTH if env is None else env, ModelSettings(**choices), fallbacks=fallbacks)


@pytest.mark.parametrize(
    ("name", "provider", "model", "max_tokens"),
    [
        ("haiku", "anthropic", "claude-haiku-4-5-20251001", 32_000),
        ("anthropic:haiku", "anthropic", "claude-haiku-4-5-20251001", 32_000),
        ("sonnet", "anthropic", "claude-sonnet-5", 64_000),
        ("claude-3-5-haiku-20241022", "anthropic", "claude-3-5-haiku-20241022", 8192),
        ("anthropic:qwen3", "anthropic", "qwen3", 32_000),
        ("openai:gpt-5:free", "openai", "gpt-5:free", 0),
        ("gpt-4o", "openai", "gpt-4o", 0),
        ("o3", "openai", "o3", 0),
    ],
)
def test_a_name_says_which_service_and_which_model(name: str, provider: str, model: str, max_tokens: int) -> None:
    chosen = choose(name)
    assert chosen.deployment == Deployment(provider, model, max_tokens=max_tokens)


def test_settings_replace_defaults_and_only_those_that_are_set() -> None:
    chosen = choose("haiku", max_tokens=1234, max_retries=0, temperature=0.0, seed=1, effort="low", idle_timeout_s=1.5)
    assert chosen.deployment == Deployment(
        "anthropic", "claude-haiku-4-5-20251001", max_tokens=1234, max_retries=0, temperature=0.0, seed=1, effort="low", idle_timeout_s=1.5
    )  # fmt: skip


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({}, "local"),
        (ANTHROPIC_ENV, "sonnet"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, "sonnet"),
        ({**BOTH, "ANTHROPIC_MODEL": "opus"}, "opus"),
        ({**OPENAI_ENV, "OPENAI_MODEL": "gpt-5"}, "openai:gpt-5"),
        ({"ANTHROPIC_API_KEY": ""}, "local"),
    ],
)
def test_without_a_name_what_is_configured_answers_else_the_embedded_model(env: dict[str, str], name: str) -> None:
    assert default_model(env) == name


@pytest.mark.parametrize(
    ("name", "env", "message"),
    [
        (None, OPENAI_ENV, "which of its models"),
        ("haiku", {}, "needs ANTHROPIC_API_KEY"),
        ("claude-x", OPENAI_ENV, "needs ANTHROPIC_API_KEY"),
        ("gpt-5", ANTHROPIC_ENV, "needs OPENAI_API_KEY"),
        ("anthropic:", ANTHROPIC_ENV, "anthropic:NAME"),
        ("openai:", OPENAI_ENV, "openai:NAME"),
        ("zzz", BOTH, "no model 'zzz'"),
        ("bedrock:x", BOTH, "no model 'bedrock:x'"),
        ("scripted:", {}, "scripted:FILE"),
        ("scripted:/nowhere.json", {}, "cannot be read"),
        ("haiku", {**ANTHROPIC_ENV, "ANTHROPIC_BASE_URL": "nonsense"}, "ANTHROPIC_BASE_URL: the base URL"),
        ("gpt-5", {"OPENAI_BASE_URL": "nonsense"}, "OPENAI_BASE_URL: the base URL"),
        ("haiku", {"ANTHROPIC_API_KEY": "a\nb"}, "ANTHROPIC_API_KEY: the key holds characters that no key has"),
        ("gpt-5", {"OPENAI_API_KEY": "kéy"}, "OPENAI_API_KEY: the key holds characters that no key has"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(name: str | None, env: dict[str, str], message: str) -> None:
    with pytest.raises(BadConfig, match=message) as caught:
        choose(name, env)
    assert "\n" not in str(caught.value)
    assert "kéy" not in str(caught.value)


def test_a_service_of_ones_own_needs_no_key_and_takes_any_name() -> None:
    base = "http://127.0.0.1:1"
    for name, env, kind in (
        ("llama", {"ANTHROPIC_BASE_URL": base}, "anthropic"),
        ("llama", {"OPENAI_BASE_URL": base}, "openai"),
        ("openai:llama", {"OPENAI_BASE_URL": base}, "openai"),
    ):
        assert choose(name, env).deployment.provider == kind
    assert not choose("llama", {"OPENAI_BASE_URL": base}).dialect.has(Feature.MAX_COMPLETION_TOKENS)
    assert not choose("llama", {"ANTHROPIC_BASE_URL": base}).dialect.has(Feature.STRICT)


def test_what_was_refused_lately_is_known_from_the_start() -> None:
    memory, clock = CapabilityMemory(None), TestClock()
    memory.remember(choose("gpt-4o").deployment, Feature.STRICT, now=clock.now())
    assert not choose("gpt-4o", memory=memory, clock=clock).dialect.has(Feature.STRICT)
    assert choose("gpt-5", memory=memory, clock=clock).dialect.has(Feature.STRICT)


def test_a_script_is_a_model(tmp_path: Path) -> None:
    file = tmp_path / "a:b.json"
    file.write_text('["hello"]')
    chosen = choose(f"scripted:{file}", {}, max_retries=3)
    assert (chosen.deployment.provider, chosen.deployment.max_retries) == ("scripted", 3)
    assert [type(event).__name__ for event in solid(collect(lambda: chosen.stream(asked())))] == [
        "ReplyStarted", "BlockEnded", "ReplyEnded"
    ]  # fmt: skip
    assert choose(f"scripted:{file}", {}).deployment.max_retries == Deployment("x", "y").max_retries


# -- chains ---------------------------------------------------------------------------------------------------------


def links(provider: Provider) -> list[tuple[str, bool, bool]]:
    assert isinstance(provider, FallbackProvider)
    return [
        (link.provider.deployment.model, "overloaded" in link.triggers, "refusal" in link.triggers)
        for link in provider.links
    ]


def test_fallbacks_stand_by_in_their_order_each_model_once() -> None:
    chosen = choose("haiku", fallbacks=["sonnet", "claude-haiku-4-5-20251001", "gpt-5", "anthropic:sonnet"])
    assert links(chosen) == [
        ("claude-haiku-4-5-20251001", False, False),
        ("claude-sonnet-5", True, True),
        ("gpt-5", True, True),
    ]
    anyio.run(chosen.aclose)


def test_a_fallback_to_the_model_itself_is_none() -> None:
    assert not isinstance(choose("haiku", fallbacks=["haiku"]), FallbackProvider)


def test_the_reference_has_its_own_fallback_after_refusals() -> None:
    compat = choose("fable", profile=Profile.COMPAT, fallbacks=["haiku"])
    assert links(compat) == [
        ("claude-fable-5", False, False),
        ("claude-opus-4-8", False, True),
        ("claude-haiku-4-5-20251001", True, False),
    ]
    assert not isinstance(choose("fable"), FallbackProvider)


@pytest.mark.parametrize("name", ["haiku", "openai:gpt-5", "local"])
def test_where_real_requests_are_forbidden_only_scripts_answer(name: str) -> None:
    with pytest.raises(BadConfig, match="real requests are forbidden"):
        choose(name, {"LASTCALL_FORBID_REQUESTS": "1", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"})
