"""A partial value in the shape of the output type, for showing it: nothing is validated, nothing fails.

Members that are not written yet have their defaults, or are `None`. A leaf that is no plain JSON (a date, an enum member)
is converted where it can be. Where the shape does not fit, plain JSON stays.

Must not go in here: reading partial text (`api.partial`), loading verified objects (`contract.from_types`).
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, Union

import msgspec
from msgspec import NODEFAULT, Struct

_PLAIN: Final = (str, int, float, bool, type(None), Any, object)
_OMITTED: Final = object()
"""Pydantic fills it in itself."""
_ARRAYS: Final = (list, set, frozenset, tuple)


class _Member(Struct, frozen=True):
    """One member of a class: its attribute, its name in JSON, its type, and what it is before it is written."""

    attribute: str
    names: tuple[str, ...]
    annotation: Any
    default: Callable[[], Any]


def sketch(value: Any, annotation: Any) -> Any:
    """`value` in the shape of `annotation` as far as it goes. Raises nothing."""
    try:
        return _sketch(value, annotation)
    except Exception:  # noqa: BLE001 -- classes of the caller may raise anything when they are looked at or filled
        return value


def _sketch(value: Any, annotation: Any) -> Any:
    while hasattr(annotation, "__value__"):  # a name for a type
        annotation = annotation.__value__
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated or origin in (typing.Required, typing.NotRequired, typing.Final):
        return _sketch(value, arguments[0])
    if value is None or annotation in _PLAIN:
        return value
    if origin in (Union, types.UnionType):
        return _of_union(value, arguments)
    if isinstance(value, dict):
        return _of_object(value, annotation, origin or annotation, arguments)
    if isinstance(value, list):
        return _of_array(value, origin or annotation, arguments)
    return value if origin is Literal else _leaf(value, annotation)


def _of_object(value: dict[str, Any], annotation: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
    members = _members(annotation, kind)
    if members is not None:
        written = {m.attribute: _written(m, value) for m in members}
        return _made(kind, {name: item for name, item in written.items() if item is not _OMITTED})
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        return {name: sketch(item, hints.get(name, Any)) for name, item in value.items()}
    if isinstance(kind, type) and issubclass(kind, Mapping) and len(arguments) == 2:
        return {name: sketch(item, arguments[1]) for name, item in value.items()}
    return value


def _written(member: _Member, value: Mapping[str, Any]) -> Any:
    for name in member.names:
        if name in value:
            return sketch(value[name], member.annotation)
    return member.default()


def _of_array(value: list[Any], kind: Any, arguments: tuple[Any, ...]) -> Any:
    hints = _named_tuple(kind)
    if hints is not None:
        padded = [*value[: len(hints)], *[None] * (len(hints) - len(value))]
        return kind(*(sketch(item, hint) for item, hint in zip(padded, hints, strict=True)))
    if kind is tuple and arguments[1:] not in ((), (...,)):
        return tuple(sketch(item, hint) for item, hint in zip(value, arguments, strict=False))
    items = [sketch(item, arguments[0] if arguments else Any) for item in value]
    if kind not in _ARRAYS:
        return items
    try:
        return kind(items)
    except TypeError:  # a set of what has no hash
        return items


def _of_union(value: Any, arguments: Iterable[Any]) -> Any:
    """The one member of the union that the value can be, as far as can be told now; else plain JSON."""
    fits = [argument for argument in arguments if argument is not type(None) and _may_be(value, argument)]
    return sketch(value, fits[0]) if len(fits) == 1 else value


def _may_be(value: Any, annotation: Any) -> bool:
    """Whether a value can become one of the type: the kind of JSON, the keys, and what a `Literal` allows."""
    while typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    kind = typing.get_origin(annotation) or annotation
    if kind is Literal:
        return value in typing.get_args(annotation)
    if isinstance(value, dict):
        members = _members(annotation, kind)
        if members is None:
            return typing.is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, Mapping))
        known = {name: member for member in members for name in member.names}
        return all(name in known and _tag_fits(value[name], known[name].annotation) for name in value)
    if isinstance(value, list):
        return _named_tuple(kind) is not None or (
            isinstance(kind, type) and issubclass(kind, Iterable) and kind is not str
        )
    return _members(annotation, kind) is None and not (isinstance(kind, type) and issubclass(kind, _ARRAYS))


def _tag_fits(value: Any, annotation: Any) -> bool:
    return typing.get_origin(annotation) is not Literal or value in typing.get_args(annotation)


# -- classes --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _members(annotation: Any, kind: Any) -> tuple[_Member, ...] | None:
    """The members of a class whose objects are JSON objects, `None` if it is none."""
    if not isinstance(kind, type):
        return None
    if hasattr(kind, "__pydantic_fields__") and hasattr(kind, "model_construct"):
        return tuple(_pydantic_member(name, field) for name, field in annotation.__pydantic_fields__.items())
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        return tuple(_dataclass_member(field, hints[field.name]) for field in dataclasses.fields(kind))
    if issubclass(kind, Struct) or hasattr(kind, "__attrs_attrs__"):
        fields = typing.cast("Any", msgspec.inspect.type_info(annotation)).fields
        hints = typing.get_type_hints(kind, include_extras=True)
        return tuple(_Member(f.name, (f.encode_name,), hints[f.name], _default(f, NODEFAULT)) for f in fields)
    return None


def _pydantic_member(name: str, field: Any) -> _Member:
    aliases = (field.validation_alias, field.alias, name)
    names = tuple(dict.fromkeys(alias for alias in aliases if isinstance(alias, str)))
    return _Member(name, names, field.annotation, _none if field.is_required() else lambda: _OMITTED)


def _dataclass_member(field: dataclasses.Field[Any], hint: Any) -> _Member:
    return _Member(field.name, (field.name,), hint, _default(field, dataclasses.MISSING))


def _default(field: Any, missing: object) -> Callable[[], Any]:
    if field.default_factory is not missing:
        return typing.cast("Callable[[], Any]", field.default_factory)
    return _none if field.default is missing else lambda: field.default


def _none() -> None:
    return None


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """An object of a class, unchecked."""
    if hasattr(kind, "model_construct"):
        return kind.model_construct(**values)
    if issubclass(kind, Struct):
        return kind(**values)  # it checks nothing
    made = kind.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _named_tuple(kind: Any) -> tuple[Any, ...] | None:
    if not (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return None
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(hints.get(name, Any) for name in kind._fields)


# -- leaves ---------------------------------------------------------------------------------------------------------


def _leaf(value: Any, annotation: Any) -> Any:
    """A scalar as its type if it is complete enough for that, else as it is."""
    try:
        return msgspec.convert(value, annotation, strict=False)
    except (msgspec.ValidationError, TypeError, ValueError):
        return value
