"""Whether there is a prompt, what it is, and what is continued where there is none.

Must not go in here: settings of the run (`cli.config`).
"""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.cli.args import Args
from lastcall.cli.rules import checks_of, rules_of
from lastcall.cli.stdin import Stdin
from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.runtime.config import RunConfig
from lastcall.runtime.opening import recorded_contract


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
    opened = recorded_contract(config) if config.contract is None else None
    if opened is None:
        return config
    schema = parse_schema(opened.schema_text, profile=config.profile)
    contract = compile_contract(
        schema,
        profile=config.profile,
        rules=rules_of(opened.expressions, schema, config.profile),
        checks=checks_of(
            opened.commands,
            config.profile,
            cwd=config.cwd,
            environment=config.environment,
            timeout_s=opened.check_timeout_s,
        ),
        assert_formats=not args.on("no_format"),
        strict_values=opened.strict_values or args.on("strict_values"),
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
        if args.words("redact"):
            hint = "Write the prompt before it."
            raise BadConfig("there is no prompt: --redact takes the word after it as its pattern", hint=hint)
        raise BadConfig("Input must be provided either through stdin or as a prompt argument when using --print")
    return "\n".join(part for part in (prompt, piped) if part)
