"""The Messages API as a service.

Must not go in here: bodies (`wire.anthropic`), where keys come from (`providers.choose`).
"""

from __future__ import annotations

from typing import Final

from lastcall.providers.addresses import endpoint
from lastcall.providers.service import Service
from lastcall.wire.anthropic import AnthropicEncoder
from lastcall.wire.anthropic_reply import AnthropicDecoder

BASE_URL: Final = "https://api.anthropic.com"
VERSION: Final = "2023-06-01"


def messages_service(base_url: str, *, api_key: str = "", auth_token: str = "", agent: str = "lastcall") -> Service:
    """`POST /v1/messages` at `base_url`, with a key, a bearer token, or both.

    Raises `BadConfig` if `base_url` is no HTTP address.
    """
    headers = {"anthropic-version": VERSION, "user-agent": agent}
    if api_key:
        headers["x-api-key"] = api_key
    if auth_token:
        headers["authorization"] = f"Bearer {auth_token}"
    url = endpoint(base_url or BASE_URL, "/messages", where="ANTHROPIC_BASE_URL")
    return Service(url, headers, AnthropicEncoder, AnthropicDecoder)
