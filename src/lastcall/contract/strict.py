"""The closed subset of a schema that a deployment may constrain decoding with, by its rules.

The keyword table of every rule set stands first. A `StrictSchema` is a courtesy to the decoder, never the check: a keyword
that a deployment does not take is left out where that only lets more through, and where it would shut something out that
the contract accepts there is no `StrictSchema` but the reason. Two narrowings are deliberate: an object that is open only
because nobody said otherwise is closed over the properties that it declares, and the `grammar` copy bounds what is
unbounded, because a small model may never stop.

Must not go in here: validating, what a provider's request looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lastcall.contract.json_text import write_json
from lastcall.contract.strict_closed import ClosedRules, closed_schema
from lastcall.contract.strict_terms import Unfit
from lastcall.contract.wrapping import wrap_root
from lastcall.errors import LastcallBug
from lastcall.nouns.json import JsonObject
from lastcall.nouns.schema import NotStrict, OutputSchema, StrictSchema

__all__ = ["ANTHROPIC", "OPENAI", "REFERENCE", "to_strict", "wrap_root"]

REFERENCE: Final = frozenset({
    "$schema", "type", "description", "title", "properties", "required", "additionalProperties", "items", "enum", "const",
    "anyOf",
})  # fmt: skip
"""All that the reference's converter takes; anything else, and there is no strict form."""

_SHARED: Final = frozenset({
    "type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
    "$ref", "$defs", "definitions", "pattern", "format",
})  # fmt: skip
_SHARED_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

ANTHROPIC: Final = ClosedRules(
    keeps=_SHARED | {"default", "minItems"},
    formats=_SHARED_FORMATS | {"uri"},
    most_min_items=1,
    most_optional=24,
    most_unions=16,
    most_levels=64,
)
"""Structured outputs of the Messages API, as published; `minItems` only 0 or 1, no recursion."""

OPENAI: Final = ClosedRules(
    keeps=_SHARED
    | {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"},
    formats=_SHARED_FORMATS,
    every_property_required=True,
    recursion=True,
    most_levels=10,
    most_properties=5_000,
    most_characters=120_000,
    most_enum_values=1_000,
    most_string_enum_characters=15_000,
)
"""Structured model outputs of the Chat Completions API, as published."""


def to_strict(schema: OutputSchema, rules: str) -> StrictSchema | NotStrict:
    """The strict form of a wire schema (root an object) by `reference`, `anthropic`, `openai` or `grammar`."""
    convert = _CONVERTERS.get(rules)
    if convert is None:
        raise LastcallBug(f"there are no strict rules {rules!r}")
    try:
        value = convert(schema.value)
    except Unfit as unfit:
        return NotStrict(unfit.reason, unfit.path)
    return StrictSchema(write_json(value, numbers="exact"), value)


def _for_the_reference(root: JsonObject) -> dict[str, Any]:
    from lastcall.contract.strict_reference import reference_schema  # noqa: PLC0415 -- one set of rules to a run

    return reference_schema(root, REFERENCE)


def _for_a_grammar(root: JsonObject) -> dict[str, Any]:
    from lastcall.contract.strict_grammar import grammar_schema  # noqa: PLC0415 -- a millisecond for a local model alone

    return grammar_schema(root)


_CONVERTERS: Final[dict[str, Callable[[JsonObject], dict[str, Any]]]] = {
    "reference": _for_the_reference,
    "anthropic": lambda root: closed_schema(root, ANTHROPIC),
    "openai": lambda root: closed_schema(root, OPENAI),
    "grammar": _for_a_grammar,
}
