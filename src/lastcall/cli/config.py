"""Flags, files and environment to a `RunConfig`. After this nobody reads either.

Every refusal here comes before anything is sent or spent, and is one sentence that says what, where, and what to do.

Must not go in here: parsing argv (`cli.args`), building providers and tools (`runtime.session`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lastcall.cli.args import Args, bad_value
from lastcall.cli.rules import checks_of, rules_of
from lastcall.cli.settings import read_settings
from lastcall.contract import Contract, compile_contract
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.contract.parse import parse_schema
from lastcall.core.policy import DEFAULT_ATTEMPTS
from lastcall.errors import BadConfig, BadSchema
from lastcall.nouns.profile import Profile, Reference
from lastcall.runtime.config import RunConfig
from lastcall.runtime.opening import recorded_schema
from lastcall.runtime.places import cache_dir, state_dir
from lastcall.tools.mcp_servers import McpServer, read_servers

if TYPE_CHECKING:
    from lastcall.contract.rules import TypeRule
    from lastcall.nouns.schema import OutputSchema

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
_NUMBER = re.compile(r"\s*([+-]?\d+)")
_STDIN_LIMIT = 64 * 1024 * 1024


class Stdin:
    """Standard input, read at most once."""

    def __init__(self) -> None:
        self._text: str | None = None

    @property
    def piped(self) -> bool:
        """Whether something other than a terminal is there."""
        return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()

    def read(self) -> str:
        """All of it as text (UTF-8, a byte order mark left out)."""
        if self._text is None:
            raw = sys.stdin.buffer.read(_STDIN_LIMIT + 1)
            if len(raw) > _STDIN_LIMIT:
                raise BadConfig(
                    f"standard input is longer than {_STDIN_LIMIT >> 20} MiB", hint="Shorten it.", where="stdin"
                )
            self._text = raw.decode("utf-8-sig", "replace")
        return self._text


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
    budget = _budget(args)
    deadline = args.text("deadline")
    thinking = _count(args, "max_thinking_tokens", least=0)
    reference = choose_reference(args, environment)
    cwd = os.getcwd()  # noqa: PTH109 -- pathlib is not needed to start
    settings = read_settings(args, profile, home=environment.get("HOME", ""), cwd=cwd)
    return RunConfig(
        profile=profile,
        reference=reference,
        contract=_contract(args, profile, reference, stdin, environment),
        model=args.text("model") or environment.get("LASTCALL_MODEL"),
        fallback_models=_names(args.text("fallback_model")),
        environment=environment,
        channel=args.text("channel") or "auto",
        max_tokens=_env_count(environment, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", least=1),
        thinking_tokens=thinking,
        effort=args.text("effort"),
        max_retries=_env_count(environment, "CLAUDE_CODE_MAX_RETRIES", least=0),
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
        max_attempts=_attempts(args, environment, profile),
        max_turns=_max_turns(args, profile),
        compacts=not args.on("no_compact"),
        compact_after_turns=_count(args, "compact_after_turns", least=1),
        max_budget_usd=budget,
        budget_words=args.text("max_budget_usd") or "",
        deadline_s=_seconds(deadline) if deadline else None,
        deadline_words=deadline or "",
        partial=args.text("output_format") == "stream-json",
        declines=not args.on("no_decline"),
        salvages=_salvages(args, profile),
        session_id=args.text("session_id"),
        resume=args.text("resume"),
        continue_latest=args.on("continue"),
        resume_at=args.text("resume_session_at"),
        fork=args.on("fork_session"),
        persist=not args.on("no_session_persistence"),
        state_dir=state_dir(environment),
        cache_dir=cache_dir(environment),
        notice=notice,
    )


# -- the contract ---------------------------------------------------------------------------------------------------


def _contract(
    args: Args, profile: Profile, reference: Reference, stdin: Stdin, environment: Mapping[str, str]
) -> Contract | None:
    given = args.text("json_schema")
    expressions, commands = args.words("rule") or (), args.words("check") or ()
    if given is None or (not given and profile is Profile.COMPAT):
        if expressions or commands:
            flag = "--rule" if expressions else "--check"
            raise BadConfig("there is no object to judge", hint="Add --json-schema.", where=flag)
        return None
    schema, rule = schema_of(given, profile, stdin)
    return compile_contract(
        schema,
        profile=profile,
        assert_formats=not args.on("no_format"),
        strict_values=args.on("strict_values"),
        reference=reference,
        rules=(*(() if rule is None else (rule,)), *rules_of(expressions, schema, profile)),
        checks=checks_of(
            commands,
            profile,
            cwd=os.getcwd(),  # noqa: PTH109
            environment=environment,
            timeout_s=_seconds(args.text("check_timeout") or "60s", "check_timeout"),
        ),
        loader=None if rule is None else rule.load,
    )


def schema_of(given: str, profile: Profile, stdin: Stdin) -> tuple[OutputSchema, TypeRule | None]:
    """What `--json-schema` means: text, `@file`, `-`, or `module:Type` (its validators as a rule)."""
    if profile is Profile.COMPAT:
        return parse_schema(given, profile=profile), None
    if given == "-":
        return parse_schema(stdin.read(), profile=profile, where="stdin"), None
    if given.startswith("@"):
        return _schema_file(given[1:], profile), None
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", given):
        from lastcall.contract.from_types import rule_of  # noqa: PLC0415 -- optional: Pydantic

        if "" not in sys.path and os.getcwd() not in sys.path:  # noqa: PTH109
            sys.path.insert(0, os.getcwd())  # noqa: PTH109 -- as `python -m` finds the caller's modules
        return rule_of(given)
    if os.path.isfile(given):  # noqa: PTH113
        raise BadSchema("this is the name of a file, not a schema", hint=f"Write @{given}.", where="--json-schema")
    return parse_schema(given, profile=profile, where="--json-schema"), None


def _schema_file(path: str, profile: Profile) -> OutputSchema:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            raw = file.read(8 * 1024 * 1024)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the schema file cannot be read: {why}", hint="Check the path.", where=path) from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadSchema("the schema file is UTF-16", hint="Save it as UTF-8.", where=path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSchema(
            f"the schema file is not UTF-8 (byte {error.start})", hint="Save it as UTF-8.", where=path
        ) from None
    if path.endswith((".yaml", ".yml")):
        return _schema_yaml(text, path, profile)
    return parse_schema(text, profile=profile, where=path)


def _schema_yaml(text: str, path: str, profile: Profile) -> OutputSchema:
    from lastcall.cli.yaml_schema import read_yaml  # noqa: PLC0415 -- optional: PyYAML

    return read_yaml(text, path, profile)


# -- limits ---------------------------------------------------------------------------------------------------------


def _attempts(args: Args, environment: Mapping[str, str], profile: Profile) -> int:
    given = args.text("max_attempts")
    if given is not None:
        return _count(args, "max_attempts", least=1) or DEFAULT_ATTEMPTS
    word = environment.get("MAX_STRUCTURED_OUTPUT_RETRIES", "")
    match = _NUMBER.match(word)  # as JavaScript's parseInt reads it
    if match is None:
        return DEFAULT_ATTEMPTS
    number = int(match.group(1))
    if profile is Profile.NATIVE and number < 1:
        raise BadConfig(
            f"{word!r} is no number of attempts", hint="Use 1 or more.", where="MAX_STRUCTURED_OUTPUT_RETRIES"
        )
    return number


def _max_turns(args: Args, profile: Profile) -> int | None:
    given = args.text("max_turns")
    if given is None:
        return None
    try:
        turns = int(given)
    except ValueError:
        raise bad_value("max_turns", given, "must be a number") from None
    if turns < 1 and profile is Profile.NATIVE:
        raise bad_value("max_turns", given, "must be 1 or more")
    return turns


def _budget(args: Args) -> Decimal | None:
    given = args.text("max_budget_usd")
    if given is None:
        return None
    try:
        amount = Decimal(given)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0:
        raise bad_value("max_budget_usd", given, "--max-budget-usd must be a positive number greater than 0")
    return amount


def _salvages(args: Args, profile: Profile) -> bool:
    if not args.on("salvage"):
        return False
    if profile is Profile.COMPAT:
        raise BadConfig("the reference salvages nothing", hint="Use --profile native.", where="--salvage")
    if args.words("check"):
        hint = "Leave one of them away."
        raise BadConfig("an object found in prose cannot be held for --check", hint=hint, where="--salvage")
    return True


def _seconds(given: str, key: str = "deadline") -> float:
    match = _TIME.fullmatch(given.strip())
    seconds = float(match.group(1)) * _UNITS[match.group(2)] if match else 0.0
    if seconds <= 0:
        raise bad_value(key, given, "must be a time such as 90s, 5m or 1h")
    return seconds


def _count(args: Args, key: str, *, least: int) -> int | None:
    given = args.text(key)
    if given is None:
        return None
    if not re.fullmatch(r"\d{1,9}", given) or int(given) < least:
        raise bad_value(key, given, f"must be a whole number, {least} or more")
    return int(given)


def _env_count(environment: Mapping[str, str], name: str, *, least: int) -> int | None:
    word = environment.get(name, "")
    return int(word) if re.fullmatch(r"\d{1,9}", word) and int(word) >= least else None


# -- the rest -------------------------------------------------------------------------------------------------------


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


def client_servers(configs: Iterable[str]) -> tuple[str, ...]:
    """The MCP servers of `--mcp-config` that live in the client's process (`"type": "sdk"`), by name."""
    names: list[str] = []
    for text in configs:
        read = read_json(text, numbers="exact", max_depth=100, max_bytes=1 << 24)
        value = None if isinstance(read, JsonFault) else read.value
        listed = value.get("mcpServers") if isinstance(value, dict) else None
        entries = listed.items() if isinstance(listed, dict) else ()
        names += [name for name, entry in entries if isinstance(entry, dict) and entry.get("type") == "sdk"]
    return tuple(dict.fromkeys(names))


def own_servers(configs: Iterable[str], environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The MCP servers of `--mcp-config` that the session starts: JSON text or files; a later name replaces an earlier one.

    Raises `BadConfig`.
    """
    found: dict[str, McpServer] = {}
    for given in configs:
        where = "--mcp-config"
        text = given
        if not given.lstrip().startswith("{"):
            text, where = _text_file(given, "the MCP configuration"), given
        read = read_json(text, numbers="exact", max_depth=100, max_bytes=1 << 24)
        if isinstance(read, JsonFault):
            raise BadConfig(f"this is no JSON: {read.message}", hint="Correct it.", where=where)
        found |= {server.name: server for server in read_servers(read.value, environment, where=where)}
    return tuple(found.values())


def _text_file(path: str, what: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123
            return file.read(1 << 24)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"{what} cannot be read: {why}", hint="Check the path.", where=path) from error
    except UnicodeDecodeError:
        raise BadConfig(f"{what} is not UTF-8", hint="Save it as UTF-8.", where=path) from None


def goes_on(args: Args, profile: Profile, stdin: Stdin) -> bool:
    """Whether the last run of a session is meant to be continued: it is named, and there is no prompt."""
    named = args.text("resume") is not None or args.on("continue")
    if profile is Profile.COMPAT or not named or args.text("input_format") == "stream-json":
        return False
    from_stdin = stdin.piped and args.text("json_schema") != "-"
    return not (args.prompt or "").strip() and not (from_stdin and stdin.read().strip())


def continued(config: RunConfig, args: Args) -> RunConfig:
    """The configuration for continuing a run, under the contract that it was begun with unless another one is given.

    Raises `UsageError`, `JournalError`.
    """
    config = replace(config, unfinished=True)
    text = recorded_schema(config) if config.contract is None else ""
    if not text:
        return config
    contract = compile_contract(
        parse_schema(text, profile=config.profile),
        profile=config.profile,
        assert_formats=not args.on("no_format"),
        strict_values=args.on("strict_values"),
    )
    return replace(config, contract=contract)


def prompt_of(args: Args, stdin: Stdin) -> str:
    """The prompt: the argument, standard input, or the one and then the other, as recorded.

    Raises `BadConfig` when there is neither.
    """
    schema_from_stdin = args.text("json_schema") == "-"
    piped = stdin.read() if stdin.piped and not schema_from_stdin else ""
    prompt = args.prompt or ""
    if not prompt.strip() and not piped.strip():
        raise BadConfig("Input must be provided either through stdin or as a prompt argument when using --print")
    return "\n".join(part for part in (prompt, piped) if part)
