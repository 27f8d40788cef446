"""`TerminalResult[T]`: how a run ended, for Python callers.

It is a view of the core's result, with the object as the caller's type. `output` gives the verified object or raises; there
is no way to get an object that did not pass.

Must not go in here: how results are made (`runtime.finish`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Generic, Self, TypeVar, cast

from lastcall.errors import NoAnswer
from lastcall.nouns import result as core
from lastcall.nouns.messages import Message
from lastcall.runtime.clock import new_uuid
from lastcall.wire.envelope import result_frame
from lastcall.wire.frames import Stage

T = TypeVar("T")


class TerminalResult(Generic[T]):
    """How a run ended, and everything it leaves behind. `plain` is the core's value with all its fields."""

    __slots__ = ("_stage", "_uuid", "messages", "plain")

    def __init__(self, plain: core.TerminalResult, messages: Sequence[Message], stage: Stage) -> None:
        self.plain = plain
        self.messages = tuple(messages)
        """The conversation of the session so far."""
        self._stage = stage
        self._uuid = new_uuid()

    @classmethod
    def of(cls, plain: core.TerminalResult, messages: Sequence[Message], stage: Stage) -> Self:
        """The view of a result that the runtime made."""
        return cls(plain, messages, stage)

    def __repr__(self) -> str:
        return f"<TerminalResult {core.outcome_name(self.outcome)}: {self.reason}>"

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.plain.ok

    @property
    def output(self) -> T:
        """The verified object as the output type; without a contract, the answer's text.

        Raises `NoAnswer`, which holds this result, if there is none.
        """
        if not self.ok:
            raise NoAnswer(self)
        return cast("T", self.plain.unwrap())

    def unwrap(self) -> T:
        """`output` as a call."""
        return self.output

    @property
    def outcome(self) -> core.Outcome:
        """How the run ended, as a value to match on."""
        return self.plain.outcome

    @property
    def reason(self) -> str:
        """One sentence: why it ended so."""
        return self.plain.reason

    @property
    def object_text(self) -> str | None:
        """The verified object's JSON, numbers as the model wrote them; `None` if there is none."""
        return self.plain.object_text

    @property
    def text(self) -> str:
        """What the model said last beside the object."""
        return self.plain.text

    @property
    def draft(self) -> str | None:
        """The JSON of the best rejected attempt of a failed run. It did not pass."""
        return self.plain.draft

    @property
    def attempts(self) -> tuple[core.Attempt, ...]:
        """The ledger: every finishing call with its verdict and problems."""
        return self.plain.attempts

    @property
    def warnings(self) -> tuple[core.RunWarning, ...]:
        """Valid values that look wrong, and circumstances worth knowing."""
        return self.plain.warnings

    @property
    def checks(self) -> tuple[core.CheckVerdict, ...]:
        """The verdicts of rules beyond the schema."""
        return self.plain.checks

    @property
    def side_effects(self) -> tuple[core.SideEffect, ...]:
        """Calls of tools that may have changed something."""
        return self.plain.side_effects

    @property
    def usage(self) -> core.Usage:
        """Tokens of all replies, those that were taken back too."""
        return self.plain.usage

    @property
    def cost_usd(self) -> Decimal | None:
        """US dollars; `None` where a price or a usage is unknown."""
        return self.plain.cost_usd

    @property
    def turns(self) -> int:
        """1, plus every message that was sent back to the model."""
        return self.plain.turns

    @property
    def duration_ms(self) -> int:
        """Milliseconds from the prompt to the end."""
        return self.plain.duration_ms

    @property
    def session_id(self) -> str:
        """The session, for `RunConfig(resume=...)`."""
        return self.plain.session_id

    def envelope(self) -> Mapping[str, Any]:
        """The result envelope, as `--output-format json` prints it: plain values for `json.dumps`."""
        return result_frame(self.plain, self._stage, self._uuid)

    def ledger(self) -> str:
        """The attempts as lines of text: for logs and failed tests."""
        lines = [f"{core.outcome_name(self.outcome)}: {self.reason}"]
        for attempt in self.attempts:
            model = f" ({attempt.model})" if attempt.model else ""
            lines.append(f"  attempt {attempt.n}{model}: {attempt.verdict.value}  {_shortened(attempt.draft)}")
            lines += [f"    {problem.path or '/'}: {problem.message}" for problem in attempt.problems]
        lines += [f"  warning {w.path or '/'}: {w.message}" for w in self.warnings]
        return "\n".join(lines)


_SHOWN = 200


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
