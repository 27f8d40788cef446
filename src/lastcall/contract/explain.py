"""For every keyword of a schema: what enforces it. The facts behind `--explain` and `lastcall schema explain`.

The local check enforces whatever it knows. The decoder (a provider's strict mode, or the embedded model's grammar) enforces
what is left in the strict form at the same place. What nothing enforces is said to be an annotation, or unknown.

Must not go in here: checking, sentences (the command writes them).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from lastcall.contract.dialects import SchemaDialect, choose_dialect
from lastcall.contract.formats import is_known_format
from lastcall.contract.modern import modernise
from lastcall.contract.positions import each_subschema, fresh
from lastcall.contract.references import MISSING, at_pointer
from lastcall.contract.strict_terms import below
from lastcall.contract.wrapping import WRAP
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import NotStrict, OutputSchema, StrictSchema


class By(StrEnum):
    """What enforces a keyword."""

    CHECK = "check"
    STRICT = "strict"
    GRAMMAR = "grammar"


class Enforcement(Struct, frozen=True):
    """One keyword at one place of the schema (JSON Pointer to its node), and what enforces it.

    `by` is empty for what nothing enforces; `note` then says why, and otherwise what is not enforced about it.
    """

    path: str
    keyword: str
    by: tuple[By, ...]
    note: str = ""


STRUCTURE: Final = frozenset({
    "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions",
})  # fmt: skip
"""Keywords that name things; there is nothing to enforce about them."""
_ASSERTED: Final = {"contentEncoding": "base64", "contentMediaType": "application/json"}
"""The contents that are checked, where the dialect checks any and formats are asserted."""
_DEEPEST: Final = 1_000
"""No strict form has places further down."""
_NEEDS: Final = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
_REWRITTEN: Final = frozenset({"items", "prefixItems", "anyOf", "allOf", "$ref"})
"""Keywords whose value is converted too, as every object is: they count as kept when they are there at all."""


def explain(
    schema: OutputSchema,
    *,
    strict: StrictSchema | NotStrict | None = None,
    decoder: By = By.STRICT,
    wrapped: bool = False,
    assert_formats: bool = True,
    profile: Profile = Profile.NATIVE,
) -> tuple[Enforcement, ...]:
    """What enforces each keyword of the caller's schema, in the order of its text.

    `strict` is the strict form of the wire schema (`None` or `NotStrict`: no decoder helps), `decoder` what constrains
    by it, `wrapped` whether the wire schema holds the root in a property. In compat no format is asserted. Raises
    `NotASchema` for an unknown dialect.
    """
    view = _View(choose_dialect(schema.value, profile), assert_formats and profile is Profile.NATIVE)
    modern = fresh(schema.value)
    modernise(modern)
    value = strict.value if isinstance(strict, StrictSchema) else None
    wire = _Wire(value, f"/properties/{WRAP}" if wrapped else "")
    facts: list[Enforcement] = []
    for path, node in each_subschema(schema.value):
        kept = wire.kept(path, node, modern)
        facts.extend(
            _fact(path, keyword, node, (decoder,) if keyword in kept else (), view)
            for keyword in node
            if keyword not in STRUCTURE
        )
    return tuple(facts)


class _View(Struct, frozen=True):
    """How the schema is read: its dialect, and whether formats are asserted."""

    dialect: SchemaDialect
    asserted: bool


class _Wire:
    """The strict form beside the schema: the same places, unless a conversion moved them."""

    def __init__(self, value: dict[str, Any] | None, prefix: str) -> None:
        self.value = value
        self.prefix = prefix

    def kept(self, path: str, node: dict[str, Any], modern: dict[str, Any]) -> frozenset[str]:
        """The keywords of a node that are still there with their value (`modern`: the schema in the wire's dialect)."""
        on_wire = self._node(path)
        if not isinstance(on_wire, dict):
            return frozenset()
        now = at_pointer(modern, path)
        now = now if isinstance(now, dict) else node
        return frozenset(word for word in node if self._keeps(on_wire, word, now.get(word, node[word])))

    def _node(self, path: str) -> Any:
        if self.value is None or path.count("/") > _DEEPEST:
            return MISSING
        here = path if path.startswith(("/$defs/", "/definitions/")) else self.prefix + path
        found = at_pointer(self.value, here)
        return found if found is not MISSING else at_pointer(self.value, here.replace("/oneOf/", "/anyOf/"))

    @staticmethod
    def _keeps(on_wire: dict[str, Any], word: str, value: Any) -> bool:
        return word in on_wire and (word in _REWRITTEN or isinstance(value, dict) or on_wire[word] == value)


def _fact(path: str, keyword: str, node: dict[str, Any], decoder: tuple[By, ...], view: _View) -> Enforcement:
    dialect = view.dialect
    if keyword == "x-lastcall":
        return Enforcement(path, keyword, (By.CHECK,), "a rule of lastcall")
    if keyword not in dialect.checks:
        known = keyword in dialect.annotations or keyword == "$comment"
        return Enforcement(path, keyword, (), "annotation" if known else "unknown keyword")
    if dialect.ref_alone and "$ref" in node and keyword != "$ref":
        return Enforcement(path, keyword, (), "this dialect ignores what stands beside $ref")
    if keyword in _NEEDS and _NEEDS[keyword] not in node:
        return Enforcement(path, keyword, (), f"without {_NEEDS[keyword]}, {keyword} says nothing")
    if keyword == "format" or keyword in _ASSERTED:
        return _format_fact(path, keyword, node[keyword], decoder, view)
    return Enforcement(path, keyword, (By.CHECK, *decoder))


def _format_fact(path: str, keyword: str, name: Any, decoder: tuple[By, ...], view: _View) -> Enforcement:
    known = (isinstance(name, str) and is_known_format(name)) if keyword == "format" else _ASSERTED[keyword] == name
    check = (By.CHECK,) if known and view.asserted else ()
    note = "" if check else "formats are not asserted" if known else f"unknown {keyword}"
    return Enforcement(path, keyword, (*check, *decoder), note)


def not_enforced(facts: tuple[Enforcement, ...]) -> tuple[str, ...]:
    """The JSON Pointers of keywords that look like constraints and that nothing enforces."""
    return tuple(below(f.path, f.keyword) for f in facts if not f.by and f.note != "annotation")
