"""What the operator decides, as one value.

Must not go in here: reading flags and the environment (`cli.serve`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from lastcall.runtime.config import RunConfig

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class ServerSettings(Struct, frozen=True, kw_only=True):
    """How a server serves. Times are seconds, sizes bytes.

    `base` is what holds for every run; a request may narrow its limits and never widen them. `models` are the names that
    requests may use and the model that each stands for; `tools` the built-in tools that requests may ask for. `rules`:
    requests may bring CEL rules. `concurrency`, `per_minute` and `schema_bytes` hold for whoever has no limit of their
    own; `places` runs go on at a time, `queue` wait. `insecure`: nobody needs a token, whatever the address.
    """

    base: RunConfig
    storage: str
    host: str = "127.0.0.1"
    port: int = 8787
    insecure: bool = False
    allowed_hosts: tuple[str, ...] = ()
    models: Mapping[str, str] = {}
    tools: tuple[str, ...] = ()
    rules: bool = False
    places: int = 1000
    queue: int = 1000
    concurrency: int | None = None
    per_minute: int | None = None
    schema_bytes: int = 256 * 1024
    body_bytes: int = 4 * 1024 * 1024
    patience_s: float = 30.0
    """How long a client may take to send a request, or to take a piece of an answer."""
    hold_s: float = 10.0
    """How long a vendor's stream is held back, so that a run that fails by then fails with its own status."""
    drain_s: float = 30.0
    lease_s: float = 15.0
    keep_s: float = 30 * 86_400.0
    connections: int = 4000

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK or self.host.startswith("127.")
