"""The prompt's template: Jinja2 in its sandbox, over one row.

The template's names are known before anything is sent (`PromptTemplate.missing`); a name that one row lacks fails that
row alone. Text is put in as it is, every other value as JSON writes it (`true`, `null`, `1.50`, `{"a": 1}`). Besides the
row's columns there is `row`, the whole of it, for columns whose names are no identifiers: `{{ row["First name"] }}`.

Must not go in here: where templates and rows come from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import TYPE_CHECKING, Any, Final

from lastcall.errors import BadConfig
from lastcall.wire.json import encode_value

if TYPE_CHECKING:
    from jinja2 import Template, nodes

WHOLE: Final = "row"
_LEAST_BEGINNING: Final = 1000
"""Characters of a beginning that is worth sending apart, so that a service can keep it."""
_FAULTS: Final = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError)
"""What an expression of a template may raise over values that it was not written for."""


class CannotRender(Exception):  # noqa: N818 -- what is wrong with a row, not with the program
    """The template cannot be filled from this row; the sentence says why."""


class PromptTemplate:
    """A compiled template. `names` are the columns that every row must have, `digest` is the text's SHA-256 in hex.

    `where` is the place that people are told of it.
    """

    def __init__(self, text: str, *, where: str = "--prompt") -> None:
        """Raises `BadConfig` for what is no template, one that would read files, or one that asks every row the same."""
        from jinja2 import TemplateSyntaxError, meta  # noqa: PLC0415 -- 40 ms that nothing else needs

        self.digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        environment = _environment()
        try:
            parsed = environment.parse(text)
            used = meta.find_undeclared_variables(parsed) - environment.globals.keys()
            self._template: Template = environment.from_string(text)
        except (TemplateSyntaxError, RecursionError) as error:
            line = f" (line {error.lineno})" if isinstance(error, TemplateSyntaxError) else ""
            said = getattr(error, "message", None) or "it nests too deep"
            raise BadConfig(
                f"the template cannot be read{line}: {said}", hint="Braces that are meant are {{ '{{' }}.", where=where
            ) from None
        if list(meta.find_referenced_templates(parsed)):
            raise BadConfig("a template cannot include others", hint="Put everything into one.", where=where)
        self.names = frozenset(used - _optional(parsed) - {WHOLE}) | _named_of_whole(parsed)
        if not used:
            hint = "Name a column: {{ text }}."
            raise BadConfig("the template names no column: every row would be asked the same", hint=hint, where=where)
        self.where = where
        self._beginning = _beginning(parsed)

    def missing(self, columns: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
        """The names that no column has, sorted."""
        return tuple(sorted(self.names - set(columns)))

    def render(self, values: Mapping[str, Any]) -> str:
        """The prompt for a row. Raises `CannotRender`."""
        from jinja2 import TemplateError, UndefinedError  # noqa: PLC0415 -- loaded with the template

        lacking = self.missing(tuple(values))
        if lacking:
            raise CannotRender(f"the row has no {_listed(lacking)}")
        whole = {} if WHOLE in values else {WHOLE: values}
        try:
            prompt = self._template.render({**values, **whole})
        except UndefinedError as error:
            raise CannotRender(f"the template asks for what the row does not have: {error.message}") from None
        except (TemplateError, *_FAULTS) as error:
            raise CannotRender(f"the template cannot be filled: {str(error) or type(error).__name__}") from None
        if not prompt.strip():
            raise CannotRender("the prompt is empty")
        return prompt

    def parts(self, prompt: str) -> tuple[str, ...]:
        """A rendered prompt cut behind what all of them begin with, if that is long enough to be kept by a service."""
        beginning = self._beginning
        if len(beginning) < _LEAST_BEGINNING or not prompt.startswith(beginning) or prompt == beginning:
            return (prompt,)
        return beginning, prompt[len(beginning) :]


def _environment() -> Any:
    from jinja2 import StrictUndefined  # noqa: PLC0415 -- loaded with the template
    from jinja2.sandbox import SandboxedEnvironment  # noqa: PLC0415

    return SandboxedEnvironment(undefined=StrictUndefined, autoescape=False, finalize=_written)


def _written(value: Any) -> Any:
    """Text as it is, everything else as JSON writes it."""
    from jinja2 import Undefined  # noqa: PLC0415 -- loaded with the template

    if isinstance(value, str | Undefined):
        return value
    if isinstance(value, date | time):
        return value.isoformat()
    try:
        return encode_value(value).decode()
    except (TypeError, ValueError):
        return str(value)


def _optional(parsed: nodes.Template) -> set[str]:
    """Names that the template asks about before it uses them: `is defined`, `default(...)`."""
    from jinja2 import nodes as n  # noqa: PLC0415 -- loaded with the template

    tested = [t.node for t in parsed.find_all(n.Test) if t.name in ("defined", "undefined")]
    filtered = [f.node for f in parsed.find_all(n.Filter) if f.name in ("default", "d")]
    return {node.name for node in (*tested, *filtered) if isinstance(node, n.Name)}


def _named_of_whole(parsed: nodes.Template) -> frozenset[str]:
    """The columns of `row["..."]` that are written out."""
    from jinja2 import nodes as n  # noqa: PLC0415 -- loaded with the template

    found = set()
    for item in parsed.find_all(n.Getitem):
        named = isinstance(item.node, n.Name) and item.node.name == WHOLE
        if named and isinstance(item.arg, n.Const) and isinstance(item.arg.value, str):
            found.add(item.arg.value)
    return frozenset(found)


def _beginning(parsed: nodes.Template) -> str:
    """The text before the first expression."""
    from jinja2 import nodes as n  # noqa: PLC0415 -- loaded with the template

    text = ""
    for statement in parsed.body:
        if not isinstance(statement, n.Output):
            break
        for piece in statement.nodes:
            if not isinstance(piece, n.TemplateData):
                return text
            text += piece.data
    return text


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
