"""The evaluator of CEL under a budget of steps: no rule takes long on any object.

Every node of the expression that is visited costs a step, every call of a function costs by the size of what it is given,
and numbers cost by their digits, since exact ones grow. When the budget is spent, `OutOfSteps` ends the evaluation; it is
no `Exception`, so that no part of the foreign evaluator can take it for an error of the expression.

Must not go in here: what operators mean (`contract.cel`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Final

STEPS: Final = 1_000_000
"""Some three seconds; a simple condition on each of 30,000 items."""

_DEEP: Final = frozenset({"_==_", "_!=_", "_in_", "contains", "string", "list", "map"})
"""Functions that look at all of what they are given."""


class OutOfSteps(BaseException):
    """The budget is spent: a signal that nobody on the way may catch."""


class Meter:
    """The steps that are left."""

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take from the budget. Raises `OutOfSteps`."""
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps

    def weigh(self, value: Any, *, deep: bool = False) -> None:
        """Spend what looking at a value costs; `deep`: at all that is in it."""
        todo = [value]
        while todo:
            node = todo.pop()
            self.spend(_weight(node))
            if deep and isinstance(node, list):
                todo.extend(node)
            elif deep and isinstance(node, dict):
                todo.extend(node.values())

    def metered(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, paid for by what it is given."""
        deep = name in _DEEP

        def apply(*values: Any) -> Any:
            for value in values:
                self.weigh(value, deep=deep)
            return function(*values)

        return apply

    def total(self, numbers: Iterable[Fraction]) -> Fraction:
        """The sum of numbers, whose digits may grow from one to the next."""
        out = Fraction(0)
        for number in numbers:
            out += number
            self.spend(_weight(out))
        return out


def _weight(value: Any) -> int:
    if isinstance(value, Fraction):
        bits = value.numerator.bit_length() + value.denominator.bit_length()
        return 1 + (bits >> 9) ** 2
    if isinstance(value, str):
        return 1 + (len(value) >> 5)
    return 1 + (len(value) >> 3) if isinstance(value, (list, dict, bytes)) else 1


def evaluate(runner: Any, functions: Mapping[str, Callable[..., Any]], names: Mapping[str, Any], meter: Meter) -> Any:
    """The value of a compiled expression (a runner of the library). Raises what the library raises, and `OutOfSteps`."""
    activation = runner.new_activation()
    known = {**activation.functions, **functions}
    activation.functions = activation.functions.new_child({n: meter.metered(n, f) for n, f in known.items()})
    return _evaluator()(runner.ast, activation, meter).evaluate(dict(names))


@cache
def _evaluator() -> Any:  # noqa: C901 -- one class, made where its library is there
    """The library's evaluator, metered."""
    from celpy import celtypes, evaluation  # noqa: PLC0415 -- an extra

    def undeclared(name: str) -> Any:
        """An error in few words: the library's write out the whole object."""
        return evaluation.CELEvalError(f"undeclared reference to '{name}'", KeyError, ())

    class Metered(evaluation.Evaluator):
        def __init__(self, ast: Any, activation: Any, meter: Meter) -> None:
            super().__init__(ast, activation)
            self.meter = meter

        def sub_evaluator(self, ast: Any) -> Any:
            return Metered(ast, self.activation, self.meter)

        def set_activation(self, values: Any) -> Any:
            self.meter.spend(4 + len(self.base_activation.identifiers))
            return super().set_activation(values)

        def visit_children(self, tree: Any) -> Any:
            self.meter.spend(2 + len(tree.children))
            return super().visit_children(tree)

        def ident_value(self, name: str, root_scope: bool = False) -> Any:
            try:
                return super().ident_value(name, root_scope)
            except KeyError:
                return undeclared(name)

        def function_eval(self, name_token: Any, exprlist: Any = None) -> Any:
            if name_token.value not in self.activation.functions:
                return undeclared(name_token.value)
            return super().function_eval(name_token, exprlist)

        def method_eval(self, object: Any, method_ident: Any, exprlist: Any = None) -> Any:  # noqa: A002 -- the library's
            if method_ident.value not in self.activation.functions:
                return undeclared(method_ident.value)
            return super().method_eval(object, method_ident, exprlist)

        def member_dot_arg(self, tree: Any) -> Any:
            """`all` and `exists`, which the library does with errors that double in size from item to item."""
            name = tree.children[1].value
            if name not in ("all", "exists"):
                return super().member_dot_arg(tree)
            items = self.visit(tree.children[0])
            if isinstance(items, evaluation.CELEvalError):
                return items
            decisive, error = name == "exists", None
            for value in map(self.build_ss_macro_eval(tree), items):
                if isinstance(value, evaluation.CELEvalError):
                    error = error or value
                elif not isinstance(value, celtypes.BoolType):
                    error = error or evaluation.CELEvalError("a truth value is wanted", TypeError, ())
                elif bool(value) is decisive:
                    return celtypes.BoolType(decisive)
            return error or celtypes.BoolType(not decisive)

    return Metered
