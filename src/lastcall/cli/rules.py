"""What `--rule` and `--check` mean: CEL expressions and commands that an object has to pass beside its schema.

Everything is refused here that can be before anything is sent: expressions that cannot be read or can be true of no
object, commands that name no program.

Must not go in here: evaluating and running them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lastcall.contract.rules import Check, Rule
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import OutputSchema
from lastcall.tools.environment import is_provider_key


def rules_of(expressions: Sequence[str], schema: OutputSchema, profile: Profile) -> tuple[Rule, ...]:
    """The rules of `--rule`. Raises `BadRule`, `MissingExtra`, `BadConfig`."""
    if not expressions:
        return ()
    _demand_native("--rule", profile)
    from lastcall.contract.expressions import cel_rules  # noqa: PLC0415 -- only where there are any

    return cel_rules(expressions, schema)


def checks_of(
    commands: Sequence[str], profile: Profile, *, cwd: str, environment: Mapping[str, str], timeout_s: float | None
) -> tuple[Check, ...]:
    """The checks of `--check`. Raises `BadRule`, `BadConfig`."""
    if not commands:
        return ()
    _demand_native("--check", profile)
    from lastcall.runtime.checks import DEFAULT_TIMEOUT_S, command_check  # noqa: PLC0415 -- only where there are any

    limit_s = DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s
    kept = {name: value for name, value in environment.items() if not is_provider_key(name)}
    return tuple(command_check(c, cwd=cwd, environment=kept, timeout_s=limit_s) for c in commands)


def _demand_native(flag: str, profile: Profile) -> None:
    if profile is Profile.COMPAT:
        raise BadConfig("the reference has no rules beside the schema", hint="Use --profile native.", where=flag)
