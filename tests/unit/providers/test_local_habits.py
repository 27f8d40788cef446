"""Habits of a model, measured with nothing to go by; expected figures by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lastcall.nouns.request import Choice
from lastcall.nouns.tools import define
from lastcall.providers.local import LocalProvider
from lastcall.providers.local_grammar import call_text
from lastcall.providers.local_habits import (
    ChoiceField,
    HabitBook,
    HabitReader,
    choice_fields,
    empty_request,
    finishing_tool,
    habit_key,
)
from local_tools import FINISHING, READ, asked_of, asks, told_by

Make = Callable[..., tuple[LocalProvider, Path]]
TOOL = define("T", "", {"type": "object", "properties": {"area": {"enum": ["a", "b"]}}}, finishing=True)


@pytest.mark.parametrize(
    ("shape", "counts"),
    [
        ({"enum": ["a", "b"]}, True),
        ({"type": "string", "enum": ["a", "b"]}, True),
        ({"enum": ["a"]}, False),
        ({"enum": ["a", 1]}, False),
        ({"enum": ["a", ""]}, False),
        ({"enum": [str(n) for n in range(51)]}, False),
        ({"type": "string"}, False),
        (True, False),
    ],
)
def test_a_choice_is_a_property_of_a_few_strings(shape: Any, counts: bool) -> None:
    tool = define("T", "", {"type": "object", "properties": {"x": shape}})
    assert [field.name for field in choice_fields(tool)] == (["x"] if counts else [])


def test_a_schema_without_properties_has_no_choices() -> None:
    assert choice_fields(define("T", "", {"type": "object"})) == ()
    assert choice_fields(define("T", "", {"type": "object", "properties": 3})) == ()
    assert choice_fields(TOOL) == (ChoiceField("area", ("a", "b")),)


def test_the_empty_request_has_the_same_tools_and_only_the_finishing_ones_to_choose_from() -> None:
    request = asks("a long text", (READ, *FINISHING))
    empty = empty_request(request)
    assert (empty.tools, empty.system, empty.choice) == (request.tools, request.system, Choice.FINISH)
    assert finishing_tool(request) is FINISHING[0]
    assert finishing_tool(asks(tools=(READ,))) is None


def test_a_habit_belongs_to_weights_and_words_and_not_to_the_text() -> None:
    assert habit_key(asks("one"), "w") == habit_key(asks("two"), "w")
    assert habit_key(asks("one"), "w") != habit_key(asks("one"), "v")
    assert habit_key(asks("one"), "w") != habit_key(asks("one", (READ, *FINISHING)), "w")


def read(pieces: list[tuple[str, dict[int, float]]], first: dict[str, tuple[int, ...]]) -> HabitReader:
    reader = HabitReader(TOOL, first)
    for text, likely in pieces:
        reader.hear(text, likely)
    return reader


BEFORE = ('{"tool": "T", "input": {"area": "', {})


def test_each_option_is_brought_to_the_middle_of_all() -> None:
    reader = read([BEFORE, ("a", {1: -1.0, 2: -3.0, 9: -0.1})], {"area": (1, 2)})
    assert reader.complete
    assert reader.bias() == ((1, -1.0), (2, 1.0))


def test_an_option_that_is_not_among_the_likely_ones_counts_as_the_least_likely_known() -> None:
    reader = read([BEFORE, ("a", {1: -1.0, 2: -3.0})], {"area": (1, 2, 3)})
    assert dict(reader.bias())[3] == dict(reader.bias())[2]


def test_where_nothing_to_go_by_has_an_answer_it_is_no_habit() -> None:
    assert read([BEFORE, ("a", {1: 0.0, 2: -4.0})], {"area": (1, 2)}).bias() == ((1, -2.0), (2, 2.0))
    assert read([BEFORE, ("a", {1: 0.0, 2: -4.1})], {"area": (1, 2)}).bias() == ()


@pytest.mark.parametrize("first", [(1, 1), (7, 8)])
def test_options_that_begin_alike_or_are_not_known_are_left_alone(first: tuple[int, int]) -> None:
    assert read([BEFORE, ("a", {1: -1.0})], {"area": first}).bias() == ()


def test_a_token_of_two_fields_gets_the_mean() -> None:
    pieces = [BEFORE, ("a", {1: -1.0, 2: -3.0}), ('", "kind": "', {}), ("a", {1: -5.0, 3: -1.0})]
    reader = read(pieces, {"area": (1, 2), "kind": (1, 3)})
    assert dict(reader.bias()) == {1: 0.5, 2: 1.0, 3: -2.0}


def test_a_reply_that_is_not_the_tools_ends_the_reading() -> None:
    assert read([("Sure", {})], {"area": (1, 2)}).complete
    assert not read([('{"tool"', {})], {"area": (1, 2)}).complete
    assert HabitReader(TOOL, {}).complete


def test_a_book_keeps_habits_between_processes_and_survives_damage(tmp_path: Path) -> None:
    file = tmp_path / "habits.json"
    book = HabitBook(file)
    assert book.find("k") is None
    book.keep("k", ((1, 0.5),))
    assert HabitBook(file).find("k") == ((1, 0.5),)
    file.write_text("{")
    assert HabitBook(file).find("k") is None
    for number in range(250):
        book.keep(str(number), ())
    assert len(json.loads(file.read_text())) == 200
    HabitBook(tmp_path / "no" / "where").keep("k", ())


OBJECT = '{"ticket": "INC-2041", "area": "login", "customers": 1, "start": "09:00"}'
LIKELY = [[ord("p"), -1.0], [ord("l"), -2.0], [ord("s"), -3.0], [ord("e"), -4.0]]


def test_a_habit_is_measured_once_and_taken_off_in_every_reply(engine: Make) -> None:
    provider, log = engine({"text": call_text("StructuredOutput", OBJECT), "piece": 1, "likely": LIKELY})
    told_by(provider, asks("one"), asks("two"))
    first, *replies = asked_of(log, measured=True)
    assert (first["n_probs"], "logit_bias" in first) == (200, False)
    assert "DeclineOutput" not in first["grammar"]  # with nothing to go by it would decline
    assert (
        bytes(token for token in first["prompt"] if 0 < token < 128)
        .decode()
        .endswith("user\nN/A<|im_end|>\n<|im_start|>assistant\n")
    )
    expected = [[ord("p"), -1.5], [ord("l"), -0.5], [ord("s"), 0.5], [ord("e"), 1.5]]
    assert [reply["logit_bias"] for reply in replies] == [expected, expected]


def test_without_a_choice_nothing_is_measured(engine: Make) -> None:
    tool = define("T", "", {"type": "object", "properties": {}}, finishing=True)
    provider, log = engine({"text": call_text("T", "{}")})
    told_by(provider, asks(tools=(tool,)))
    assert [("n_probs" in body, "logit_bias" in body) for body in asked_of(log, measured=True)] == [(False, False)]


def test_a_measurement_that_fails_changes_nothing(engine: Make) -> None:
    whole = {"text": call_text("StructuredOutput", OBJECT)}
    provider, log = engine(whole | {"cut": True}, whole)
    events = told_by(provider, asks())[0]
    assert type(events[-1]).__name__ == "ReplyEnded"
    assert "logit_bias" not in asked_of(log)[0]
