"""One small valid instance of a schema, for people who want to see what it means.

Built by construction, choosing among branches until the contract's own validator accepts the whole; what is returned is
valid, and where nothing was found that is said. The same schema always gives the same sample.

Must not go in here: test data at large, anything random.
"""

from __future__ import annotations

from typing import Any, Final

from lastcall.contract.budgets import BudgetExceeded
from lastcall.contract.dialects import choose_dialect
from lastcall.contract.modern import modernise
from lastcall.contract.positions import fresh
from lastcall.contract.references import MISSING, References
from lastcall.contract.sample_scalars import matches, number_between, text_like
from lastcall.contract.sample_terms import Choices, NoSample, combined
from lastcall.contract.validator import compile_validator
from lastcall.errors import BadSchema
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import OutputSchema

MAX_TRIES: Final = 200
MAX_VALUES: Final = 30_000
"""Values that are built in all tries together, for each way of trying."""
MAX_DEPTH: Final = 60
_SHOWN_DEPTH: Final = 4
"""How deep optional properties are shown; below, only what is required."""
_MOST_EXTRA: Final = 500
"""Names that are made up for `minProperties`."""
_TYPE_WORDS: Final = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
                "dependentRequired", "maxProperties")),
    ("array", ("items", "prefixItems", "contains", "minItems", "uniqueItems", "maxItems")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    ("string", ("minLength", "maxLength", "pattern", "format")),
)  # fmt: skip


def sample(schema: OutputSchema, *, profile: Profile = Profile.NATIVE) -> JsonValue:
    """A small valid instance.

    Raises `BadSchema` when none was found (there may be none), and what the schema's compilation raises.
    """
    dialect = choose_dialect(schema.value, profile)
    validator = compile_validator(schema.value, dialect, assert_formats=profile is Profile.NATIVE)
    root = fresh(schema.value)
    modernise(root)
    for frugal in (False, True):
        choices = Choices(MAX_VALUES)
        for _ in range(MAX_TRIES):
            try:
                value = _Builder(root, choices, frugal=frugal).value(root, 0)
                if not validator.problems(value).total:
                    return value
            except NoSample:
                pass
            except BudgetExceeded as error:
                raise BadSchema(f"No sample can be shown: {error.message}.") from None
            if choices.spent or not choices.advance():
                break
    raise BadSchema("No small instance of this schema was found; there may be none.")


class _Builder:
    """One try: builds a value by the choices that are due; a frugal one leaves out what is not required."""

    def __init__(self, root: JsonObject, choices: Choices, *, frugal: bool) -> None:
        self.references = References(root)
        self.choices = choices
        self.frugal = frugal
        choices.begin()

    def value(self, schema: Any, depth: int, variant: int = 0) -> JsonValue:
        """A value of a schema; `variant` asks for the n-th different one."""
        self.choices.spend()
        if schema is True:
            return f"item {variant}" if variant else "any"
        if depth > MAX_DEPTH or not isinstance(schema, dict):
            raise NoSample
        node = self._flat(schema)
        if "const" in node:
            return _only(node["const"], variant)
        if "enum" in node:
            return self._one_of(node["enum"], variant)
        kind = self._kind(node)
        if kind == "object":
            return self._object(node, depth, variant)
        if kind == "array":
            return self._array(node, depth, variant)
        if kind in ("number", "integer"):
            return number_between(node, variant, whole=kind == "integer")
        if kind == "string":
            return text_like(node, variant + self.choices.pick(2))
        return _only(None, variant) if kind == "null" else [True, False][_index(variant, 2)]

    def _one_of(self, values: Any, variant: int) -> JsonValue:
        if not isinstance(values, list) or variant >= len(values):
            raise NoSample
        chosen: JsonValue = values[variant + self.choices.pick(len(values) - variant)]
        return chosen

    def _flat(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with its references, `allOf` and one branch of each choice put into one node."""
        node, rounds = schema, 0
        while rounds < MAX_DEPTH:
            rounds += 1
            word = next((w for w in ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if") if w in node), None)
            if word is None:
                return node
            rest: Any = {key: value for key, value in node.items() if key != word}
            parts = [rest, *self._parts(word, node)]
            while len(parts) > 1:  # in pairs, so that many parts do not cost their square
                parts = [
                    combined(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)
                ]
            rest = parts[0]
            if not isinstance(rest, dict):
                raise NoSample
            node = rest
        raise NoSample

    def _parts(self, word: str, node: dict[str, Any]) -> list[Any]:
        value = node[word]
        if word in ("$ref", "$dynamicRef"):
            target = self.references.follow({"$ref": value})
            if target is MISSING:
                raise NoSample
            return [target]
        if word == "allOf":
            return list(value)
        if word in ("anyOf", "oneOf"):
            return [value[self.choices.pick(len(value))]]
        return [value, node.get("then", True)] if self.choices.pick(2) == 0 else [node.get("else", True)]

    def _kind(self, node: dict[str, Any]) -> str:
        named = node.get("type")
        if isinstance(named, list) and named:
            return str(named[self.choices.pick(len(named))])
        if named is not None:
            return str(named)
        return next((kind for kind, words in _TYPE_WORDS if any(word in node for word in words)), "string")

    # -- containers -------------------------------------------------------------------------------------------------

    def _array(self, node: dict[str, Any], depth: int, variant: int) -> JsonValue:
        head = node.get("prefixItems", node["items"] if isinstance(node.get("items"), list) else [])
        rest = node.get("additionalItems", True) if isinstance(node.get("items"), list) else node.get("items", True)
        shows_head = depth <= _SHOWN_DEPTH and bool(head) and self.choices.pick(2) == 0
        least = max(int(node.get("minItems", 0)), len(head) if shows_head else 0)
        wanted: list[Any] = [head[i] if i < len(head) else rest for i in range(min(least, 1_000))]
        if "contains" in node:
            found = int(node.get("minContains", 1))
            wanted = [combined(schema, node["contains"]) for schema in wanted[:found]] + wanted[found:]
            wanted += [combined(rest, node["contains"])] * (found - len(wanted))
        elif not wanted and rest is not False and depth < _SHOWN_DEPTH and int(node.get("maxItems", 1)):
            wanted = [rest] * (1 - self.choices.pick(2))
        distinct = node.get("uniqueItems", False)
        items = [self.value(schema, depth + 1, i + variant if distinct else 0) for i, schema in enumerate(wanted)]
        if variant and not distinct:
            items += [self.value(rest, depth + 1) for _ in range(variant)]
        return items

    def _object(self, node: dict[str, Any], depth: int, variant: int) -> JsonValue:
        properties = node.get("properties", {})
        required = dict.fromkeys(node.get("required", []))
        names = [name for name in properties if name in required or self._is_shown(properties[name], depth)]
        names = list(dict.fromkeys([*names, *required]))
        names = _with_dependents(names, node)
        least, most = int(node.get("minProperties", 0)), int(node.get("maxProperties", 1 << 30))
        names = [name for i, name in enumerate(names) if i < most or name in required]
        names += self._extra_names(node, names, least - len(names))
        out: dict[str, JsonValue] = {}
        for name in names:
            if name in properties and name not in required and len(names) > least and self.choices.pick(2):
                continue
            out[name] = self.value(self._member(node, name), depth + 1, variant)
        return out

    def _is_shown(self, schema: Any, depth: int) -> bool:
        return schema is not False and depth < _SHOWN_DEPTH and not self.frugal

    def _member(self, node: dict[str, Any], name: str) -> Any:
        """The schema of one property: what is declared for it, and the patterns that its name matches."""
        parts = [node["properties"][name]] if name in node.get("properties", {}) else []
        parts += [schema for key, schema in node.get("patternProperties", {}).items() if matches(key, name)]
        if not parts:
            parts = [node.get("additionalProperties", node.get("unevaluatedProperties", True))]
        schema: Any = parts[0]
        for part in parts[1:]:
            schema = combined(schema, part)
        return schema

    def _extra_names(self, node: dict[str, Any], names: list[str], count: int) -> list[str]:
        """Names beyond the declared ones, until there are enough."""
        out: list[str] = []
        if count <= 0:
            return []
        if count > _MOST_EXTRA:
            raise NoSample
        taken = set(names)
        unused = [name for name in node.get("properties", {}) if name not in taken]
        shapes = [{"pattern": key} for key, schema in node.get("patternProperties", {}).items() if schema is not False]
        shape = combined(node.get("propertyNames", {}), shapes[0]) if shapes else node.get("propertyNames", {})
        for index in range(count + len(taken)):  # pragma: no branch -- each round gives a new name or ends the try
            if len(out) >= count:
                break
            name = unused.pop(0) if unused else self.value(combined({"type": "string"}, shape), MAX_DEPTH - 5, index)
            if isinstance(name, str) and name not in taken:
                taken.add(name)
                out.append(name)
        return out


def _only(value: JsonValue, variant: int) -> JsonValue:
    if variant:
        raise NoSample
    return value


def _index(variant: int, count: int) -> int:
    if variant >= count:
        raise NoSample
    return variant


def _with_dependents(names: list[str], node: dict[str, Any]) -> list[str]:
    """The names with those that `dependentRequired` (or `dependencies`) wants beside them."""
    wanted = {**node.get("dependencies", {}), **node.get("dependentRequired", {})}
    out, todo = dict.fromkeys(names), list(names)
    while todo:
        needed = wanted.get(todo.pop())
        missing = [other for other in (needed if isinstance(needed, list) else []) if other not in out]
        out.update(dict.fromkeys(missing))
        todo.extend(missing)
    return list(out)
