"""Rules in CEL, on exact numbers."""

from __future__ import annotations

import sys
from decimal import Decimal

import pytest

from lastcall.contract.cel import cel_rule, names_in
from lastcall.errors import BadRule, MissingExtra
from lastcall.nouns.attachment import Problem

INVOICE = {
    "total": Decimal("0.3"), "n": 6, "two": Decimal("2.0"), "name": "ab", "ok": True, "none": None, "big": 2**63 + 1,
    "lines": [{"a": Decimal("0.1"), "q": 2}, {"a": Decimal("0.2"), "q": 3}], "i": [1, 2], "odd name": 1, "true": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "expression",
    [
        "total == sum(lines.map(l, l.a))", "n == 6.0", "lines[0].a * lines[0].q == 0.2", "lines[0].a + 1 == 1.1",
        "n % 4 == 2", "n / 4 == 1.5", "1 / 3 * 3 == 1", "n - 1 == 5", "big > 5", "n >= 6 && n <= 6", "n > 5.5", "n < 6.5",
        "name.startsWith('a')", "name.matches('^a+b$')", "lines.exists(l, l.a > 0.15)", "i.all(x, x > 0)",
        "lines.filter(l, l.q > 2).size() == 1", "lines.exists_one(l, l.q == 2)", "n == 6 ? true : false",
        "[1, 2].all(x, x in i)", "!(3 in i)", "'a' in {'a': 1}", "size(name) == 2", "none == null", "n != 7", "n in [6, 7]",
        "lines.map(l, l.q) == [2, 3]", "lines[n - 6].q == 2", "size(lines) * 2 == 4", "!has(lines[0].zz)", "has(this.n)",
        "this['odd name'] == 1", "this['true'] == 1", "string(total) == '0.3' && string(n) == '6' && string(name) == 'ab'",
        "int('12') == 12 && int(2.9) == 2 && double('1.5') == 1.5 && double(n) == 6", "min(i) == 1 && max(i) == 2",
        "-n % 4 == -2 && 7.5 % 2 == 1.5", "abs(-n) == 6", "!('a' == 1)", "!(ok == 1)", "ok == true", "this.i == i", "{'a': 1} == {'a': 1.0}",
        "timestamp('2024-01-01T00:00:00Z') < timestamp('2025-01-01T00:00:00Z')", "'a' + 'b' == name", "two == 2",
    ],
)  # fmt: skip
def test_the_expression_is_true_of_the_object(expression):
    assert cel_rule(expression).problems(INVOICE) == ()


def test_what_is_not_true_is_told_in_the_rules_own_words_or_its_comment():
    assert cel_rule("n == 7").problems(INVOICE) == (Problem("", "rule", "must satisfy the rule n == 7"),)
    told = cel_rule("n == 7 // n is the number of days in a week").problems(INVOICE)
    assert told == (Problem("", "rule", "n is the number of days in a week"),)
    (cut,) = cel_rule("n == 7 || " * 100 + "n == 8").problems(INVOICE)
    assert len(cut.message) < 350


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("missing == 1", "undeclared reference to 'missing'"),
        ("nothing(1)", "undeclared reference to 'nothing'"),
        ("n + 1", "it gives 7, which is neither true nor false"),
        ("n > name", "a number is compared with something else"),
        ("lines[9].q == 1", "there is no item 9"),
        ("sum(['a']) == 1", "a list of numbers is wanted"),
        ("n / 0 == 1", "division by zero"),
    ],
)
def test_a_rule_without_a_value_for_the_object_is_a_problem_and_no_exception(expression, why):
    (problem,) = cel_rule(expression).problems(INVOICE)
    assert (problem.path, problem.keyword) == ("", "rule")
    assert why in problem.message


def test_a_number_beyond_all_measure_is_told_not_computed():
    (problem,) = cel_rule("n + 1 > 0").problems({"n": Decimal("1e999999")})
    assert "too large" in problem.message


def test_a_value_that_nests_deeply_is_told():
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    (problem,) = cel_rule("this == 1").problems(deep)
    assert "too deeply" in problem.message


def test_a_root_that_is_no_object_is_this():
    assert cel_rule("this.size() == 2 && this[0] == 'a'").problems(["a", "b"]) == ()
    assert cel_rule("this == 0.5").problems(0.5) == ()


@pytest.mark.parametrize("expression", ["total ==", "a b", "", "(" * 3])
def test_what_is_no_expression_is_refused_before_the_run(expression):
    with pytest.raises(BadRule, match="no CEL expression"):
        cel_rule(expression)


@pytest.mark.parametrize("expression", ["missing == 1", "nothing(n)", "n + 1"])
def test_a_rule_that_can_be_true_of_no_object_is_refused_on_a_sample(expression):
    with pytest.raises(BadRule):
        cel_rule(expression).try_on({"n": 1}, frozenset({"n", "optional"}))


@pytest.mark.parametrize("expression", ["n == 5", "optional == 1", "n > 'a'"])
def test_a_rule_that_some_object_may_pass_is_not(expression):
    cel_rule(expression).try_on({"n": 1}, frozenset({"n", "optional"}))


def test_names_are_found_at_any_depth():
    schema = {"properties": {"a": {"items": {"properties": {"b": True}}}}, "anyOf": [{"properties": {"c": {}}}]}
    assert names_in(schema) == {"a", "b", "c"}
    assert names_in({"properties": 1}) == frozenset()


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "celpy", None)
    with pytest.raises(MissingExtra) as caught:
        cel_rule("true")
    assert "lastcall[rules]" in caught.value.hint


def test_a_rule_that_nests_deeply_is_told_not_fatal():
    (problem,) = cel_rule("(" * 3000 + "true" + ")" * 3000).problems({})
    assert "could not be evaluated" in problem.message


def test_a_rule_that_takes_too_many_steps_is_told_so():
    (problem,) = cel_rule("n.all(x, s + s != s)").problems({"n": list(range(2_000)), "s": "x" * 100_000})
    assert "it takes more than 1000000 steps" in problem.message


@pytest.mark.parametrize("expression", ["missing || missing", "false || n", "true && 1"])
def test_a_side_that_is_in_error_or_no_truth_value_is_told_unless_the_other_decides(expression):
    assert len(cel_rule(expression).problems({"n": 1})) == 1


@pytest.mark.parametrize(
    "expression", ["true || n", "missing || true", "!(false && n)", "!(false || false)", "true && true"]
)
def test_one_decisive_side_is_enough(expression):
    assert cel_rule(expression).problems({"n": 1}) == ()
