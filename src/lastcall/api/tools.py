"""Python functions as tools: the schema from the signature, the description from the docstring.

```python
@lastcall.tool
def lookup(vendor: str, context: lastcall.ToolContext) -> dict:
    '''The vendor's record.'''
```

Pydantic reads the signature and the arguments. A parameter annotated `ToolContext` is filled in by lastcall and shown to
nobody. What a function raises is told to the model as a failure (`tools.running`).

Must not go in here: built-in tools, permissions.
"""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast, overload

from msgspec import Struct

from lastcall.api.rules import DEPENDENCIES, call
from lastcall.contract.finishing_tools import NAMES
from lastcall.contract.json_text import pointer_token, write_json
from lastcall.errors import BadConfig, MissingExtra
from lastcall.nouns.json import JsonObject
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.tools import Output, Subject
from lastcall.tools import ToolContext as CallContext

P = ParamSpec("P")
R = TypeVar("R")

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HINT: Final = "Annotate each parameter, and take no *args or **kwargs."


class ToolContext(Struct, frozen=True):
    """What a call of a Python tool may know.

    `idempotency_key` is the same when the call is run again after a crash: give it to services that take one. `deps` is
    what the run was given as `deps`.
    """

    call_id: str
    idempotency_key: str
    cwd: str
    deps: Any = None


class BadArguments(ValueError):  # noqa: N818 -- named for what happened
    """The arguments fit the tool's schema, but not its types. The words are for the model."""


class PythonTool(Generic[P, R]):
    """A function that the model may call; for Python it is still the function."""

    edits_files = False

    def __init__(self, function: Callable[P, R], definition: ToolDefinition, arguments: Arguments) -> None:
        self.definition = definition
        self._function = function
        self._arguments = arguments
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it were no tool."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.definition.name}>"

    def subject(self, arguments: JsonObject) -> Subject:  # noqa: ARG002 -- a `Tool`
        """Permission rules name the whole tool."""
        return None

    async def run(self, arguments: JsonObject, context: CallContext) -> Output:
        """Call the function with arguments of the model. Raises what it raises, and `BadArguments`."""
        own = ToolContext(context.call_id, context.idempotency_key, str(context.workspace.cwd), DEPENDENCIES.get())
        args, kwargs = self._arguments.read(arguments, own)
        found = await call(lambda: self._function(*args, **kwargs))
        return found if isinstance(found, Output) else Output(_text(found))


class Arguments(Struct, frozen=True):
    """How arguments of the model become those of a function.

    `model` is a Pydantic model whose fields stand in the order of `names`; `positional` parameters come first.
    `contexts` are the parameters that take a `ToolContext`.
    """

    model: Any
    names: tuple[tuple[str, str], ...]
    positional: tuple[str, ...]
    contexts: tuple[str, ...]

    def read(self, arguments: JsonObject, context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """The positional arguments and the others. Raises `BadArguments`."""
        import pydantic  # noqa: PLC0415 -- an extra, and heavy

        try:
            value = self.model.model_validate_json(write_json(arguments, numbers="exact"))
        except pydantic.ValidationError as error:
            raise BadArguments(_words(error.errors(include_url=False, include_input=False))) from None
        given = {name: getattr(value, field) for field, name in self.names if field in value.model_fields_set}
        given |= dict.fromkeys(self.contexts, context)
        return [given.pop(name) for name in self.positional if name in given], given


# -- making tools ---------------------------------------------------------------------------------------------------


@overload
def tool(function: Callable[P, R], /) -> PythonTool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, read_only: bool = False
) -> Callable[[Callable[P, R]], PythonTool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
) -> Any:
    """Make a tool of a function, synchronous (run in a thread) or asynchronous.

    `name` and `description` take the place of the function's own. `read_only` says that a call changes nothing, so that
    it may be run again after a crash and beside others. Raises `BadConfig` for a signature that no schema describes,
    `MissingExtra` where Pydantic is not installed.
    """
    around = sys._getframe(1).f_locals  # noqa: SLF001 -- types that are local to the caller, as annotations name them
    if function is not None:
        return make_tool(function, around=around)
    return lambda made: make_tool(made, name=name, description=description, read_only=read_only, around=around)


def make_tool(
    function: Callable[P, R],
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    around: Mapping[str, Any] | None = None,
) -> PythonTool[P, R]:
    """`tool` as a plain function. `around` holds names that annotations may use."""
    named: str = name or getattr(function, "__name__", "") or type(function).__name__
    if not _NAME.fullmatch(named) or named in NAMES:
        hint = "Use letters, digits, _ and -, and no name of a finishing tool."
        raise BadConfig(f"no tool can be called {named!r}", hint=hint, where="tools")
    arguments = _arguments(function, named, dict(around or {}))
    words = description if description is not None else inspect.getdoc(function) or ""
    return PythonTool(function, define(named, words, _schema(arguments.model, named), read_only=read_only), arguments)


def _arguments(function: Callable[..., Any], name: str, around: dict[str, Any]) -> Arguments:
    pydantic = _pydantic()
    try:
        hints = typing.get_type_hints(function, localns=around, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise BadConfig(f"the signature of the tool {name} cannot be read: {error}", where="tools") from None
    fields: dict[str, Any] = {}
    names: list[tuple[str, str]] = []
    contexts: list[str] = []
    for parameter in parameters:
        hint = hints.get(parameter.name)
        if hint is ToolContext:
            contexts.append(parameter.name)
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name not in hints:
            raise BadConfig(f"the tool {name} has no type for {parameter.name!r}", hint=_HINT, where="tools")
        field = f"p{len(names)}"  # a name of ours: fields of a model may not be called everything
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[field] = (typing.Annotated[hint, pydantic.Field(alias=parameter.name)], default)
        names.append((field, parameter.name))
    positional = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_ONLY)
    try:
        model = pydantic.create_model(name, __config__={"extra": "forbid", "arbitrary_types_allowed": False}, **fields)
    except (pydantic.errors.PydanticUserError, TypeError) as error:
        raise _no_schema(name, error) from None
    return Arguments(model, tuple(names), positional, tuple(contexts))


def _schema(model: Any, name: str) -> JsonObject:
    from pydantic.errors import PydanticUserError  # noqa: PLC0415 -- an extra, and heavy
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415

    class Untitled(GenerateJsonSchema):
        """Titles only repeat names."""

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 -- of the library
            return False

    try:
        schema = model.model_json_schema(schema_generator=Untitled)
    except PydanticUserError as error:
        raise _no_schema(name, error) from None
    schema.pop("title", None)
    return cast("JsonObject", schema)


def _no_schema(name: str, error: Exception) -> BadConfig:
    first_line = str(error).partition("\n")[0]
    return BadConfig(f"the parameters of the tool {name} have no JSON Schema: {first_line}", hint=_HINT, where="tools")


def _pydantic() -> Any:
    try:
        import pydantic  # noqa: PLC0415 -- an extra, and heavy
    except ImportError:
        raise MissingExtra(
            "Python functions as tools need Pydantic, which is not installed.",
            hint="Install it with: pip install 'lastcall[pydantic]'",
        ) from None
    return pydantic


# -- words ----------------------------------------------------------------------------------------------------------


def _text(found: Any) -> str:
    """What a tool gave back, for the model: text as it is, everything else as JSON."""
    if found is None:
        return ""
    if isinstance(found, str):
        return found
    from pydantic_core import to_json  # noqa: PLC0415 -- comes with Pydantic

    return to_json(found, fallback=str).decode()


def _words(errors: list[Any]) -> str:
    return "; ".join(f"{''.join(f'/{pointer_token(str(t))}' for t in e['loc']) or '/'}: {e['msg']}" for e in errors)
