"""`RunConfig` as Python callers make it: the runtime's own value, with the defaults of a library.

Three defaults differ from the command's: the surroundings (environment, directory) are the process's, no built-in tool is
offered unless it is named, and no session is kept on disk unless it is asked for.

Must not go in here: fields that the runtime does not have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from lastcall.errors import BadConfig
from lastcall.providers.choose import FORBIDDEN
from lastcall.runtime import config as runtime
from lastcall.runtime.places import cache_dir, state_dir


def _environment() -> Mapping[str, str]:
    return dict(os.environ)


class RunConfig(runtime.RunConfig, frozen=True, kw_only=True):
    """Everything that a run can be told beside its prompt and its output type; everything the command line can say.

    `tools` names built-in tools (`"Read,Grep"`, `"default"` is all of them); `environment` and `cwd` are the process's
    own unless given. `persist` keeps the session, so that `resume` finds it. `deadline_s` is in seconds.
    """

    environment: Mapping[str, str] = msgspec.field(default_factory=_environment)
    cwd: str = msgspec.field(default_factory=os.getcwd)
    tools: str | None = ""
    persist: bool = False


def settled(config: RunConfig, *, partial: bool) -> RunConfig:
    """The configuration with what follows from the rest filled in. `partial`: pieces of replies are wanted.

    Raises `BadConfig` for a limit that no run can keep.
    """
    for name, amount in (
        ("max_attempts", config.max_attempts),
        ("max_turns", config.max_turns),
        ("max_budget_usd", config.max_budget_usd),
        ("max_budget_tokens", config.max_budget_tokens),
        ("max_repeats", config.max_repeats),
        ("deadline_s", config.deadline_s),
    ):
        if amount is not None and not amount > 0:
            raise BadConfig(f"{amount} is no limit", hint="Use a number above 0, or None.", where=name)
    environment = config.environment
    if FORBIDDEN in os.environ:  # a test's configuration may bring an environment of its own
        environment = {**environment, FORBIDDEN: os.environ[FORBIDDEN]}
    words = "" if config.deadline_s is None else f"{config.deadline_s:g}s"
    budget = "" if config.max_budget_usd is None else str(config.max_budget_usd)
    return replace(
        config,
        partial=partial,
        environment=environment,
        model=config.model or config.environment.get("LASTCALL_MODEL"),
        state_dir=config.state_dir or state_dir(config.environment),
        cache_dir=config.cache_dir or cache_dir(config.environment),
        deadline_words=config.deadline_words or words,
        budget_words=config.budget_words or budget,
    )
