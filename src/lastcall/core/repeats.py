"""Going in circles: the same calls with the same answers, over and over.

A model that reads the same file for ever learns nothing from the next time. What counts is the whole exchange, calls,
arguments and answers, so that a command that is run until its output changes is no circle once it does.

Must not go in here: how many are too many (`core.policy`), what then (`core.decide`).
"""

from __future__ import annotations

from itertools import takewhile

from lastcall.core.state import Exchange, RunState

LONGEST = 4
"""Exchanges of the longest circle that is seen: A B C D A B C D."""


def repeats(state: RunState) -> int:
    """How many replies in a row, the latest included, only did what was done the same number of replies before."""
    seen = (*state.exchanges, exchange_of(state))
    return max(_run(seen, period) for period in range(1, LONGEST + 1))


def exchange_of(state: RunState) -> Exchange:
    """The calls of the latest reply and their answers; nothing where an attempt is among them, or a call is open."""
    answers = {result.call_id: result for result in state.results}
    calls = state.reply.calls
    if any(call.call_id not in answers or answers[call.call_id].kind.of_finishing for call in calls):
        return ()
    found = ((call, answers[call.call_id]) for call in calls)
    return tuple((call.name, call.arguments.text, result.kind, result.content) for call, result in found)


def remembered(state: RunState) -> tuple[Exchange, ...]:
    """The exchanges to compare the next ones with, the latest included."""
    most = state.policy.max_repeats
    if most is None or (state.reply.closed and not state.reply.calls):
        return ()
    if not state.reply.closed:  # nothing came of it, and it is asked for again
        return state.exchanges
    return (*state.exchanges, exchange_of(state))[-(most + LONGEST) :]


def _run(seen: tuple[Exchange, ...], period: int) -> int:
    pairs = zip(reversed(seen), reversed(seen[:-period]), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] and pair[0] == pair[1], pairs))
