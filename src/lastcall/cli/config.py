"""Flags, files and environment to a `RunConfig`. After this nobody reads either.

Every refusal here comes before anything is sent or spent, and is one sentence that says what, where, and what to do.

Must not go in here: parsing argv (`cli.args`), building providers and tools (`runtime.session`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lastcall.cli import limits
from lastcall.cli.args import Args
from lastcall.cli.here import working_directory
from lastcall.cli.schemas import contract_of
from lastcall.cli.servers import client_servers, own_servers
from lastcall.cli.settings import read_settings
from lastcall.cli.stdin import Stdin
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile, Reference
from lastcall.runtime.config import RunConfig
from lastcall.runtime.places import cache_dir, state_dir


def choose_profile(args: Args, environment: Mapping[str, str]) -> Profile:
    """`--profile`, else `LASTCALL_PROFILE`, else native."""
    return _profile(args, environment)[0]


def choose_reference(args: Args, environment: Mapping[str, str]) -> Reference:
    """The version of the reference whose words compat uses: `compat-2.1.332`, else the recorded one."""
    return _profile(args, environment)[1]


def _profile(args: Args, environment: Mapping[str, str]) -> tuple[Profile, Reference]:
    word = args.text("profile") or environment.get("LASTCALL_PROFILE") or "native"
    name, version = word, Reference.RECORDED.value
    if word.startswith(f"{Profile.COMPAT}-"):
        name, version = Profile.COMPAT.value, word.removeprefix(f"{Profile.COMPAT}-")
    try:
        return Profile(name), Reference(version)
    except ValueError:
        raise BadConfig(
            f"there is no profile {word!r}", hint="Use native, compat or compat-2.1.332.", where="LASTCALL_PROFILE"
        ) from None


def resolve(
    args: Args, environment: Mapping[str, str], profile: Profile, stdin: Stdin, notice: Callable[[str], None]
) -> RunConfig:
    """The configuration of the run. Raises `UsageError`."""
    budget = limits.budget(args)
    deadline = args.text("deadline")
    thinking = limits.count(args, "max_thinking_tokens", least=0)
    redact = args.words("redact")
    reference = choose_reference(args, environment)
    cwd = working_directory()
    settings = read_settings(args, profile, home=environment.get("HOME", ""), cwd=cwd)
    return RunConfig(
        profile=profile,
        reference=reference,
        contract=contract_of(args, profile, reference, stdin, environment),
        model=args.text("model") or environment.get("LASTCALL_MODEL"),
        fallback_models=_names(args.text("fallback_model")),
        environment=environment,
        channel=args.text("channel") or "auto",
        max_tokens=limits.env_count(environment, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", least=1),
        thinking_tokens=thinking,
        effort=args.text("effort"),
        max_retries=limits.env_count(environment, "CLAUDE_CODE_MAX_RETRIES", least=0),
        system_prompt=_system_prompt(args),
        cwd=cwd,
        add_dirs=tuple(args.words("add_dir") or ()),
        tools=_tools(args),
        allowed_tools=(*settings.allow, *(args.words("allowedTools") or ())),
        disallowed_tools=(*settings.deny, *(args.words("disallowedTools") or ())),
        permission_mode=_permission_mode(args) or settings.mode or "default",
        sandbox=args.on("sandbox"),
        hook_rules=settings.rules,
        hook_events=args.on("include_hook_events"),
        client_servers=client_servers(args.words("mcp_config") or ()),
        mcp_servers=own_servers(args.words("mcp_config") or (), environment),
        client_asks=args.text("permission_prompt_tool") == "stdio",
        max_attempts=limits.attempts(args, environment, profile),
        max_turns=limits.max_turns(args, profile),
        compacts=not args.on("no_compact"),
        compact_after_turns=limits.count(args, "compact_after_turns", least=1),
        max_budget_usd=budget,
        budget_words=args.text("max_budget_usd") or "",
        max_budget_tokens=limits.count(args, "max_budget_tokens", least=1),
        max_repeats=limits.max_repeats(args),
        deadline_s=limits.seconds(deadline) if deadline else None,
        deadline_words=deadline or "",
        partial=args.text("output_format") == "stream-json",
        declines=not args.on("no_decline"),
        salvages=limits.salvages(args, profile),
        session_id=args.text("session_id"),
        resume=args.text("resume"),
        continue_latest=args.on("continue"),
        resume_at=args.text("resume_session_at"),
        fork=args.on("fork_session"),
        persist=not args.on("no_session_persistence"),
        redact=None if redact is None else tuple(redact),
        state_dir=state_dir(environment),
        cache_dir=cache_dir(environment),
        notice=notice,
    )


def _system_prompt(args: Args) -> str:
    parts = (args.text("system_prompt"), args.text("append_system_prompt"))
    return "\n\n".join(part for part in parts if part)


def _names(value: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (value or "").split(",") if name.strip())


def _tools(args: Args) -> str | None:
    words = args.words("tools")
    return None if words is None else ",".join(words)


def _permission_mode(args: Args) -> str | None:
    if args.on("dangerously_skip_permissions"):
        return "bypassPermissions"
    return args.text("permission_mode")
