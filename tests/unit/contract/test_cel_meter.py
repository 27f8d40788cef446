"""No rule takes long on any object, whatever either of them holds."""

from __future__ import annotations

import tracemalloc
from decimal import Decimal
from fractions import Fraction

import pytest

from lastcall.contract.cel import cel_rule
from lastcall.contract.cel_meter import STEPS, Meter, OutOfSteps

N = 3_000
HOSTILE = {
    "items": [{"a": n + 1} for n in range(N)], "n": list(range(N)), "s": "ab" * 200_000, "huge": Decimal("1e4000"),
    **{f"k{n}": n for n in range(2_000)},
}  # fmt: skip
TOO_DEAR = [
    "items.all(x, items.all(y, items.all(z, x.a + y.a + z.a > 0)))",
    "sum(items.map(x, 1 / x.a)) > 0",
    "items.all(x, this == this)",
    "n.all(x, n in [n, n, n])",
    "n.map(x, s + s).size() > 0",
    "n.reduce(r, i, '', r + s) == ''",
    "n.reduce(r, i, 1, r * huge) > 0",
    "n.map(x, n).map(y, y.map(z, z)).size() > 0",
]


@pytest.fixture
def short(monkeypatch):
    """A hundredth of the budget: what does not end with it does not end with the whole either."""
    monkeypatch.setattr(Meter.__init__, "__defaults__", (STEPS // 100,))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("expression", TOO_DEAR)
def test_what_would_take_long_ends_at_the_budget_and_says_so(expression):
    (problem,) = cel_rule(expression).problems(HOSTILE)
    assert problem.message.endswith("it takes more than 1000000 steps; look at less of it, or in fewer ways")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("n.exists(x, x.foo == 1)", "could not be evaluated"),
        ("n.all(x, x.foo == 1)", "could not be evaluated"),
        ("n.exists(x, nothing(x))", "undeclared reference to 'nothing'"),
        ("n.exists(x, x.nothing(1))", "undeclared reference to 'nothing'"),
        ("n.exists(x, zork == 1)", "undeclared reference to 'zork'"),
        ("n.all(x, 1)", "a truth value is wanted"),
        ("foo.all(x, true)", "undeclared reference to 'foo'"),
        (" || ".join(["n.foo == 1"] * 40), "could not be evaluated"),
        (" && ".join(["n.foo == 1"] * 40), "could not be evaluated"),
        ("1 || false", "a truth value is wanted"),
    ],
)
def test_errors_in_every_item_do_not_add_up(expression, why):
    """The library writes each error into the next one: forty of them would fill the memory."""
    tracemalloc.start()
    (problem,) = cel_rule(expression).problems({"n": list(range(200)), "s": "x" * 10_000})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert why in problem.message
    assert len(problem.message) < 700
    assert most < 50_000_000


@pytest.mark.parametrize(
    "expression",
    [
        "items.exists(x, x.foo == 1 || x.a == 3)", "!items.all(x, x.foo == 1 && x.a < 0)", "[].all(x, x.foo)", "![].exists(x, x.foo)",
        "true || n.foo", "n.foo || true", "!(false && n.foo)", "!(n.foo && false)", "!(false || false)", "true && true",
        "n.all(x, x >= 0) && n.exists(x, x == 7)", "{'a': 1}.exists(k, k == 'a')", "n.exists_one(x, x == 4)",
    ],
)  # fmt: skip
def test_one_decisive_item_or_side_is_enough_whatever_the_others_say(expression):
    assert cel_rule(expression).problems({"n": list(range(10)), "items": [{"a": n} for n in range(10)]}) == ()


def test_an_ordinary_rule_on_five_thousand_items_is_well_within_the_budget():
    lines = {"total": 5_000, "lines": [{"amount": 1}] * 5_000}
    assert cel_rule("total == sum(lines.map(l, l.amount)) && lines.all(l, l.amount > 0)").problems(lines) == ()


def test_members_that_the_rule_does_not_name_cost_nothing():
    assert cel_rule("n.all(x, x >= 0)").problems({**HOSTILE, "n": list(range(100))}) == ()


def test_a_value_costs_by_its_size():
    def cost(value: object, *, deep: bool = False) -> int:
        meter = Meter(1_000_000)
        meter.weigh(value, deep=deep)
        return 1_000_000 - meter.left

    assert cost(True) == cost(None) == cost("x") == cost([]) == 1
    assert cost("x" * 3_200) == 101
    assert cost([1] * 800) == 101
    assert cost([[1, 2], {"a": "b"}], deep=True) == 6
    assert cost(Fraction(2**5_000)) > 50
    with pytest.raises(OutOfSteps):
        Meter(10).weigh([1] * 800)


def test_a_sum_is_exact_and_paid_for():
    meter = Meter(100)
    assert meter.total([Fraction(1, 10), Fraction(2, 10)]) == Fraction(3, 10)
    assert meter.left < 100


def test_a_method_that_there_is_not_is_told_by_name():
    (problem,) = cel_rule("name.nothing(1)").problems({"name": "x"})
    assert "undeclared reference to 'nothing'" in problem.message
    assert cel_rule("name.startsWith('x') && size(name) == 1").problems({"name": "x"}) == ()
