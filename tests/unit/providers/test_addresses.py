"""Addresses of services."""

import pytest

from lastcall.errors import BadConfig
from lastcall.providers.addresses import endpoint, shown_address


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://host/", "https://host/v1/messages"),
        ("https://host/v1", "https://host/v1/messages"),
        ("https://host/v1/", "https://host/v1/messages"),
        ("https://host/proxy/anthropic", "https://host/proxy/anthropic/v1/messages"),
        ("http://127.0.0.1:8080/v1?key=x", "http://127.0.0.1:8080/v1/messages?key=x"),
        ("http://u:p@[::1]:80", "http://u:p@[::1]:80/v1/messages"),
    ],
)
def test_a_base_address_may_name_the_version_or_not(base: str, expected: str) -> None:
    assert endpoint(base, "/messages") == expected


@pytest.mark.parametrize(
    "base", ["host", "ftp://host", "https://", "http://host:99999", "http://[::1", "/v1", "http://host:0"]
)
def test_what_is_no_address_is_refused_by_name(base: str) -> None:
    with pytest.raises(BadConfig, match=r"X_URL: the base URL is no http or https address"):
        endpoint(base, "/messages", where="X_URL")


def test_addresses_are_shown_without_anything_secret() -> None:
    assert shown_address("https://u:p@host:8080/v1?key=x#f") == "https://host:8080/v1"
    assert shown_address("https://u:p@[::1]:80/v1") == "https://[::1]:80/v1"
