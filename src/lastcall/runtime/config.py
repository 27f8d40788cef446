"""Everything a run can be told, as one value. Nothing reads files or the environment after it is made.

Must not go in here: reading anything (`cli.config` makes one from flags, files and environment).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from msgspec import Struct

from lastcall.contract import Contract
from lastcall.core.policy import DEFAULT_REPEATS
from lastcall.nouns.profile import Profile, Reference
from lastcall.tools.mcp_servers import McpServer
from lastcall.wire.hooks import HookRule


class RunConfig(Struct, frozen=True, kw_only=True):
    """How runs of a session are made.

    `model` and `fallback_models` are as the caller writes them; `environment` is what providers may look at (keys,
    addresses). `tools` is the value of `--tools` (`None`: the default set). `budget_words` and `deadline_words` are
    the limits as the caller wrote them; `max_repeats` replies in a row may only repeat what was done before (`None`: any
    number). `partial`: pieces of blocks are wanted. `notice` tells people something (a download, a licence); it must not
    raise.
    """

    profile: Profile = Profile.NATIVE
    reference: Reference = Reference.RECORDED
    contract: Contract | None = None
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    channel: str = "auto"
    max_tokens: int | None = None
    thinking_tokens: int | None = None
    effort: str | None = None
    max_retries: int | None = None
    partial: bool = True
    system_prompt: str = ""
    cwd: str = "."
    add_dirs: tuple[str, ...] = ()
    tools: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    permission_mode: str = "default"
    sandbox: bool = False
    """Whether commands run under bubblewrap."""
    max_attempts: int = 5
    max_turns: int | None = None
    compacts: bool = True
    compact_after_turns: int | None = None
    max_repeats: int | None = DEFAULT_REPEATS
    max_budget_usd: Decimal | None = None
    max_budget_tokens: int | None = None
    budget_words: str = ""
    deadline_s: float | None = None
    deadline_words: str = ""
    declines: bool = True
    salvages: bool = False
    revises: bool = True
    """Whether a large rejected draft may be corrected by a patch instead of being written again."""
    hook_rules: tuple[HookRule, ...] = ()
    hook_events: bool = False
    client_servers: tuple[str, ...] = ()
    """MCP servers that live in the client's process, by name."""
    mcp_servers: tuple[McpServer, ...] = ()
    """MCP servers of their own, which the session starts."""
    client_asks: bool = False
    """Whether the client that drives the session decides what the permission rules leave open."""
    session_id: str | None = None
    resume: str | None = None
    continue_latest: bool = False
    resume_at: str | None = None
    """The message (its id, or the uuid of its frame) after which the history to go on with ends."""
    unfinished: bool = False
    """Whether the session's last run is continued, instead of being closed before the next prompt."""
    fork: bool = False
    persist: bool = True
    redact: tuple[str, ...] | None = None
    """Patterns of what is kept out of everything but the object, beside secrets of known forms; `None`: only the keys of
    providers are."""
    state_dir: str = ""
    cache_dir: str = ""
    notice: Callable[[str], None] | None = None
