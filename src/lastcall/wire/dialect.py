"""What a deployment accepts, as a value.

Adapters ask the dialect, never the provider's name. A dialect begins as the table of its family and is narrowed by what
the deployment refused (`providers.capability`).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Feature(StrEnum):
    """A feature of a request that a deployment may refuse, and that the request can do without."""

    TOOLS = "tools"
    STRICT = "strict"
    FORCED_CHOICE = "forced_choice"
    FORCED_ANY = "forced_any"
    NATIVE_FORMAT = "native_format"
    THINKING = "thinking"
    STREAM = "stream"
    STREAM_USAGE = "stream_usage"
    PARALLEL_SWITCH = "parallel_switch"
    SYSTEM_ROLE = "system_role"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    CACHE_MARKS = "cache_marks"
    EFFORT = "effort"
    FREE_NAMES = "free_names"
    """Property names of any characters in the schemas of tools."""


class StrictRules(StrEnum):
    """Whose rules the strict wire schema has to meet."""

    NONE = "none"
    REFERENCE = "reference"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GRAMMAR = "grammar"


class Dialect(Struct, frozen=True):
    """What one deployment accepts.

    `forced_choice_with_thinking` says whether a forced choice may go with extended thinking (the Messages API refuses
    it). `root_combinators` says whether `anyOf`, `oneOf`, `allOf` may stand at the root of a tool's schema.
    """

    name: str
    features: frozenset[Feature]
    strict_rules: StrictRules = StrictRules.NONE
    forced_choice_with_thinking: bool = False
    root_combinators: bool = False
    summaries: bool = True
    """Whether it is worth asking this deployment to sum up what a long run leaves out."""

    def has(self, feature: Feature) -> bool:
        """Whether the deployment takes this feature, as far as is known."""
        return feature in self.features

    def without(self, feature: Feature) -> Dialect:
        """The same deployment after it refused `feature`."""
        return Dialect(
            self.name,
            self.features - {feature},
            self.strict_rules,
            self.forced_choice_with_thinking,
            self.root_combinators,
            self.summaries,
        )


ANTHROPIC = Dialect(
    "anthropic",
    frozenset(
        {
            Feature.TOOLS,
            Feature.STRICT,
            Feature.FORCED_CHOICE,
            Feature.FORCED_ANY,
            Feature.NATIVE_FORMAT,
            Feature.THINKING,
            Feature.STREAM,
            Feature.STREAM_USAGE,
            Feature.PARALLEL_SWITCH,
            Feature.SYSTEM_ROLE,
            Feature.CACHE_MARKS,
            Feature.EFFORT,
        }
    ),
    StrictRules.ANTHROPIC,
)

OPENAI = Dialect(
    "openai",
    frozenset(
        {
            Feature.TOOLS,
            Feature.STRICT,
            Feature.FORCED_CHOICE,
            Feature.FORCED_ANY,
            Feature.NATIVE_FORMAT,
            Feature.STREAM,
            Feature.STREAM_USAGE,
            Feature.PARALLEL_SWITCH,
            Feature.SYSTEM_ROLE,
            Feature.FREE_NAMES,
            Feature.MAX_COMPLETION_TOKENS,
        }
    ),
    StrictRules.OPENAI,
    forced_choice_with_thinking=True,
)

LOCAL = Dialect(
    "local",
    frozenset(
        {
            Feature.TOOLS,
            Feature.FORCED_CHOICE,
            Feature.FORCED_ANY,
            Feature.STREAM,
            Feature.SYSTEM_ROLE,
            Feature.FREE_NAMES,
        }
    ),
    StrictRules.GRAMMAR,
    root_combinators=True,
    summaries=False,  # reading the record again would take minutes
)

SCRIPTED = Dialect(
    "scripted",
    ANTHROPIC.features | {Feature.FREE_NAMES},
    StrictRules.REFERENCE,
    summaries=False,  # unless there is a script for them
)
