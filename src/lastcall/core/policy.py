"""The few choices that differ between profiles and runs, as one frozen value.

Each field is one decision that `core.decide` asks for; the two functions at the end are the two profiles. Where a choice
of the reference is meant, `../shared/conformance` (a copy of what the tests need is in `tests/conformance/cases`) is the
source.

Must not go in here: rules. A policy answers "which", never "when".
"""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from lastcall.nouns.profile import Profile

DEFAULT_ATTEMPTS = 5
DEFAULT_REPEATS = 10


class Policy(Struct, frozen=True, kw_only=True):
    """Choices of a run.

    `max_attempts` finishing calls a user message; `max_turns` replies, `max_budget_usd`, `max_budget_tokens` and
    `deadline_s` are `None` when there is no such limit (`budget_words`, `deadline_words`: as the caller wrote them, for
    messages).

    `eager`: finishing calls are judged and tools started as soon as their block is whole, before the reply has ended.
    `takes_cut_calls`: calls of a cut-off reply count. `holds`: an object waits for the tools called beside it.
    `forces`: a nudge forces the choice of a finishing tool. `reserves`: the last turn that fits is a reserved last call.
    `declines`: the decline tool is offered. `cuts_repeats`: the same rejected arguments three times in a row end the run.
    `guards_degenerate`: an object that lost what a rejected draft held is sent back once. `continues` times in a row a
    reply that was cut off or paused is asked to go on. `stop_blocks` times Stop hooks may keep a run from ending
    (`None`: always). `nudges_silence`: a reply without visible output is asked for one before anything else.
    `salvages`: a reply in prose is searched for the object. `revises`: a large rejected draft may be corrected by a patch.
    `joins_user_text`: user messages are put together as the reference does.

    `max_repeats` replies in a row may repeat the same calls with the same answers (`None`: any number) before the last
    call; after half of them the model is told.

    `compacts`: a history that the model's window does not hold is made shorter, with `compact_after_turns` also every so
    many replies, and `summarizes`: by a summary of the model. `stops_at_window`: a conversation that does not fit any
    more is a limit, not a failure.
    """

    profile: Profile
    max_attempts: int = DEFAULT_ATTEMPTS
    max_turns: int | None = None
    max_budget_usd: Decimal | None = None
    budget_words: str = ""
    max_budget_tokens: int | None = None
    deadline_s: float | None = None
    deadline_words: str = ""
    eager: bool = False
    takes_cut_calls: bool = False
    holds: bool = True
    forces: bool = True
    reserves: bool = True
    declines: bool = True
    cuts_repeats: bool = True
    max_repeats: int | None = DEFAULT_REPEATS
    revises: bool = True
    guards_degenerate: bool = True
    continues: int = 3
    compacts: bool = True
    compact_after_turns: int | None = None
    summarizes: bool = True
    stops_at_window: bool = True
    stop_blocks: int | None = 5
    nudges_silence: bool = False
    joins_user_text: bool = False
    salvages: bool = False


def native(**choices: object) -> Policy:
    """The profile that never lies. `choices` replaces single fields."""
    return _with(Policy(profile=Profile.NATIVE), choices)


def compat(**choices: object) -> Policy:
    """The profile that does what the reference does. `choices` replaces single fields."""
    base = Policy(
        profile=Profile.COMPAT,
        eager=True,
        takes_cut_calls=True,
        holds=False,
        forces=False,
        reserves=False,
        declines=False,
        cuts_repeats=False,
        max_repeats=None,
        revises=False,
        guards_degenerate=False,
        stop_blocks=None,
        compacts=False,
        stops_at_window=False,
        nudges_silence=True,
        joins_user_text=True,
    )
    return _with(base, choices)


def _with(base: Policy, choices: dict[str, object]) -> Policy:
    return replace(base, **choices)
