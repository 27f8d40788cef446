"""What deployments accept."""

from lastcall.wire.dialect import ANTHROPIC, LOCAL, OPENAI, SCRIPTED, Feature, StrictRules


def test_a_dialect_is_narrowed_by_one_feature_and_keeps_the_rest() -> None:
    narrowed = OPENAI.without(Feature.STRICT)
    assert OPENAI.has(Feature.STRICT)
    assert narrowed.features == OPENAI.features - {Feature.STRICT}
    assert (narrowed.name, narrowed.strict_rules, narrowed.forced_choice_with_thinking, narrowed.root_combinators) == (
        OPENAI.name,
        OPENAI.strict_rules,
        OPENAI.forced_choice_with_thinking,
        OPENAI.root_combinators,
    )
    assert narrowed.without(Feature.STRICT) == narrowed


def test_the_families_begin_with_what_their_documentation_says() -> None:
    assert not ANTHROPIC.forced_choice_with_thinking
    assert not ANTHROPIC.has(Feature.MAX_COMPLETION_TOKENS)
    assert not LOCAL.has(Feature.NATIVE_FORMAT)
    assert LOCAL.strict_rules is StrictRules.GRAMMAR
    assert SCRIPTED.features == ANTHROPIC.features | {Feature.FREE_NAMES}
