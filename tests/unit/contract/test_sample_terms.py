"""Choices that can be made anew, and two schemas as one."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.sample_terms import MAX_CHOICES, Choices, NoSample, combined


def test_every_combination_of_choices_comes_once() -> None:
    choices = Choices(100)
    seen = []
    while True:
        choices.begin()
        first = choices.pick(2)
        seen.append((first, choices.pick(3) if first else choices.pick(1)))
        if not choices.advance():
            break
    assert seen == [(0, 0), (1, 0), (1, 1), (1, 2)]


def test_a_choice_that_has_fewer_options_now_is_still_made() -> None:
    choices = Choices(100)
    choices.begin()
    assert choices.pick(3) == 0
    choices.advance()
    choices.advance()
    choices.begin()
    assert choices.pick(2) == 1
    for _ in range(MAX_CHOICES + 5):
        choices.pick(2)
    assert choices.pick(2) == 0


def test_the_budget_ends_all_tries() -> None:
    choices = Choices(2)
    choices.spend()
    choices.spend()
    assert not choices.spent
    with pytest.raises(NoSample):
        choices.spend()
    assert choices.spent


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (True, {"type": "string"}, {"type": "string"}),
        ({"type": "string"}, True, {"type": "string"}),
        (False, {}, False),
        ({"minimum": 1, "maxLength": 5}, {"minimum": 3, "maxLength": 2}, {"minimum": 3, "maxLength": 2}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        ({"type": ["string", "null", "integer"]}, {"type": ["null", "string"]}, {"type": ["string", "null"]}),
        ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"type": "null"}, {"type": "null"}),
        ({"enum": [1, 2]}, {"enum": [2, 3]}, {"enum": [2]}),
        (
            {"properties": {"a": {"minimum": 1}}},
            {"properties": {"a": {"maximum": 2}, "b": {}}},
            {"properties": {"a": {"minimum": 1, "maximum": 2}, "b": {}}},
        ),
        ({"items": {"minimum": 1}}, {"items": {"maximum": 2}}, {"items": {"minimum": 1, "maximum": 2}}),
        ({"items": [{}]}, {"items": {}}, {"items": {}}),
        ({"allOf": [1]}, {"allOf": [2]}, {"allOf": [1, 2]}),
        ({"pattern": "a"}, {"pattern": "b"}, {"pattern": "b"}),
        ({"title": "t"}, {"title": "t"}, {"title": "t"}),
    ],
)
def test_two_schemas_as_one(first: Any, second: Any, both: Any) -> None:
    assert combined(first, second) == both


def test_types_that_have_nothing_in_common_lead_nowhere() -> None:
    with pytest.raises(NoSample):
        combined({"type": "string"}, {"type": "null"})
