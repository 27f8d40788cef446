"""An order under the operator's settings: narrowed, never widened; refused where it wants what nobody allowed."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.errors import BadConfig, BadRule, SchemaTooBig
from lastcall.runtime.config import RunConfig
from lastcall.server.orders import Order, Said, config_of, contract_of, digest, read_order, summary, written
from lastcall.server.settings import ServerSettings

BASE = RunConfig(
    model="haiku", max_turns=10, max_budget_usd=Decimal("0.5"), max_budget_tokens=9_000, max_repeats=4, deadline_s=60,
    system_prompt="Be brief.",
)  # fmt: skip
SETTINGS = ServerSettings(base=BASE, storage="", models={"gpt": "openai:gpt-5"}, tools=("Read",))
SCHEMA = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'


def config(**fields):
    return config_of(Order(prompt="x", **fields), SETTINGS, None, "run_1")


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({}, "max_turns", 10),
        ({"max_turns": 3}, "max_turns", 3),
        ({"max_turns": 99}, "max_turns", 10),
        ({"max_attempts": 99}, "max_attempts", 5),
        ({"max_attempts": 2}, "max_attempts", 2),
        ({"max_budget_usd": Decimal(9)}, "max_budget_usd", Decimal("0.5")),
        ({}, "max_budget_tokens", 9_000),
        ({"max_budget_tokens": 10_000}, "max_budget_tokens", 9_000),
        ({"max_budget_tokens": 8_000}, "max_budget_tokens", 8_000),
        ({}, "max_repeats", 4),
        ({"max_repeats": 5}, "max_repeats", 4),
        ({"max_repeats": 2}, "max_repeats", 2),
        ({"deadline_s": 2.5}, "deadline_words", "2.5s"),
        ({"max_tokens": 100}, "max_tokens", 100),
        ({}, "model", "haiku"),
        ({"model": "haiku"}, "model", "haiku"),
        ({"model": "gpt"}, "model", "openai:gpt-5"),
        ({}, "tools", ""),
        ({"tools": ("Read", "Read")}, "tools", "Read"),
        ({"system": "Be kind."}, "system_prompt", "Be brief.\n\nBe kind."),
        ({}, "session_id", "run_1"),
        ({}, "persist", True),
    ],
)
def test_a_request_narrows_what_the_operator_set(fields, name, value):
    assert getattr(config(**fields), name) == value


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model": "opus"}, "no model 'opus'. It has: gpt, haiku."),
        ({"tools": ("Bash",)}, "does not allow the tool 'Bash'"),
    ],
)
def test_what_nobody_allowed_is_refused(fields, words):
    with pytest.raises(BadConfig) as raised:
        config(**fields)
    assert words in str(raised.value)


def test_pieces_are_refused_where_secrets_are_kept_out():
    redacting = ServerSettings(base=RunConfig(redact=()), storage="")
    with pytest.raises(BadConfig, match="half a secret has no form"):
        config_of(Order(prompt="x", partial=True), redacting, None, "r")
    assert config_of(Order(prompt="x"), redacting, None, "r").redact == ()
    assert config_of(Order(prompt="x", partial=True), SETTINGS, None, "r").partial


def test_repeats_without_a_bound_of_the_operators_are_bounded_by_the_request():
    settings = ServerSettings(base=RunConfig(max_repeats=None), storage="")
    assert config_of(Order(prompt="x", max_repeats=3), settings, None, "r").max_repeats == 3
    assert config_of(Order(prompt="x"), settings, None, "r").max_repeats is None


def test_a_name_for_every_other_model():
    settings = ServerSettings(base=BASE, storage="", models={"*": "sonnet"})
    assert config_of(Order(prompt="x", model="anything"), settings, None, "r").model == "sonnet"


def test_rules_are_taken_where_they_are_allowed():
    order = Order(prompt="x", schema=SCHEMA, rules=("n > 1",))
    with pytest.raises(BadConfig, match="takes no rules"):
        contract_of(order, SETTINGS, None)
    allowing = ServerSettings(base=BASE, storage="", rules=True)
    assert contract_of(order, allowing, None).beside == ("n > 1",)
    with pytest.raises(BadRule):
        contract_of(Order(prompt="x", schema=SCHEMA, rules=("m > 1",)), allowing, None)


def test_a_schema_is_measured_in_bytes():
    order = Order(prompt="x", schema='{"title":"' + "é" * 50 + '"}')
    assert contract_of(order, SETTINGS, 113) is not None
    with pytest.raises(SchemaTooBig, match="has 112 bytes, and 111 are taken"):
        contract_of(order, SETTINGS, 111)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=40)
@given(
    st.builds(
        Order,
        prompt=TEXT,
        schema=st.none() | TEXT,
        history=st.lists(st.builds(Said, st.booleans(), TEXT)).map(tuple),
        rules=st.lists(TEXT).map(tuple),
        max_budget_usd=st.none() | st.decimals(0, 1000, places=4),
        max_budget_tokens=st.none() | st.integers(1, 10**9),
        max_repeats=st.none() | st.integers(1, 10**6),
        deadline_s=st.none() | st.floats(0.1, 1e6),
        partial=st.booleans(),
        kept=st.booleans(),
    )
)
def test_what_is_kept_is_read_back_the_same(order):
    again = read_order(written(order))
    assert again == order
    assert digest(again) == digest(order)
    assert "\n" not in summary(order)
    assert len(summary(order)) <= 200


def test_only_how_it_is_shown_does_not_count_for_a_key():
    order = Order(prompt="x", schema=SCHEMA)
    assert digest(Order(prompt="x", schema=SCHEMA, partial=True)) == digest(order)
    assert (
        len(
            {
                digest(o)
                for o in (
                    order,
                    Order(prompt="y", schema=SCHEMA),
                    Order(prompt="x"),
                    Order(prompt="x", schema=SCHEMA, max_turns=1),
                )
            }
        )
        == 4
    )
