"""The environment of a run's commands: the caller's, without the keys of model providers.

A command that a model wrote has no business with the key that pays for the model. What the caller's own programs need
(cloud credentials, tokens of a code forge) stays: without it they could not be used at all.

Must not go in here: running anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_VENDORS = (
    "ANTHROPIC|CLAUDE|OPENAI|AZURE_OPENAI|AZURE_AI|GEMINI|GOOGLE_GENAI|GOOGLE_AI|MISTRAL|GROQ|TOGETHER|OPENROUTER|DEEPSEEK|"
    "XAI|COHERE|FIREWORKS|PERPLEXITY|CEREBRAS|NVIDIA|HUGGINGFACE|HF|OLLAMA|VLLM|LITELLM|LASTCALL"
)
_SECRETS = "KEY|KEYS|TOKEN|SECRET|CREDENTIALS|CUSTOM_HEADERS|PASSWORD"
_KEY = re.compile(rf"(?:{_VENDORS})_(?:.*_)?(?:{_SECRETS})|AWS_BEARER_TOKEN_BEDROCK")
IDEMPOTENCY_KEY = "LASTCALL_IDEMPOTENCY_KEY"
"""Tells a command which call it belongs to; the same when the call is run again after a crash."""


def is_provider_key(name: str) -> bool:
    """Whether a variable of this name holds a model provider's secret."""
    return name != IDEMPOTENCY_KEY and _KEY.fullmatch(name.upper()) is not None


def command_environment(environment: Mapping[str, str], *, idempotency_key: str) -> dict[str, str]:
    """What a command of the run gets."""
    kept = {name: value for name, value in environment.items() if not is_provider_key(name)}
    return {**kept, IDEMPOTENCY_KEY: idempotency_key}
