"""The Messages API as a service."""

from lastcall.providers.anthropic import messages_service


def test_the_services_own_address_is_the_default() -> None:
    assert messages_service("").url == "https://api.anthropic.com/v1/messages"


def test_credentials_go_into_headers_only_where_there_are_any() -> None:
    assert dict(messages_service("", agent="x/1").headers) == {"anthropic-version": "2023-06-01", "user-agent": "x/1"}
    both = messages_service("", api_key="k", auth_token="t").headers
    assert (both["x-api-key"], both["authorization"]) == ("k", "Bearer t")
