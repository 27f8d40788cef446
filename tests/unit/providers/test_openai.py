"""Chat Completions as a service."""

import pytest

from lastcall.providers.openai import completions_service


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("", "https://api.openai.com/v1/chat/completions"),
        ("http://localhost:8080", "http://localhost:8080/v1/chat/completions"),
        ("http://localhost:8080/?k=v", "http://localhost:8080/v1/chat/completions?k=v"),
        ("http://localhost:8080/v1", "http://localhost:8080/v1/chat/completions"),
        ("https://host/api/openai", "https://host/api/openai/chat/completions"),
    ],
)
def test_chat_completions_are_below_the_base_or_below_v1_of_a_bare_host(base: str, expected: str) -> None:
    assert completions_service(base).url == expected


def test_a_key_goes_into_a_header_only_where_there_is_one() -> None:
    assert dict(completions_service("").headers) == {"user-agent": "lastcall"}
    assert completions_service("", api_key="k").headers["authorization"] == "Bearer k"
