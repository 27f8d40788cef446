"""Python types as contracts: any annotation that Pydantic (or msgspec, for its structs) can describe, and back.

The schema says what a schema can say; what only the type knows (validators, cross-field rules) is asked when the object is
loaded, and comes back as problems in the type's own words.

Must not go in here: reading schemas, putting the caller's folder on the import path (the command does).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import msgspec

from lastcall.contract.accidents import accident
from lastcall.contract.json_text import pointer_token, write_json
from lastcall.contract.parse import schema_from_value
from lastcall.contract.rules import TypeRule
from lastcall.errors import BadSchema, MissingExtra
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue
from lastcall.nouns.schema import OutputSchema

Loader = Callable[[JsonValue], tuple[object, tuple[Problem, ...]]]
"""The object as the type, or `None` and what the type refuses. Raises nothing."""

KEYWORD: Final = "type_validator"
"""The keyword of a problem that a type found."""

_FLOAT_DIGITS: Final = 15
"""Digits that a double keeps; numbers with more are handed over as they are."""
_PLACE = re.compile(r" - at `\$?([^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+|\.\.\.)\]")


def rule_of(reference: str) -> tuple[OutputSchema, TypeRule]:
    """The schema of the type that `module:Type` names, and the rule that its own validators are."""
    schema, loader = schema_of(type_at(reference))
    return schema, TypeRule(reference, loader)


def type_at(reference: str) -> Any:
    """What `module:Type` names (`module:Outer.Inner` too).

    Raises `BadSchema` for a module that cannot be imported or does not hold the name.
    """
    module_name, _, names = reference.partition(":")
    try:
        found: Any = import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- the caller's module may raise anything; it is told
        raise BadSchema(f"The module {module_name} cannot be imported: {accident(error)}.", where=reference) from None
    for name in names.split("."):
        found = getattr(found, name, _NOTHING)
        if found is _NOTHING:
            raise BadSchema(f"The module {module_name} has no {names}.", where=reference)
    return found


_NOTHING: Final = object()


def schema_of(annotation: Any) -> tuple[OutputSchema, Loader]:
    """The schema of a type, and the loader that turns an object into it.

    Takes what Pydantic takes: models, dataclasses, `TypedDict`, `NamedTuple`, `Enum`, `Literal`, unions, containers,
    scalars, `Annotated`; and msgspec structs. Raises `BadSchema` for a type without a JSON Schema, `MissingExtra` where
    Pydantic is not installed.
    """
    if isinstance(annotation, (FunctionType, BuiltinFunctionType, MethodType, ModuleType)):
        raise BadSchema(f"{_named(annotation)} is no type.")
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return _from_msgspec(annotation)
    return _from_pydantic(annotation)


def _no_schema(annotation: Any, error: Exception) -> BadSchema:
    first_line = str(error).partition("\n")[0]
    return BadSchema(f"The type {_named(annotation)} has no JSON Schema: {first_line}")


def _named(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


# -- Pydantic -------------------------------------------------------------------------------------------------------


def _from_pydantic(annotation: Any) -> tuple[OutputSchema, Loader]:
    try:
        import pydantic  # noqa: PLC0415 -- an extra, and heavy
    except ImportError:
        raise MissingExtra(
            "Python types as contracts need Pydantic, which is not installed.",
            hint="Install it with: pip install 'lastcall[pydantic]'",
        ) from None
    try:
        adapter = pydantic.TypeAdapter(annotation)
        described = adapter.json_schema()
    except pydantic.errors.PydanticSchemaGenerationError:
        return _from_msgspec(annotation)
    except pydantic.errors.PydanticUserError as error:
        if error.code == "typed-dict-version":
            return _from_msgspec(annotation)  # which takes the standard library's, before Python 3.12 too
        raise _no_schema(annotation, error) from None
    except (pydantic.errors.PydanticUndefinedAnnotation, TypeError) as error:
        raise _no_schema(annotation, error) from None

    def load(value: JsonValue) -> tuple[object, tuple[Problem, ...]]:
        try:
            if _is_beyond_floats(value):
                return adapter.validate_python(value), ()
            return adapter.validate_json(write_json(value, numbers="exact")), ()
        except pydantic.ValidationError as error:
            return None, tuple(_problem(item, value) for item in error.errors(include_url=False, include_input=False))
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- a validator is the caller's code: anything may come
            return None, (_raised(annotation, error),)

    return schema_from_value(described, where=_named(annotation)), load


def _is_beyond_floats(value: JsonValue) -> bool:
    """Whether a number would lose digits on its way through JSON text (Pydantic reads fractions as doubles)."""
    todo: list[Any] = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, Decimal):
            if len(node.as_tuple().digits) > _FLOAT_DIGITS:
                return True
        elif isinstance(node, int) and node.bit_length() > 10_000:
            return True
    return False


def _raised(annotation: Any, error: BaseException) -> Problem:
    return Problem("", KEYWORD, f"the validators of {_named(annotation)} failed: {accident(error)}")


def _problem(item: Any, value: JsonValue) -> Problem:
    """One error of Pydantic. Its location names union members and validators besides keys; those are left out."""
    path, node = "", value
    for token in item["loc"]:
        if isinstance(node, dict) and isinstance(token, str) and (token in node or item["type"] == "missing"):
            path, node = f"{path}/{pointer_token(token)}", node.get(token)
        elif isinstance(node, list) and isinstance(token, int) and token < len(node):
            path, node = f"{path}/{token}", node[token]
    return Problem(path, KEYWORD, item["msg"], {"type": item["type"]})


# -- msgspec --------------------------------------------------------------------------------------------------------


def _from_msgspec(annotation: Any) -> tuple[OutputSchema, Loader]:
    try:
        described = msgspec.json.schema(annotation)
        decoder = msgspec.json.Decoder(annotation)
    except (TypeError, RuntimeError) as error:
        raise _no_schema(annotation, error) from None

    def load(value: JsonValue) -> tuple[object, tuple[Problem, ...]]:
        try:
            return decoder.decode(write_json(value, numbers="exact")), ()
        except msgspec.MsgspecError as error:
            message = str(error)
            place = _PLACE.search(message)
            return None, (Problem(_pointer(place.group(1) if place else ""), KEYWORD, _PLACE.sub("", message)),)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- `__post_init__` is the caller's code
            return None, (_raised(annotation, error),)

    return schema_from_value(described, where=_named(annotation)), load


def _pointer(place: str) -> str:
    """A place of msgspec (`.lines[0].amount`) as a JSON Pointer, up to where it is exact."""
    path = ""
    for name, index in _STEP.findall(place):
        if index == "...":
            break
        path += f"/{pointer_token(name or index)}"
    return path
