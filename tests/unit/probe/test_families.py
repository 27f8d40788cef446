"""The built-in tasks do what they say: one object that conflicts with its contract where the family says so, one that fits."""

from __future__ import annotations

import json

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.nouns.profile import Profile
from lastcall.probe.families import FAMILIES, FIELDS, ITEMS, TASKS

_ADDRESS = {"street": "Elm Road 5", "country": "DE"}


def readings(at_23):
    values = [n % 10 for n in range(1, 41)]
    values[22] = at_23
    return {f"field_{n:02}": value for n, value in enumerate(values, 1)}


def bill(ninth):
    amounts = [10, 20, 30, 40, 50, 60, 70, 80, ninth, 100, 110, 120]
    lines = [{"item": f"item-{n:02}", "amount": amount} for n, amount in enumerate(amounts, 1)]
    return {"customer": "Mara Lind", "lines": lines}


OBJECTS = {
    "enum": ({"ticket": "T-17", "priority": "urgent"}, {"ticket": "T-17", "priority": "high"}),
    "maxLength": (
        {"ticket": "T-17", "title": "The basket is empty after every second login"},
        {"ticket": "T-17", "title": "The basket is empty"},
    ),
    "minLength": ({"name": "Mara", "code": "A7"}, {"name": "Mara", "code": "A7-B9-C2"}),
    "type": ({"item": "chair", "count": "several"}, {"item": "chair", "count": 12}),
    "required": ({"name": "Mara Lind"}, {"name": "Mara Lind", "email": "mara@example.org"}),
    "additionalProperties": (
        {"name": "Mara Lind", "city": "Ulm", "nickname": "Lindy"},
        {"name": "Mara Lind", "city": "Ulm"},
    ),
    "minimum": ({"item": "chair", "quantity": -4}, {"item": "chair", "quantity": 4}),
    "pattern": (
        {"summary": "mail is down", "reference": "incident 77"},
        {"summary": "mail is down", "reference": "INC-0077"},
    ),
    "format": ({"event": "audit", "day": "2026-02-31"}, {"event": "audit", "day": "2026-02-28"}),
    "uniqueItems": (
        {"page": "start", "tags": ["red", "blue", "red", "green"]},
        {"page": "start", "tags": ["red", "blue", "grey", "green"]},
    ),
    "nested": tuple(
        {"order": 4711, "customer": {"name": "Mara Lind", "address": {**_ADDRESS, "postcode": postcode}}}
        for postcode in ("AB1 2CD", "89073")
    ),
    "unions": (
        {"payment": {"kind": "card", "account": "DE-5531"}},
        {"payment": {"kind": "transfer", "account": "DE-5531"}},
    ),
    "big-objects": (bill(-90), bill(90)),
    "many-fields": (readings(15), readings(3)),
}
"""What each prompt asks for, written out by hand: first the one that conflicts."""

KEYWORDS = {
    "nested": {"pattern"},
    "unions": {"required", "additionalProperties", "const", "anyOf"},
    "big-objects": {"minimum"},
    "many-fields": {"maximum"},
}


def test_every_family_has_its_objects_here():
    assert tuple(OBJECTS) == FAMILIES
    assert (FIELDS, ITEMS) == (40, 12)


@pytest.mark.parametrize("task", TASKS, ids=FAMILIES)
def test_what_a_prompt_asks_for_conflicts_with_its_keyword_alone_or_fits(task):
    contract = compile_contract(parse_schema(task.schema_text, profile=Profile.NATIVE), profile=Profile.NATIVE)
    conflicting, fitting = OBJECTS[task.family]
    rejected = contract.problems_of(conflicting)
    assert rejected is not None
    assert {p.keyword for p in rejected.problems} <= KEYWORDS.get(task.family, {task.family})
    assert contract.problems_of(fitting) is None


@pytest.mark.parametrize("task", TASKS, ids=FAMILIES)
def test_every_value_of_the_object_stands_in_the_prompt(task):
    """A model needs to know nothing; words that a prompt spells otherwise (country, kind) stand there too."""

    def leaves(value):
        if isinstance(value, dict):
            return [leaf for member in value.values() for leaf in leaves(member)]
        if isinstance(value, list):
            return [leaf for member in value for leaf in leaves(member)]
        return [value]

    for text, value in zip((task.conflict, task.fits), OBJECTS[task.family], strict=True):
        missing = [leaf for leaf in leaves(value) if (leaf if isinstance(leaf, str) else json.dumps(leaf)) not in text]
        assert missing == []
