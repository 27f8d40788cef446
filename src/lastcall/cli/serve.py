"""`lastcall serve`: lastcall over HTTP; and `lastcall serve token`: who may ask it.

Flags of `lastcall -p` that hold for every run may follow; requests can narrow their limits, never widen them.

Must not go in here: answers, runs, databases (`server`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import anyio
import click
from msgspec.structs import replace

from lastcall.cli.args import parse
from lastcall.cli.config import choose_profile, resolve
from lastcall.cli.say import say
from lastcall.cli.stdin import Stdin
from lastcall.cli.streams import say as tell
from lastcall.errors import BadConfig, MissingExtra
from lastcall.nouns.profile import Profile
from lastcall.runtime.config import RunConfig
from lastcall.runtime.loops import loop_options
from lastcall.runtime.places import state_dir

_STORAGE_VARIABLE: Final = "LASTCALL_STORAGE"
_OF_ONE_RUN: Final = (
    "resume", "continue", "session_id", "fork_session", "resume_session_at", "no_session_persistence", "input_format",
    "output_format", "report", "json_schema", "rule", "check", "explain", "strict_values", "no_format", "salvage",
    "channel", "verbose", "include_partial_messages", "include_hook_events", "replay_user_messages", "profile",
    "permission_prompt_tool",
)  # fmt: skip
"""Flags of `lastcall -p` that requests say, or that mean nothing here."""

_storage = click.option(
    "--storage",
    metavar="URL",
    envvar=_STORAGE_VARIABLE,
    help="Where runs are kept: sqlite:///FILE (default: in the state directory) or postgresql://...",
)
_SECONDS: Final = click.FloatRange(min=0.1, max=1e7)
_COUNT: Final = click.IntRange(min=1)


class _Serve(click.Group):
    """A group whose own flags and those of `lastcall -p` mix; its subcommands are known by their first word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Words that name no subcommand are flags for every run."""
        if args[:1] and args[0] in self.commands:
            return super().parse_args(ctx, args)
        ctx.allow_interspersed_args = True
        rest = click.Command.parse_args(self, ctx, args)
        ctx.args, ctx._protected_args = rest, []  # noqa: SLF001 -- click keeps a subcommand's words there
        return rest


@click.group(
    "serve",
    cls=_Serve,
    invoke_without_command=True,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8787, show_default=True, type=click.IntRange(0, 65_535), help="0: any free one.")
@_storage
@click.option("--insecure", is_flag=True, help="Let everybody in without a token, whatever the address.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name this server may be asked by.")
@click.option(
    "--allow-model",
    "models",
    multiple=True,
    metavar="NAME[=MODEL]",
    help="A model requests may name; *=MODEL: any other name.",
)
@click.option("--allow-rules", is_flag=True, help="Requests may bring rules in CEL, which run in this process.")
@click.option("--places", default=1000, show_default=True, type=_COUNT, help="Runs that go on at a time.")
@click.option(
    "--queue", default=1000, show_default=True, type=click.IntRange(min=0), help="Runs that wait for a place."
)
@click.option("--concurrency", type=_COUNT, help="Open runs of one token.")
@click.option("--per-minute", type=_COUNT, help="Requests of one token a minute.")
@click.option("--schema-bytes", default=262_144, show_default=True, type=_COUNT, help="The longest schema.")
@click.option("--body-bytes", default=4_194_304, show_default=True, type=_COUNT, help="The longest body.")
@click.option("--patience", default=30.0, show_default=True, type=_SECONDS, help="Seconds that slow clients have.")
@click.option(
    "--hold", default=10.0, show_default=True, type=_SECONDS, help="Seconds that vendors' streams are held back."
)
@click.option("--drain", default=30.0, show_default=True, type=_SECONDS, help="Seconds that runs have at the end.")
@click.option(
    "--lease",
    default=15.0,
    show_default=True,
    type=_SECONDS,
    help="Seconds until a silent server's runs are taken over.",
)
@click.option("--keep-days", default=30.0, show_default=True, type=_SECONDS, help="How long ended runs are kept.")
@click.pass_context
def serve(context: click.Context, /, **given: Any) -> int | None:
    """Serves runs over HTTP. Flags of `lastcall -p` that hold for every run may follow.

    `--tools` names the tools that requests may ask for; none without it. Only this machine can reach the server unless
    `--host` says otherwise, and then it wants tokens (`lastcall serve token create NAME`).
    """
    if context.invoked_subcommand is not None:
        return None
    environment = dict(os.environ)
    base = _base(context.args, environment)
    settings = import_module("lastcall.server.settings")
    serving = _part("lastcall.server.serving")
    listening = settings.ServerSettings(
        base=replace(base, tools=""),
        storage=_storage_of(given["storage"], environment),
        host=given["host"],
        port=given["port"],
        insecure=given["insecure"],
        allowed_hosts=given["hosts"],
        models=_models(given["models"]),
        tools=tuple(name.strip() for name in (base.tools or "").split(",") if name.strip()),
        rules=given["allow_rules"],
        **{name: given[name] for name in _SAME_NAME},
        **{f"{name}_s": given[name] for name in ("patience", "hold", "drain", "lease")},
        keep_s=given["keep_days"] * 86_400,
    )
    options = loop_options(environment)
    anyio.run(
        serving.serve, listening, lambda address: tell(f"lastcall: listening at {address}"), backend_options=options
    )
    return 0


_SAME_NAME: Final = ("places", "queue", "concurrency", "per_minute", "schema_bytes", "body_bytes")


def _base(words: list[str], environment: Mapping[str, str]) -> RunConfig:
    """What holds for every run. Raises `UsageError`."""
    args = parse(["-p", *words])
    if args.prompt is not None:
        raise BadConfig("the prompt comes with each request", hint="Leave it away.", where="lastcall serve")
    for key in _OF_ONE_RUN:
        if key in args.values:
            hint = "Leave it away; requests say it where it means something."
            raise BadConfig("this flag is of a single run", hint=hint, where=f"--{key.replace('_', '-')}")
    if choose_profile(args, environment) is not Profile.NATIVE:
        raise BadConfig("a server has the native profile alone", hint="Unset it.", where="LASTCALL_PROFILE")
    config = resolve(args, environment, Profile.NATIVE, Stdin(), tell)
    _try(config)
    return config


def _try(config: RunConfig) -> None:
    """Refuse a configuration with which no run could begin, before anybody relies on the server. Raises `UsageError`."""
    from lastcall.runtime.session import open_provider  # noqa: PLC0415 -- only here
    from lastcall.runtime.toolkit import ToolKit  # noqa: PLC0415 -- only here
    from lastcall.runtime.veil import veil_of  # noqa: PLC0415 -- only here

    veil_of(config.environment, config.redact)
    ToolKit(config)
    anyio.run(open_provider(config).aclose)


def _models(given: tuple[str, ...]) -> dict[str, str]:
    models = {}
    for words in given:
        name, _, model = words.partition("=")
        if not name or (name == "*" and not model):
            raise BadConfig(f"{words!r} names no model", hint="Write NAME or NAME=MODEL.", where="--allow-model")
        models[name] = model or name
    return models


def _storage_of(given: str | None, environment: Mapping[str, str]) -> str:
    return given or f"sqlite:///{os.path.abspath(state_dir(environment))}/server.db"  # noqa: PTH100


def _part(name: str) -> Any:
    """A module of the server. Raises `MissingExtra` without what it needs."""
    try:
        return import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.startswith("lastcall"):
            raise
        raise MissingExtra(
            f"The server needs {error.name}, which is not installed.",
            hint="Install it with: pip install 'lastcall[server]'",
        ) from None


# -- tokens ---------------------------------------------------------------------------------------------------------


@serve.group()
def token() -> None:
    """Create, list or revoke the bearer tokens of a server. One that is running heeds it at once."""


@token.command()
@click.argument("name")
@_storage
@click.option("--concurrency", type=_COUNT, help="Open runs at a time.")
@click.option("--per-minute", type=_COUNT, help="Requests a minute.")
@click.option("--schema-bytes", type=_COUNT, help="The longest schema.")
def create(name: str, storage: str | None, **grant: int | None) -> int:
    """Makes a token for NAME and prints it: this once, since only its digest is kept."""
    from lastcall.server import tokens  # noqa: PLC0415 -- only here
    from lastcall.server.rows import Grant  # noqa: PLC0415 -- only here

    token_id, secret = tokens.new_token()
    _with_storage(storage, lambda db: tokens.create(db, name, token_id, secret, Grant(**grant)))
    say(tokens.written_out(token_id, secret))
    return 0


@token.command("list")
@_storage
def list_tokens(storage: str | None) -> int:
    """Lists the tokens, the revoked ones too."""
    from lastcall.server import tokens  # noqa: PLC0415 -- only here

    for row in _with_storage(storage, tokens.listed):
        made = time.strftime("%Y-%m-%d", time.localtime(row.created_at))
        say(f"{row.name:<32} {row.token_id}  made {made}{'  revoked' if row.revoked_at is not None else ''}")
    return 0


@token.command()
@click.argument("name")
@_storage
def revoke(name: str, storage: str | None) -> int:
    """Lets nobody in by the token of NAME any more."""
    from lastcall.server import tokens  # noqa: PLC0415 -- only here

    _with_storage(storage, lambda db: tokens.revoke(db, name))
    sys.stderr.flush()
    return 0


def _with_storage(given: str | None, function: Callable[[Any], Any]) -> Any:
    from lastcall.server.desk import at_once  # noqa: PLC0415 -- only here

    return at_once(_storage_of(given, dict(os.environ)), function)
