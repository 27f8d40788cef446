"""What the contract says of one attempt."""

from __future__ import annotations

from msgspec import Struct

from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import CheckVerdict, RunWarning
from lastcall.nouns.tools import Unreadable


class Accepted(Struct, frozen=True):
    """It passed. `text` is the object's JSON (unwrapped), minified, numbers and key order as the model wrote them."""

    text: str
    warnings: tuple[RunWarning, ...] = ()
    checks: tuple[CheckVerdict, ...] = ()


class Rejected(Struct, frozen=True):
    """It was read and does not pass. `total` counts the problems that are not listed too.

    `checks` are the verdicts of the rules, if it fitted the schema and they were asked.
    """

    problems: tuple[Problem, ...]
    total: int
    checks: tuple[CheckVerdict, ...] = ()


class CannotRead(Struct, frozen=True):
    """It is no JSON that lastcall takes."""

    fault: Unreadable


class WrongInput(Struct, frozen=True):
    """Refused before the schema was asked, as the reference does with inputs that are no object (`issue`: its words)."""

    issue: str


Verdict = Accepted | Rejected | CannotRead | WrongInput


def check_verdict(name: str, problems: tuple[Problem, ...]) -> CheckVerdict:
    """What a rule said, as the envelope tells it."""
    return CheckVerdict(name, passed=not problems, message="; ".join(p.message for p in problems))


def below(prefix: str, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The problems of a part of a value as those of the whole; `prefix` is the part's JSON Pointer."""
    if not prefix:
        return problems
    return tuple(Problem(prefix + p.path, p.keyword, p.message, p.params) for p in problems)
