"""Credentials are nowhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.nouns.result import Failed, FailureKind
from lastcall.providers.redaction import REDACTED, Redactor, secrets_of


def test_what_a_transport_was_given_is_found_in_any_text() -> None:
    url = "https://user:pass%2Fword@host/v1?key=K-1234&empty="
    headers = {"X-Api-Key": "hdr-secret", "authorization": "Bearer tok-secret", "user-agent": "lastcall"}
    redact = Redactor(secrets_of(url, headers))
    text = "user pass/word pass%2Fword K-1234 hdr-secret Bearer tok-secret tok-secret lastcall"
    assert redact(text) == " ".join([REDACTED] * 7 + ["lastcall"])


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
        "sk-proj-ABCDEFGHIJKLMNOP1234",
        "gsk_abcdefghijklmnopqrstuvwxyz",
        "AIzaSyA1234567890123456789012345678901",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    ],
)
def test_what_has_the_shape_of_a_key_is_found_though_nobody_gave_it(secret: str) -> None:
    assert Redactor()(f"you sent '{secret}', which is wrong") == f"you sent '{REDACTED}', which is wrong"


def test_bearer_tokens_and_passwords_in_addresses_are_found() -> None:
    assert Redactor()("Authorization: Bearer abcdefgh12345") == f"Authorization: Bearer {REDACTED}"
    assert Redactor()("http://joe:hunter2@host/x") == f"http://{REDACTED}@host/x"


def test_ordinary_words_stay() -> None:
    text = "task-force at https://host:8080/v1 said: max_tokens must be < 8192 (see sk-1)"
    assert Redactor(("", "a", "on"))(text) == text


def test_failures_are_redacted_in_all_their_words() -> None:
    failure = Failed(FailureKind.SERVER, "key SECRET", 500, "SECRET_error")
    assert Redactor(("SECRET",)).failure(failure) == Failed(
        FailureKind.SERVER, f"key {REDACTED}", 500, f"{REDACTED}_error"
    )


@given(st.text(min_size=4), st.text(), st.text())
def test_no_given_secret_survives_whatever_it_is_made_of(secret: str, before: str, after: str) -> None:
    assert secret not in Redactor((secret,))(before + secret + after).replace(REDACTED, "")
