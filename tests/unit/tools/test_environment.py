"""Which variables a command gets."""

from __future__ import annotations

import pytest

from lastcall.tools.environment import command_environment, is_provider_key


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_CUSTOM_HEADERS",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "OPENAI_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "HF_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "openai_api_key",
    ],
)
def test_keys_of_providers_are_taken_out(name):
    assert is_provider_key(name)
    assert name not in command_environment({name: "x"}, idempotency_key="k")


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_MODEL",
        "MY_OPENAI_API_KEY",
    ],
)
def test_everything_else_stays(name):
    assert command_environment({name: "x"}, idempotency_key="k")[name] == "x"


def test_the_idempotency_key_is_the_calls_own():
    found = command_environment({"LASTCALL_IDEMPOTENCY_KEY": "an outer run's"}, idempotency_key="k")
    assert found == {"LASTCALL_IDEMPOTENCY_KEY": "k"}
