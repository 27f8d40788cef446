"""The reference's sentences for people: expected values are the recorded ones."""

from __future__ import annotations

import pytest

from lastcall.nouns.result import Failed, FailureKind
from lastcall.wire.reference_words import (
    MODEL_COMMAND,
    error_word,
    failure_text,
    fallback_words,
    model_set_words,
    model_title,
    retry_word,
)

K = FailureKind
HAIKU, OPUS, FABLE = "claude-haiku-4-5-20251001", "claude-opus-4-8", "claude-fable-5"


def said(failure, model=HAIKU):
    return failure_text(failure, model=model, host="127.0.0.1:1", max_tokens=32_000)


def test_a_models_title_is_its_name_for_people():
    assert [model_title(m) for m in (HAIKU, OPUS, FABLE)] == ["Haiku 4.5", "Opus 4.8", "Fable 5"]


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (
            Failed(K.OUTPUT_LIMIT, "x"),
            (
                "API Error: Claude's response exceeded the 32000 output token maximum. To configure this behavior, set the "
                "CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
            ),
        ),
        (Failed(K.BILLING, "x", 400), "Credit balance is too low"),
        (Failed(K.AUTHENTICATION, "invalid x-api-key", 401), "Invalid API key \u00b7 Fix external API key"),
        (Failed(K.AUTHENTICATION, "no", 403), "Failed to authenticate. API Error: 403 no"),
        (
            Failed(K.NOT_FOUND, "model: x", 404),
            (
                f"There's an issue with the selected model ({HAIKU}). It may not exist or you may not have access to it. Run "
                "--model to pick a different model."
            ),
        ),
        (Failed(K.RATE_LIMIT, "slow down", 429), "API Error: Request rejected (429) \u00b7 slow down"),
        (Failed(K.TOO_LONG, "too long", 400), "Prompt is too long \u00b7 too long"),
        (Failed(K.BAD_REQUEST, "bad", 400), "API Error: 400 bad"),
        (
            Failed(K.OVERLOADED, "Overloaded", 529),
            (
                "API Error: 529 Overloaded. This is a server-side issue, usually temporary \u2014 try again in a moment. If it "
                "persists, check your inference gateway (127.0.0.1:1)."
            ),
        ),
        (
            Failed(K.SERVER, "the service answered 500 with text/html: <html>oops</html>", 500),
            (
                "API Error: 500 <html>oops</html>. This is a server-side issue, usually temporary \u2014 try again in a moment. "
                "If it persists, check your inference gateway (127.0.0.1:1)."
            ),
        ),
        (
            Failed(K.BROKEN_STREAM, "cut"),
            "API Error: Server error mid-response. The response above may be incomplete.",
        ),
        (
            Failed(K.OVERLOADED, "Overloaded", mid_reply=True),
            "API Error: Server error mid-response. The response above may be incomplete.",
        ),
        (
            Failed(K.NETWORK, "refused"),
            "API Error: Connection refused \u2014 a firewall or proxy may be blocking it (ConnectionRefused)",
        ),
        (Failed(K.TIMEOUT, "slow"), "API Error: slow"),
    ],
)
def test_each_failure_has_its_sentence(failure, words):
    assert said(failure) == words


def test_a_refusal_is_worded_by_its_category_and_family():
    plain = said(Failed(K.REFUSAL, "x", mid_reply=True))
    assert plain == (
        "API Error: Haiku 4.5 can't help with this. Start a new session to continue.\n\nLearn more: "
        "https://www.anthropic.com/legal/aup"
    )
    cyber = said(Failed(K.REFUSAL, "x", provider_kind="cyber"), OPUS)
    assert cyber.startswith("API Error: Opus 4.8's safeguards flagged this message. Our intentionally broad safeguards")
    assert cyber.endswith("\n\nDetails: `[cyber]`")
    other = said(Failed(K.REFUSAL, "x", provider_kind="bio"))
    assert "Claude Code can't respond to this message with Haiku 4.5." in other
    assert other.endswith("\n\nDetails: `[bio]`")
    guarded = said(Failed(K.REFUSAL, "x"), FABLE)
    assert "Fable 5's safeguards flagged this message (https://www.anthropic.com/legal/aup)" in guarded
    assert "Details" not in guarded


@pytest.mark.parametrize(
    ("failure", "word", "retry"),
    [
        (Failed(K.OVERLOADED, "x", 529), "server_error", "overloaded"),
        (Failed(K.SERVER, "x", 500), "server_error", "server_error"),
        (Failed(K.RATE_LIMIT, "x", 429), "rate_limit", "rate_limit"),
        (Failed(K.AUTHENTICATION, "x", 401), "authentication_failed", "authentication_failed"),
        (Failed(K.BILLING, "x", 400), "billing_error", "billing_error"),
        (Failed(K.NETWORK, "x"), "server_error", "unknown"),
        (Failed(K.REFUSAL, "x"), "invalid_request", "unknown"),
        (Failed(K.BAD_REQUEST, "x", 400), "unknown", "unknown"),
    ],
)
def test_each_failure_has_its_words_in_frames(failure, word, retry):
    assert (error_word(failure), retry_word(failure)) == (word, retry)


def test_a_change_of_model_is_told_with_its_reason():
    assert fallback_words("overloaded", HAIKU, OPUS, "") == "Switched to Opus 4.8 due to high demand for Haiku 4.5"
    assert (
        fallback_words("model_not_found", HAIKU, OPUS, "") == "Switched to Opus 4.8 because Haiku 4.5 is not available"
    )
    refused = fallback_words("refusal", FABLE, OPUS, "cyber")
    assert refused.startswith("Fable 5's safeguards flagged this message.")
    assert refused.endswith("\n\nDetails: `[cyber]`")
    assert "Details" not in fallback_words("refusal", FABLE, OPUS, "")


def test_a_change_of_model_by_the_client_is_told_in_two_texts():
    assert MODEL_COMMAND.format(name="sonnet") == (
        "<command-name>/model</command-name>\n            <command-message>model</command-message>\n            "
        "<command-args>sonnet</command-args>"
    )
    assert model_set_words("sonnet", "claude-sonnet-5") == (
        "<local-command-stdout>Set model to sonnet (claude-sonnet-5)</local-command-stdout>"
    )
