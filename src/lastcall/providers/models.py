"""What is known of models by their names: aliases, bounds, which service they are at.

Must not go in here: keys, addresses, opening anything (`providers.choose`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lastcall.wire.anthropic import thinks_adaptively
from lastcall.wire.dialect import ANTHROPIC, OPENAI, Dialect, Feature

ALIASES: Final[Mapping[str, str]] = {
    "haiku": "claude-haiku-4-5-20251001",
    "sonnet": "claude-sonnet-5",
    "opus": "claude-opus-4-8",
    "fable": "claude-fable-5",
}
"""The reference's aliases, as recorded. Environment variables such as `ANTHROPIC_DEFAULT_HAIKU_MODEL` replace them."""

DEFAULT_ALIAS: Final = "sonnet"
REFUSAL_FALLBACK: Final[Mapping[str, str]] = {"claude-fable-5": "claude-opus-4-8"}
"""Models that the reference exchanges for another one after a refusal, as recorded."""
REFUSAL_CATEGORIES: Final = frozenset({"cyber", "bio"})
"""The categories of refusals for which it does."""

_OPENAI_NAME: Final = re.compile(r"(gpt-|chatgpt-|o[1-9](-|$)|codex-)")
_OLD_CLAUDE: Final = re.compile(r"claude-(instant|2|3-(opus|sonnet|haiku))")
_CLAUDE_3: Final = re.compile(r"claude-3-(?!7-)")


def full_name(name: str, env: Mapping[str, str]) -> str:
    """The name behind an alias; any other name as it is."""
    if name not in ALIASES:
        return name
    return env.get(f"ANTHROPIC_DEFAULT_{name.upper()}_MODEL", "") or ALIASES[name]


def is_claude(name: str) -> bool:
    """Whether the name is an alias or a full name of the vendor's own models."""
    return name in ALIASES or name.startswith("claude-")


def is_openai(name: str) -> bool:
    """Whether the name is one of OpenAI's own models."""
    return _OPENAI_NAME.match(name) is not None


def most_tokens(name: str) -> int:
    """The bound on the output that a model at the Messages API is given by default, as recorded."""
    if _OLD_CLAUDE.match(name):
        return 4096
    if _CLAUDE_3.match(name):
        return 8192
    return 64_000 if thinks_adaptively(name) else 32_000


def messages_dialect(name: str) -> Dialect:
    """What a model at the Messages API accepts, to begin with. Other vendors' models get nothing of Anthropic's own."""
    if "claude" in name:
        return ANTHROPIC
    dialect = ANTHROPIC
    for feature in (Feature.STRICT, Feature.CACHE_MARKS, Feature.EFFORT):
        dialect = dialect.without(feature)
    return dialect


def completions_dialect(*, own: bool) -> Dialect:
    """What a model at Chat Completions accepts, to begin with; `own`: at OpenAI itself."""
    return OPENAI if own else OPENAI.without(Feature.MAX_COMPLETION_TOKENS)
