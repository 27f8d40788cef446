"""Secrets are known by their forms; a text without one is never changed, whatever it is about."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.wire.secret_shapes import is_secret_name, marked, without_known

# made up, in the forms that the services document; put together here so that no scanner takes them for real ones
FORTY = "Zm9vYmFyYmF6cXV4" * 3
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 4
SECRETS = {
    "provider-key": ["sk-" + "ant-api03-" + FORTY, "sk-" + "proj-" + FORTY, "gsk" + "_" + FORTY, "xai" + "-" + FORTY],
    "github": ["ghp" + "_" + FORTY[:36], "github" + "_pat_" + FORTY],
    "gitlab": ["glpat" + "-" + FORTY[:20]],
    "aws": ["AKIA" + "IOSFODNN7EXAMPLE"],
    "slack": ["xoxb" + "-" + "123456789012-abcdefghijkl", "xapp" + "-1-A0123456789-abcdef"],
    "slack-webhook": ["T00000000/B00000000/" + "XXXXXXXXXXXXXXXXXXXXXXXX"],
    "google": ["AIza" + "SyA-1234567890abcdefghijklmnopqrstu", "ya29" + "." + FORTY],
    "stripe": ["sk" + "_live_" + FORTY[:24]],
    "npm": ["npm" + "_" + FORTY[:36]],
    "jwt": ["eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"],
}
ALL = [(kind, secret) for kind, listed in SECRETS.items() for secret in listed]
FRAMES = ["{}", "the key is {}.", '{{"token": "{}"}}', "a\n{}\nb", "({})", "key={}", "'{}',", "x: {}\t", "/{}/"]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(("kind", "secret"), ALL)
def test_a_secret_of_a_known_form_is_replaced_wherever_it_stands(kind, secret, frame):
    text = (frame if kind != "slack-webhook" else "https://hooks.slack.com/services/{}").format(secret)
    hidden = without_known(text)
    assert secret not in hidden
    assert f"[redacted:{kind}]" in hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abcDEF123456", "Authorization: Bearer [redacted:bearer]"),
        ("authorization: Basic dXNlcjpwYXNzd29yZA==", "authorization: Basic [redacted:bearer]"),
        ("postgres://joe:hunter22@db:5432/x", "postgres://[redacted:url-password]@db:5432/x"),
        ("redis://:hunter22@cache", "redis://[redacted:url-password]@cache"),
        ("DB_PASSWORD=hunter2222", "DB_PASSWORD=[redacted:assignment]"),
        ("export API_KEY='abcd-1234-efgh'\n", "export API_KEY='[redacted:assignment]'\n"),
        ('{"env": "API_TOKEN=abcd1234efgh\\nX=1"}', '{"env": "API_TOKEN=[redacted:assignment]\\nX=1"}'),
        ('{"env": "X=1\\nAPI_TOKEN=\\"abcd1234\\""}', '{"env": "X=1\\nAPI_TOKEN=\\"[redacted:assignment]\\""}'),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENGbPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [redacted:aws]"),
        (
            f"a\n-----BEGIN RSA PRIVATE KEY-----\n{PEM}-----END RSA PRIVATE KEY-----\nb",
            "a\n[redacted:private-key]\nb",
        ),
        (
            json.dumps(f"-----BEGIN PRIVATE KEY-----\n{PEM}-----END PRIVATE KEY-----\n"),
            '"[redacted:private-key]\\n"',
        ),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM}", "[redacted:private-key]"),  # cut off
    ],
)
def test_what_stands_around_a_secret_stays(text, hidden):
    assert without_known(text) == hidden


HARMLESS = [
    "The quick brown fox jumps over the lazy dog.",
    "sk-learn and task-force, risk-averse: ask-me-anything",
    "SECRET_KEY=os.environ.get('SECRET_KEY')",
    "PATH=/usr/local/bin:/usr/bin",
    "API_KEY=$API_KEY",
    "TOKEN=short",
    "MAX_THINKING_TOKENS=10000000",
    "https://example.com:8080/a/b?c=d@e",
    "user@example.com, https://user@example.com/",
    "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
    "the Bearer of bad news; a bearer token",
    "uuid 6ba7b810-9dad-11d1-80b4-00c04fd430c8, sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "eyJ is how a token begins; eyJhbGci.short.",
    "AKIAIOSFODNN7EXAMPLEX and XAKIAIOSFODNN7EXAMPLE",
    "monkey=banana_and_more, KEYBOARD=qwertzuiop",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_secrets_is_never_changed(text):
    assert without_known(text) == text


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_no_ordinary_text_is_changed(text):
    words = "".join(c for c in text if not c.isdigit() and c not in "=:@-_.")
    assert without_known(words) == words


@settings(max_examples=60)
@given(st.sampled_from(ALL), st.text(max_size=60), st.text(max_size=60))
def test_json_stays_json(pair, before, after):
    kind, secret = pair
    secret = f"https://hooks.slack.com/services/{secret}" if kind == "slack-webhook" else secret
    value = {
        "a": f"{before} {secret} {after}",
        "n": f"\n{secret}\t",
        "u": f"\u00e9{secret}\u00e9",
        "PASSWORD": "x",
        "b": [1, None, f"K_KEY={secret}\n"],
    }
    for ascii_only in (True, False):
        hidden = without_known(json.dumps(value, ensure_ascii=ascii_only))
        assert secret not in hidden
        assert set(json.loads(hidden)) == set(value)


HOSTILE = ["eyJ", "eyJa-", "eyJaaaaaaaaa.", "sk-", "A", "AKIA", "://", "://a:", "x=", "KEY_KEY", "A_KEY=", "Bearer ",
           "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----AAAA", "ghp_", "xoxb-", "PRIVATE KEY", "\\n"]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_cost_is_linear_in_the_text_whatever_it_is(piece):
    def took(length):
        text = (piece * (length // len(piece) + 1))[:length]
        began = time.process_time()
        without_known(text)
        return time.process_time() - began

    took(5_000)
    small, large = min(took(10_000) for _ in range(3)), took(80_000)
    assert large < 30 * max(small, 0.001)  # eight times the text; a square would be 64 times the time


@pytest.mark.parametrize("name", ["API_KEY", "github_token", "SECRET", "DB_PASSWORD", "AWS_CREDENTIALS", "KEY"])
def test_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["KEYBOARD", "MAX_TOKENS", "MONKEY", "PATH", "TOKENIZER", "PASSWORD_FILE"])
def test_names_of_no_secrets(name):
    assert not is_secret_name(name)


def test_what_stands_in_the_place_of_a_secret_is_no_secret():
    text = f"{marked('aws')} API_KEY={marked('assignment')}"
    assert without_known(text) == text
