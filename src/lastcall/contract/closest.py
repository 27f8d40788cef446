"""A union that no branch of matches, explained by its closest branch.

The check reports the problems of every branch, and then that none matched. A model that reads them all learns little: here
the problems of the other branches are left out. Closest is the branch whose kind of value is right, whose constants (the
marks that tell branches apart) are right, with the fewest problems. It changes no verdict.

Must not go in here: checking, sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from lastcall.contract.alongside import Step, always, branches, items, members, single
from lastcall.contract.budgets import BudgetExceeded
from lastcall.contract.nodes import Node
from lastcall.contract.validator import Validator
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue

_UNIONS: Final = ("anyOf", "oneOf")
_MARKS: Final = frozenset({"const", "enum"})
_MOST_UNIONS: Final = 20
"""Unions of one value that are explained; what is left is told as it was found."""
_MOST_STEPS: Final = 20_000
_MOST_BRANCHES: Final = 200


def explained(validator: Validator, value: JsonValue, problems: tuple[Problem, ...]) -> tuple[tuple[Problem, ...], int]:
    """The problems of a value, each union told by its closest branch alone, and how many problems that leaves out.

    Where the value is of no branch's kind, all kinds are told, each once.
    """
    if not any(p.keyword in _UNIONS and not p.params.get("passingSchemas") for p in problems):
        return problems, 0
    listed, left_out = list(problems), 0
    unions = sorted(_unions(validator, value, problems), key=lambda step: step[1].count("/"))
    for node, path, part in unions[:_MOST_UNIONS]:
        for key in _UNIONS:
            places = [i for i, p in enumerate(listed) if (p.path, p.keyword) == (path, key)]
            choices = branches(node.schema, key)
            if not places or not 1 < len(choices) <= _MOST_BRANCHES:
                continue
            found = [_problems_of(validator, node.child(choice), part, path) for choice in choices]
            if all(found):
                left_out += sum(_keep_closest(listed, found, place) for place in reversed(places))
    once = tuple({_key(p): p for p in reversed(listed)}.values())[::-1]
    return once, left_out + len(listed) - len(once)


def _unions(validator: Validator, value: JsonValue, problems: tuple[Problem, ...]) -> Iterator[Step]:
    """The nodes with a union that stand where a union failed."""
    wanted = {p.path for p in problems if p.keyword in _UNIONS}
    todo: list[Step] = [(validator.root, "", value)]
    been: set[tuple[int, str]] = set()
    while todo and len(been) < _MOST_STEPS:
        node, path, part = todo.pop()
        if (id(node.schema), path) in been:
            continue
        been.add((id(node.schema), path))
        if path in wanted and any(key in node.schema for key in _UNIONS):
            yield node, path, part
        todo += ((below, path, part) for below in _in_place(node))
        below = members(node, path, part) if isinstance(part, dict) else ()
        below = items(node, path, part) if isinstance(part, list) else below
        todo += (step for step in below if any(w == step[1] or w.startswith(f"{step[1]}/") for w in wanted))


def _in_place(node: Node) -> Iterator[Node]:
    yield from always(node)
    for key in _UNIONS:
        yield from map(node.child, branches(node.schema, key))
    for key in ("then", "else"):
        yield from map(node.child, single(node.schema, key))


def _problems_of(validator: Validator, node: Node, value: JsonValue, path: str) -> tuple[Problem, ...]:
    try:
        found = validator.problems_at(node, value).listed
    except BudgetExceeded:
        return ()
    return tuple(replace(p, path=path + p.path) for p in found)


def _keep_closest(listed: list[Problem], found: list[tuple[Problem, ...]], place: int) -> int:
    """Take the problems of all branches but the closest off the list, in place; how many those are."""
    union = listed[place]
    best = min(range(len(found)), key=lambda index: (_distance(found[index], union.path), index))
    if _distance(found[best], union.path)[0]:
        return 0
    others: Counter[Any] = Counter(_key(p) for n, branch in enumerate(found) if n != best for p in branch)
    before = len(listed)
    at = place
    for index in range(place - 1, -1, -1):  # the branches' problems stand before the union's own
        if others[_key(listed[index])] > 0:
            others[_key(listed[index])] -= 1
            del listed[index]
            at -= 1
    hint = f"the closest is branch {best + 1} of {len(found)}, and what is wrong with it is told here alone"
    listed[at] = replace(union, params={**union.params, "hint": hint})
    return before - len(listed)


def _distance(problems: tuple[Problem, ...], path: str) -> tuple[bool, int, int]:
    """How far a branch is: another kind of value, then wrong marks, then the number of problems."""
    kind = any(p.path == path and p.keyword == "type" for p in problems)
    marks = sum(p.keyword in _MARKS and p.path.count("/") <= path.count("/") + 1 for p in problems)
    return kind, marks, len(problems)


def _key(problem: Problem) -> tuple[str, str, str]:
    return problem.path, problem.keyword, problem.message
