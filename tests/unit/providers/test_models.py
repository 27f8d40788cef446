"""What is known of models by their names; figures as recorded of the reference."""

import pytest

from lastcall.providers.models import (
    completions_dialect,
    full_name,
    is_claude,
    is_openai,
    messages_dialect,
    most_tokens,
)
from lastcall.wire.dialect import ANTHROPIC, OPENAI, Feature


def test_aliases_are_the_recorded_ones_unless_the_environment_says_otherwise() -> None:
    assert [full_name(name, {}) for name in ("haiku", "sonnet", "opus", "fable", "claude-x")] == [
        "claude-haiku-4-5-20251001", "claude-sonnet-5", "claude-opus-4-8", "claude-fable-5", "claude-x"
    ]  # fmt: skip
    assert full_name("haiku", {"ANTHROPIC_DEFAULT_HAIKU_MODEL": "mine"}) == "mine"
    assert full_name("haiku", {"ANTHROPIC_DEFAULT_HAIKU_MODEL": ""}) == "claude-haiku-4-5-20251001"


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("claude-haiku-4-5-20251001", 32_000),
        ("claude-sonnet-4-5-20250929", 32_000),
        ("claude-sonnet-5", 64_000),
        ("claude-opus-4-8", 64_000),
        ("claude-fable-5", 64_000),
        ("claude-3-7-sonnet-20250219", 32_000),
        ("claude-3-5-haiku-20241022", 8192),
        ("claude-3-haiku-20240307", 4096),
        ("qwen3", 32_000),
    ],
)
def test_bounds_follow_the_family(name: str, bound: int) -> None:
    assert most_tokens(name) == bound


def test_names_tell_their_vendor() -> None:
    assert [is_claude(name) for name in ("haiku", "claude-x", "gpt-5", "claude")] == [True, True, False, False]
    assert [is_openai(name) for name in ("gpt-5", "o3", "o4-mini", "chatgpt-4o", "olmo", "claude-x")] == [
        True, True, True, True, False, False
    ]  # fmt: skip


def test_other_vendors_models_get_nothing_of_the_vendors_own() -> None:
    assert messages_dialect("claude-x") == ANTHROPIC
    assert ANTHROPIC.features - messages_dialect("qwen3").features == {
        Feature.STRICT,
        Feature.CACHE_MARKS,
        Feature.EFFORT,
    }
    assert completions_dialect(own=True) == OPENAI
    assert OPENAI.features - completions_dialect(own=False).features == {Feature.MAX_COMPLETION_TOKENS}
