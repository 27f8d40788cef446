"""Expressions in CEL as the rules of a schema, tried on a sample of it before anything is sent.

Must not go in here: reading and evaluating them (`contract.cel`).
"""

from __future__ import annotations

from collections.abc import Sequence

from lastcall.contract.rules import Rule
from lastcall.contract.sample import sample
from lastcall.errors import BadSchema
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import OutputSchema


def cel_rules(expressions: Sequence[str], schema: OutputSchema) -> tuple[Rule, ...]:
    """The rules that the expressions are, in their order. Raises `BadRule`, `MissingExtra`."""
    if not expressions:
        return ()
    from lastcall.contract.cel import cel_rule, names_in  # noqa: PLC0415 -- an extra

    rules = [cel_rule(expression) for expression in expressions]
    try:
        example = sample(schema, profile=Profile.NATIVE)
    except BadSchema:
        return tuple(rules)  # no small instance is found of some schemas: then the run shows it
    names = names_in(schema.value)
    for rule in rules:
        rule.try_on(example, names)
    return tuple(rules)
