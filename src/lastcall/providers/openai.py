"""Chat Completions as a service: OpenAI's own, and every server that speaks the same.

Must not go in here: bodies (`wire.openai`), where keys come from (`providers.choose`).
"""

from __future__ import annotations

from typing import Final

from lastcall.providers.addresses import endpoint
from lastcall.providers.service import Service
from lastcall.wire.openai import OpenAIEncoder
from lastcall.wire.openai_reply import OpenAIDecoder

BASE_URL: Final = "https://api.openai.com/v1"


def completions_service(base_url: str, *, api_key: str = "", agent: str = "lastcall") -> Service:
    """`POST /chat/completions` at `base_url`, with a bearer key if there is one (servers at home need none).

    A base address without a path gets `/v1`. Raises `BadConfig` if it is no HTTP address.
    """
    headers = {"user-agent": agent}
    if api_key:
        headers["authorization"] = f"Bearer {api_key}"
    base = base_url or BASE_URL
    version = "/v1" if base.split("?")[0].rstrip("/").count("/") <= 2 else ""  # scheme://host has two
    url = endpoint(base, "/chat/completions", version=version, where="OPENAI_BASE_URL")
    return Service(url, headers, OpenAIEncoder, OpenAIDecoder)
