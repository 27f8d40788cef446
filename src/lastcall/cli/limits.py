"""Numbers and times of the command line: attempts, turns, budgets, deadlines.

Must not go in here: what a limit does (`core.limits`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from lastcall.cli.args import Args, bad_value
from lastcall.core.policy import DEFAULT_ATTEMPTS, DEFAULT_REPEATS
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
_NUMBER = re.compile(r"\s*([+-]?\d+)")


def attempts(args: Args, environment: Mapping[str, str], profile: Profile) -> int:
    """Finishing calls of a run: `--max-attempts`, else `MAX_STRUCTURED_OUTPUT_RETRIES`, else five."""
    given = args.text("max_attempts")
    if given is not None:
        return count(args, "max_attempts", least=1) or DEFAULT_ATTEMPTS
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


def max_turns(args: Args, profile: Profile) -> int | None:
    """`--max-turns`. Raises `BadFlag`."""
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


def budget(args: Args) -> Decimal | None:
    """`--max-budget-usd`. Raises `BadFlag`."""
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


def salvages(args: Args, profile: Profile) -> bool:
    """`--salvage`, where it can be meant. Raises `BadConfig`."""
    if not args.on("salvage"):
        return False
    if profile is Profile.COMPAT:
        raise BadConfig("the reference salvages nothing", hint="Use --profile native.", where="--salvage")
    if args.words("check"):
        hint = "Leave one of them away."
        raise BadConfig("an object found in prose cannot be held for --check", hint=hint, where="--salvage")
    return True


def seconds(given: str, key: str = "deadline") -> float:
    """A time such as 90s, in seconds. Raises `BadFlag` in the name of the flag `key`."""
    match = _TIME.fullmatch(given.strip())
    seconds = float(match.group(1)) * _UNITS[match.group(2)] if match else 0.0
    if seconds <= 0:
        raise bad_value(key, given, "must be a time such as 90s, 5m or 1h")
    return seconds


def count(args: Args, key: str, *, least: int) -> int | None:
    """A whole number; `None` where the flag was not given. Raises `BadFlag`."""
    given = args.text(key)
    if given is None:
        return None
    if not re.fullmatch(r"\d{1,9}", given) or int(given) < least:
        raise bad_value(key, given, f"must be a whole number, {least} or more")
    return int(given)


def env_count(environment: Mapping[str, str], name: str, *, least: int) -> int | None:
    """A whole number of the environment; `None` where there is none that can be read."""
    word = environment.get(name, "")
    return int(word) if re.fullmatch(r"\d{1,9}", word) and int(word) >= least else None


def max_repeats(args: Args) -> int | None:
    """`--max-repeats`, or the default; `None` for any number."""
    given = count(args, "max_repeats", least=0)
    return DEFAULT_REPEATS if given is None else given or None
