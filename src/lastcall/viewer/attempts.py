"""The attempts of one run as a page shows them: each with its draft, its problems in place, its checks, what changed.

Must not go in here: rows and runs (`viewer.story`), the words (`viewer.telling`).
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from lastcall.nouns.attachment import Problem
from lastcall.nouns.ids import CallId
from lastcall.nouns.result import Attempt, CheckVerdict, VerdictKind
from lastcall.viewer import telling
from lastcall.viewer.entries import Form, Part
from lastcall.viewer.layout import Placed, compare, lay_out


class _Known(Struct):
    """An attempt as far as it is known. `before` is the draft before it, `stopped` where reading it stopped."""

    attempt: Attempt
    placed: Placed
    before: Placed | None
    stopped: int | None


class Ledger:
    """The attempts of a run, in their order."""

    def __init__(self) -> None:
        self._known: dict[CallId, _Known] = {}
        self._checks: dict[CallId, tuple[CheckVerdict, ...]] = {}
        self._last: Placed | None = None

    def __contains__(self, call_id: CallId) -> bool:
        return call_id in self._known

    def __getitem__(self, call_id: CallId) -> Attempt:
        return self._known[call_id].attempt

    def add(self, attempt: Attempt, stopped: int | None) -> None:
        """A new one; `stopped` is where reading its arguments stopped (characters), if they could not be read."""
        placed = lay_out(attempt.draft)
        self._known[attempt.call_id] = _Known(attempt, placed, self._last, stopped)
        if attempt.verdict is not VerdictKind.UNREADABLE:
            self._last = placed

    def revise(self, call_id: CallId, verdict: VerdictKind, problems: tuple[Problem, ...]) -> None:
        """Another verdict; without new problems the ones before stand."""
        known = self._known[call_id]
        before = known.attempt.verdict if verdict is VerdictKind.RETRACTED else known.attempt.before
        problems = problems or known.attempt.problems
        known.attempt = replace(known.attempt, verdict=verdict, problems=problems, before=before)

    def check(self, call_id: CallId, verdicts: tuple[CheckVerdict, ...]) -> int:
        """The verdicts of rules and checks, which may come before their attempt; the attempt's number."""
        self._checks[call_id] = (*self._checks.get(call_id, ()), *verdicts)
        return self._known[call_id].attempt.n if call_id in self._known else len(self._known) + 1

    def parts(self, call_id: CallId) -> tuple[Part, ...]:
        """The body of an attempt's row."""
        known = self._known[call_id]
        return (
            *telling.draft_parts(known.attempt, known.placed, known.stopped),
            *telling.check_parts(self._checks.get(call_id, ())),
            *_changes(known),
        )

    def best_draft(self) -> Part | None:
        """The rejected draft with the fewest problems."""
        rejected = [known for known in self._known.values() if known.attempt.verdict is VerdictKind.REJECTED]
        if not rejected:
            return None
        best = min(rejected, key=lambda known: len(known.attempt.problems))
        return telling.json_part("The best draft, which did not pass", best.placed, text=best.attempt.draft)


def _changes(known: _Known) -> tuple[Part, ...]:
    if known.before is None or known.stopped is not None or known.before.lines == known.placed.lines:
        return ()
    lines = compare(known.before, known.placed)
    return (Part(form=Form.CHANGES, label="Changes since the draft before", lines=lines),)
