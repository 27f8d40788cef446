"""The prompt's template."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from lastcall.batches.template import CannotRender, PromptTemplate
from lastcall.errors import BadConfig


def filled(template: str, **values: Any) -> str:
    return PromptTemplate(template).render(values)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a <b> & c", "a <b> & c"),
        (None, "null"),
        (True, "true"),
        (Decimal("1.50"), "1.50"),
        (10**30, "1" + "0" * 30),
        ({"a": [None, "x"]}, '{"a":[null,"x"]}'),
        (date(2026, 11, 30), "2026-11-30"),
        (object, "<class 'object'>"),
    ],
)
def test_text_stands_as_it_is_and_everything_else_as_json_writes_it(value: Any, written: str) -> None:
    assert filled("<{{ v }}>", v=value) == f"<{written}>"


def test_what_a_row_holds_is_never_read_as_a_template() -> None:
    assert filled("{{ v }}", v="{{ 7 * 7 }}{% raw %}") == "{{ 7 * 7 }}{% raw %}"


def test_columns_whose_names_are_no_identifiers_are_reached_through_the_whole_row() -> None:
    subject = PromptTemplate('{{ row["First name"] }} {{ id }}')
    assert subject.names == {"First name", "id"}
    assert subject.render({"First name": "Ada", "id": 1}) == "Ada 1"


def test_a_column_called_row_is_a_column() -> None:
    assert filled("{{ row }}", row="x") == "x"


def test_the_names_that_a_row_must_have_are_known_before() -> None:
    subject = PromptTemplate(
        "{{ a }} {% if b %}{{ c.d }}{% endif %} {% for x in items %}{{ x }}{% endfor %} {{ range(2)|list }}"
        "{% if e is defined %}{{ e }}{% endif %} {{ f|default('none') }} {% set g = 1 %}{{ g }}"
    )
    assert subject.names == {"a", "b", "c", "items"}
    assert subject.missing(("b", "items", "z")) == ("a", "c")


def test_names_that_are_asked_about_may_be_missing() -> None:
    assert filled("{{ a }}{% if e is defined %}{{ e }}{% endif %}{{ f|default('-') }}", a=1) == "1-"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ text }}", "no 'text'"),
        ("{{ a.b.c }}", "does not have"),
        ("{{ row['x'] }}", "no 'x'"),
        ("{{ a / 0 }}", "division by zero"),
        ("{{ a + 'x' }}", "cannot be filled"),
        ("{{ a.__class__.__mro__ }}", "unsafe"),
        ("{{ ''.join([''] * a) }}", "the prompt is empty"),
    ],
)
def test_a_row_that_the_template_cannot_be_filled_from_is_refused_in_a_sentence(template: str, said: str) -> None:
    with pytest.raises(CannotRender, match=said):
        filled(template, a=1)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ text", "line 1"),
        ("a\n{% if x %}", "line 2"),
        ("{% include 'passwords' %}", "include"),
        ("{% extends 'x' %}{{ a }}", "include"),
        ("{% from 'x' import y %}{{ a }}", "include"),
        ("Label this.", "names no column"),
        ("{{ 1 + 1 }}", "names no column"),
        ("{{ x | no_such_filter }}", "no_such_filter"),
    ],
)
def test_what_is_no_template_over_rows_is_refused_before_anything_is_sent(template: str, said: str) -> None:
    with pytest.raises(BadConfig, match=said) as caught:
        PromptTemplate(template, where="--prompt")
    assert caught.value.where == "--prompt"
    assert "\n" not in str(caught.value)


def test_a_long_beginning_is_sent_apart_so_that_it_can_be_kept() -> None:
    beginning = "Rules. " * 200
    subject = PromptTemplate(beginning + "{{ text }} end")
    assert subject.parts(subject.render({"text": "x"})) == (beginning, "x end")


@pytest.mark.parametrize(
    "template", ["Short: {{ text }}", "{{ text }}" + "x" * 2000, "{% if text %}" + "y" * 2000 + "{% endif %}"]
)
def test_a_prompt_without_a_long_beginning_is_sent_in_one_piece(template: str) -> None:
    subject = PromptTemplate(template)
    prompt = subject.render({"text": "x"})
    assert subject.parts(prompt) == (prompt,)


def test_a_prompt_that_ends_where_the_beginning_does_is_sent_in_one_piece() -> None:
    subject = PromptTemplate("a" * 2000 + "{{ text }}")
    assert subject.parts(subject.render({"text": ""})) == ("a" * 2000,)
