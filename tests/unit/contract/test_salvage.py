"""What a model may have meant as the object, in prose."""

from __future__ import annotations

import time

import pytest

from lastcall.contract.salvage import MOST_CHARS, candidates


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1}', ['{"a":1}']),
        ('Here:\n```json\n{"a":1}\n```\nDone.', ['{"a":1}']),
        ('It is {"a":1} I think.', ['{"a":1}']),
        ('The list is ["a", "b"].', ['["a", "b"]']),
        ('{"a":{"b":[1,2', ['{"a":{"b":[1,2]}}']),
        ('{"a":"cut of', ['{"a":"cut of"}']),
        ('{"a":"a \\"quote', ['{"a":"a \\"quote"}']),
        ('```\n{"a":1', ['{"a":1}']),
        ('Two: {"a":1} and {"a":2}', ['{"a":1} and {"a":2}']),
    ],
)
def test_each_layer_gives_its_candidate(text, found):
    assert [c for c in candidates(text) if c != text] == [f for f in found if f != text]
    assert next(candidates(text)) == text


@pytest.mark.parametrize("text", ["", "   ", "no object here"])
def test_prose_gives_nothing_but_itself(text):
    assert list(candidates(text)) == ([text.strip()] if text.strip() else [])


def test_brackets_that_do_not_pair_are_not_closed():
    assert list(candidates('{"a":]')) == ['{"a":]']
    assert all(len(c) <= 500 for c in candidates("[" * 500))


def test_long_texts_are_left_alone_and_none_takes_long():
    assert list(candidates("{" * (MOST_CHARS + 1))) == []
    began = time.perf_counter()
    list(candidates("```\n" * 100_000))
    list(candidates('{"' * 100_000))
    assert time.perf_counter() - began < 3
