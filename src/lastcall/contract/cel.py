"""Rules in CEL: an expression that is true of a good object.

The object's top-level members are names in the expression, `this` is the whole object. JSON has one kind of number, and so
has a rule: numbers are compared and computed exactly, whatever their spelling (`2`, `2.0`), and `5 / 2` is 2.5. Besides
CEL's own functions there are `sum`, `min`, `max` and `abs`. A comment at the end (`// ...`) is what the model is told.
Every evaluation has a budget of steps (`contract.cel_meter`).

Must not go in here: any other kind of rule; the schema.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from lastcall.contract.cel_meter import STEPS, Meter, OutOfSteps, evaluate
from lastcall.contract.json_text import write_json
from lastcall.errors import BadRule, MissingExtra
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue

KEYWORD: Final = "rule"
"""The keyword of a problem that a rule found."""

_COMMENT: Final = re.compile(r"//\s*([^\"'\n]+?)\s*\Z")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']+)'")
_RESERVED: Final = frozenset({"in", "true", "false", "null", "this"})
_LARGEST: Final = 5_000
"""Decimal exponents that a rule computes with."""
_WORDS: Final = 300
"""Characters of an expression or an error in a sentence."""


class _Broken(Exception):  # noqa: N818 -- never leaves this file
    """The expression has no value for this object."""


class CelRule:
    """One expression. Made only by `cel_rule`."""

    __slots__ = ("_runner", "_wanted", "name", "told", "words")

    def __init__(self, expression: str, runner: Any) -> None:
        comment = _COMMENT.search(expression)
        self.name = expression
        self.words = comment.group(1) if comment else f"must satisfy the rule {_cut(expression)}"
        self.told = comment.group(1) if comment else _cut(expression)
        self._runner = runner
        self._wanted = _words(runner.ast)

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Nothing if it is true of the object; an expression that has no value for it is a problem too."""
        try:
            passed = self._truth(value)
        except _Broken as error:
            return (Problem("", KEYWORD, f"the rule {_cut(self.name)} could not be evaluated: {error}"),)
        return () if passed else (Problem("", KEYWORD, self.words),)

    def try_on(self, sample: JsonValue, names: frozenset[str]) -> None:
        """Refuse an expression that can be true of no object: it gives no truth value, or uses a name nobody has.

        `sample` is an object that fits the schema, `names` are its members' possible names. Raises `BadRule`.
        """
        try:
            self._truth(sample)
        except _Broken as error:
            unknown = _UNDECLARED.search(str(error))
            if "gives" in str(error) or (unknown and unknown.group(1) not in names):
                raise BadRule(f"{error}.", hint="Name members of the object, or this.", where=self.name) from None

    def _truth(self, value: JsonValue) -> bool:
        meter = Meter()
        try:
            result = evaluate(self._runner, _functions(meter), _names(value, self._wanted), meter)
        except OutOfSteps:
            raise _Broken(f"it takes more than {STEPS} steps; look at less of it, or in fewer ways") from None
        except RecursionError:
            raise _Broken("the object nests too deeply") from None
        except Exception as error:  # noqa: BLE001 -- a foreign evaluator on a foreign expression
            raise _Broken(_cause(error)) from None
        if type(result).__name__ not in ("bool", "BoolType"):
            raise _Broken(f"it gives {_cut(str(result))}, which is neither true nor false")
        return bool(result)


def cel_rule(expression: str) -> CelRule:
    """The rule that an expression is. Raises `BadRule` for one that cannot be read, `MissingExtra` without the library."""
    try:
        import celpy  # noqa: PLC0415 -- an extra, and heavy
    except ImportError:
        raise MissingExtra(
            "Rules in CEL need cel-python, which is not installed.",
            hint="Install it with: pip install 'lastcall[rules]'",
        ) from None
    environment = celpy.Environment()
    try:
        tree = environment.compile(expression)
    except Exception as error:  # noqa: BLE001 -- the parser's own exceptions, whatever they are called
        first = " ".join(str(error).split())
        raise BadRule(f"the rule is no CEL expression: {_cut(first)}", where=_cut(expression)) from None
    return CelRule(expression, environment.program(tree))


def _cause(error: Exception) -> str:
    """What went wrong, in the words of whoever raised it: the evaluator keeps those in its third argument."""
    said = str(error.args[0]) if error.args else str(error)
    inner = error.args[2] if len(error.args) > 2 else ()
    if isinstance(inner, tuple) and inner and isinstance(inner[0], str) and "overload" not in said:
        said = inner[0]
    unknown = _UNDECLARED.search(said) or _UNDECLARED.search(str(error))
    return f"undeclared reference to '{unknown.group(1)}'" if unknown else _cut(" ".join(said.split()))


def _words(tree: Any) -> frozenset[str]:
    """Every word of an expression: the names in it, and more."""
    found, todo = set[str](), [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            found.add(str(node))
        todo += getattr(node, "children", ())
    return frozenset(found)


def _cut(text: str) -> str:
    return text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…"


# -- values ---------------------------------------------------------------------------------------------------------


def _names(value: JsonValue, wanted: frozenset[str]) -> dict[str, Any]:
    """What an expression can name, as far as it does."""
    members = value.items() if isinstance(value, dict) else ()
    names = {k: _value(v) for k, v in members if k in wanted and _NAME.fullmatch(k) and k not in _RESERVED}
    return {**names, "this": _value(value)} if "this" in wanted else names


def _value(value: JsonValue) -> Any:
    from celpy import celtypes  # noqa: PLC0415 -- an extra

    match value:
        case bool():
            return celtypes.BoolType(value)
        case str():
            return celtypes.StringType(value)
        case int() | float() | Decimal():
            return _number(value)
        case list():
            return celtypes.ListType([_value(item) for item in value])
        case dict():
            return celtypes.MapType({celtypes.StringType(key): _value(member) for key, member in value.items()})
        case _:
            return None


def _number(value: Any) -> Fraction:
    """A number of the object or of the expression, exactly as it was written."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float):
        return Fraction(repr(float(value)))
    if isinstance(value, Decimal) and abs(value.adjusted()) > _LARGEST:
        raise ValueError("a number is too large to compute with")
    return Fraction(value) if isinstance(value, Decimal) else Fraction(int(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal, Fraction)) and type(value).__name__ not in ("bool", "BoolType")


def _equal(a: Any, b: Any) -> bool:
    if _is_number(a) and _is_number(b):
        return _number(a) == _number(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, str) and isinstance(b, str):
        return str(a) == str(b)
    return type(a) is type(b) and bool(a == b)


# -- operators and functions ----------------------------------------------------------------------------------------


def _functions(meter: Meter) -> dict[str, Callable[..., Any]]:
    """The operators on exact numbers, and the functions on lists of them."""
    arithmetic = {
        "_+_": operator.add,
        "_-_": operator.sub,
        "_*_": operator.mul,
        "_/_": _divided,
        "_%_": _rest,
    }
    order = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}
    others: dict[str, Callable[..., Any]] = {
        "_==_": lambda a, b: _truth(_equal(a, b)),
        "_!=_": lambda a, b: _truth(not _equal(a, b)),
        "_in_": _is_in,
        "_[_]": _at,
        "string": _string,
        "int": _whole,
        "uint": _whole,
        "double": _real,
        "sum": lambda items: meter.total(_numbers(items)),
        "min": lambda items: min(_numbers(items)),
        "max": lambda items: max(_numbers(items)),
        "abs": lambda value: abs(_number(value)),
    }
    every = {name: _computes(op) for name, op in arithmetic.items()}
    every |= {name: _compares(op) for name, op in order.items()}
    either = {"_||_": _decided_by(decisive=True), "_&&_": _decided_by(decisive=False)}
    return {name: _unless_broken(function) for name, function in (every | others).items()} | either


def _truth(value: bool) -> Any:
    from celpy import celtypes  # noqa: PLC0415 -- an extra

    return celtypes.BoolType(value)


def _decided_by(*, decisive: bool) -> Callable[[Any, Any], Any]:
    """`||` and `&&`: one decisive side is enough, whatever the other; then an error is the answer, if there is one."""

    def apply(a: Any, b: Any) -> Any:
        for side in (a, b):
            if type(side).__name__ == "BoolType" and bool(side) is decisive:
                return _truth(decisive)
        for side in (a, b):
            if isinstance(side, Exception):
                return side
            if type(side).__name__ != "BoolType":
                raise ValueError("a truth value is wanted")
        return _truth(not decisive)

    return apply


def _computes(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return op(_number(a), _number(b)) if _is_number(a) and _is_number(b) else op(a, b)

    return apply


def _compares(op: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if _is_number(a) != _is_number(b):
            raise ValueError("a number is compared with something else")
        return _truth(op(_number(a), _number(b)) if _is_number(a) else op(a, b))

    return apply


def _is_in(item: Any, container: Any) -> Any:
    if isinstance(container, dict):
        return _truth(item in container)
    return _truth(any(_equal(item, other) for other in container))


def _at(container: Any, key: Any) -> Any:
    index = int(_number(key)) if _is_number(key) and _number(key).denominator == 1 else key
    if isinstance(container, list) and not 0 <= index < len(container):
        raise IndexError(f"there is no item {index}")
    return container[index]


def _string(value: Any) -> Any:
    from celpy import celtypes  # noqa: PLC0415 -- an extra

    return celtypes.StringType(_written(_number(value)) if _is_number(value) else value)


def _whole(value: Any) -> Fraction:
    return Fraction(int(_real(value)))


def _real(value: Any) -> Fraction:
    return _number(value) if _is_number(value) else Fraction(str(value))


def _unless_broken(function: Callable[..., Any]) -> Callable[..., Any]:
    """The evaluator hands errors on as values, so that `||` and `&&` can do without them; so does this."""
    from celpy.evaluation import CELEvalError  # noqa: PLC0415 -- an extra

    def apply(*values: Any) -> Any:
        for value in values:
            if isinstance(value, Exception):
                return value
        try:
            return function(*values)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            return CELEvalError(str(error), type(error), error.args)

    return apply


def _divided(a: Any, b: Any) -> Any:
    if b == 0:
        raise ValueError("division by zero")
    return a / b


def _rest(a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend, as CEL has it."""
    return a - b * int(_divided(a, b))


def _numbers(items: Iterable[Any]) -> Iterator[Fraction]:
    for item in items:
        if not _is_number(item):
            raise ValueError("a list of numbers is wanted")
        yield _number(item)


def _written(number: Fraction) -> str:
    """A number as JSON writes it, where it has an end."""
    if number.denominator == 1:
        return str(number.numerator)
    return write_json(Decimal(number.numerator) / Decimal(number.denominator), numbers="exact")


def names_in(schema: Any) -> frozenset[str]:
    """Names of members that a schema speaks of, anywhere in it."""
    names: set[str] = set()
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            properties = node.get("properties")
            names.update(properties if isinstance(properties, dict) else ())
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return frozenset(names)
