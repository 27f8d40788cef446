"""Cases and suites as values: a prompt, a contract, and what the prompt does to the contract.

Must not go in here: the texts of the built-in cases (`families`), reading files (`suites`), asking a model (`trials`).
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

AS_IT_IS = "Hand over exactly what is asked for here, and change nothing of it."
MAY_CORRECT = "Where something cannot be handed over as asked, you may correct it to the nearest that can be."


class Case(Struct, frozen=True, kw_only=True):
    """One prompt against one contract.

    `schema_text` is the contract's JSON Schema. `conflicts`: what the prompt asks for does not pass the contract.
    `may_correct`: the prompt allows the model to change what it was asked for.
    """

    name: str
    family: str
    prompt: str
    schema_text: str
    conflicts: bool
    may_correct: bool


class Suite(Struct, frozen=True, kw_only=True):
    """Cases that are tried together. `trials` is how often each is tried unless somebody says otherwise."""

    name: str
    cases: tuple[Case, ...]
    trials: int = 3

    @property
    def digest(self) -> str:
        """SHA-256 of the cases, in hex: two probes with the same digest asked the same things."""
        return digest_of(self.cases)

    @property
    def families(self) -> tuple[str, ...]:
        """The families in the order of their first case."""
        return tuple(dict.fromkeys(case.family for case in self.cases))


def digest_of(cases: tuple[Case, ...]) -> str:
    """SHA-256 of the cases, in hex."""
    return hashlib.sha256(msgspec.json.encode(cases)).hexdigest()


def vary(family: str, schema_text: str, task: str, *, conflicts: bool, may_correct: bool, name: str = "") -> Case:
    """The case of a task: its text, and whether the model may correct it."""
    kind = "conflict" if conflicts else "fits"
    leave = "may-correct" if may_correct else "as-it-is"
    return Case(
        name=name or f"{family}/{kind}/{leave}",
        family=family,
        prompt=f"{task}\n\n{MAY_CORRECT if may_correct else AS_IT_IS}",
        schema_text=schema_text,
        conflicts=conflicts,
        may_correct=may_correct,
    )
