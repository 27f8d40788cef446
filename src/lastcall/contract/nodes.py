"""Compiled subschemas. A `Node` is made for each subschema (and dynamic scope) that is reached, and built when first used.

For each class of values a node holds the checks that matter to it, in the reference's order; so a string never meets the
checks for numbers. `$ref`, `$dynamicRef` and `$recursiveRef` are resolved when a node is built: the dynamic scope is part
of a node's identity, so that nothing has to be looked up while a value is checked.

Must not go in here: what a keyword means (`contract.keywords`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from lastcall.contract import budgets
from lastcall.contract.checking import At, Check, Fault, Run, Walk
from lastcall.contract.dialects import SchemaDialect
from lastcall.contract.documents import RECURSIVE, Library, Resource, Target
from lastcall.contract.keywords import any_type, arrays, numbers, objects, strings, unevaluated
from lastcall.contract.patterns import Pattern, compile_pattern
from lastcall.errors import SchemaTooBig
from lastcall.nouns.json import JsonObject

Builder = Callable[["Node", type], Check | None]
Each = Callable[[tuple[Check, ...], Any, At, Run], Walk]
Scope = tuple[tuple[str, int], ...]
"""Dynamic anchors bound so far: name, and the identity of the outermost subschema that has it."""

_BUILDERS: Final[dict[str, Builder]] = (
    any_type.BUILDERS | numbers.BUILDERS | strings.BUILDERS | arrays.BUILDERS | objects.BUILDERS | unevaluated.BUILDERS
)

ANY_TYPE: Final = ("$dynamicRef", "$recursiveRef", "$ref", "const", "enum", "not", "anyOf", "oneOf", "allOf", "if")
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "number": ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"),
    "string": ("maxLength", "minLength", "pattern", "format", "contentEncoding", "contentMediaType"),
    "array": (
        "maxItems",
        "minItems",
        "additionalItems",
        "prefixItems",
        "items",
        "contains",
        "uniqueItems",
        "unevaluatedItems",
    ),
    "object": (
        "maxProperties",
        "minProperties",
        "required",
        "propertyNames",
        "additionalProperties",
        "dependencies",
        "properties",
        "patternProperties",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
    ),
}
"""The reference's order of keywords, for each type of value."""

_ALSO_OF: Final = {"number": ("format",), "array": ("minContains", "maxContains")}
"""Keywords that belong to a type's group without checking anything in it; they move the type error, as in the reference."""

_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "boolean"),
    (int, "number"),
    (float, "number"),
    (Decimal, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
    (type(None), "null"),
)

NO_KIND: Final = "none"
"""The kind of what is no JSON value: numbers that are not finite, objects of other classes. Fits no type."""


def kind_of(cls: type) -> str:
    """The JSON type of a class's values, `number` for all numbers."""
    return next((kind for known, kind in _KINDS if issubclass(cls, known)), NO_KIND)


def types_of(schema: JsonObject, dialect: SchemaDialect) -> list[str]:
    """The types a schema asks for, in its order; empty if it does not say."""
    named = schema.get("type")
    types = [str(name) for name in named] if isinstance(named, list) else [str(named)] if named else []
    if dialect.nullable and schema.get("nullable") is True and "null" not in types:
        types.append("null")
    return types


def has_keywords_for(schema: JsonObject, kind: str, dialect: SchemaDialect) -> bool:
    """Whether the schema has a keyword of this type's group."""
    keywords = GROUPS.get(kind, ()) + _ALSO_OF.get(kind, ())
    return any(keyword in schema and keyword in dialect.checks for keyword in keywords)


class Space:
    """What the nodes of one compilation share."""

    def __init__(self, schema: JsonObject, dialect: SchemaDialect, *, assert_formats: bool) -> None:
        self.assert_formats = assert_formats
        self.library = Library(schema, dialect)
        self._nodes: dict[tuple[int, Scope, bool], Node] = {}
        self._by_identity: dict[int, JsonObject] = {}
        self._patterns: dict[str, Pattern] = {}
        self.everything = Node(self, {}, self.library.main, ())
        self.nothing = Node(self, {}, self.library.main, ())
        self.nothing.become(_refuse)
        self.root = self.node(schema, self.library.main, ())

    def node(self, schema: JsonObject | bool, parent: Resource, scope: Scope, *, hasty: bool = False) -> Node:
        """The node of a subschema below one of `parent`'s, in a dynamic scope. Raises `SchemaTooBig`."""
        if isinstance(schema, bool):
            return self.everything if schema else self.nothing
        resource = self.library.resource_of(schema, parent)
        if resource.dynamic_anchors:
            scope = self._entered(scope, resource)
        key = (id(schema), scope, hasty)
        node = self._nodes.get(key)
        if node is None:
            if len(self._nodes) >= budgets.COMPILED_NODES:
                raise SchemaTooBig("the schema's references multiply it beyond what can be checked.")
            node = self._nodes[key] = Node(self, schema, resource, scope, hasty=hasty)
        return node

    def _entered(self, scope: Scope, resource: Resource) -> Scope:
        bound = {name for name, _ in scope}
        for name, schema in resource.dynamic_anchors.items():
            if name not in bound:
                scope = (*scope, (name, id(schema)))
                self._by_identity[id(schema)] = schema
        return scope

    def bound(self, name: str, scope: Scope) -> JsonObject | None:
        """The outermost subschema with a dynamic anchor of this name."""
        return next((self._by_identity[identity] for known, identity in scope if known == name), None)

    def pattern(self, text: str) -> Pattern:
        """The pattern, compiled once. Raises `BadPattern`, `SchemaTooBig`."""
        found = self._patterns.get(text)
        if found is None:
            if len(self._patterns) >= budgets.PATTERNS:
                raise SchemaTooBig(f"the schema has more than {budgets.PATTERNS} different patterns.")
            found = self._patterns[text] = compile_pattern(text)
        return found


class Node:
    """One subschema. `enter` checks a value: at once (and returns `None`), or by the walk that it returns.

    `hasty`: it stands below `not` or `if` in a dialect with `hasty_tuples`.
    """

    __slots__ = ("_height", "enter", "hasty", "resource", "schema", "scope", "space")

    def __init__(
        self, space: Space, schema: JsonObject, resource: Resource, scope: Scope, *, hasty: bool = False
    ) -> None:
        self.space = space
        self.schema = schema
        self.resource = resource
        self.scope = scope
        self.hasty = hasty
        self.enter: Check = self._build
        self._height: int | None = None

    @property
    def dialect(self) -> SchemaDialect:
        """The dialect of the document this subschema stands in."""
        return self.resource.dialect

    def become(self, enter: Check) -> None:
        """Check values so from now on."""
        self.enter = enter

    # -- what is around it ------------------------------------------------------------------------------------------

    def child(self, schema: JsonObject | bool) -> Node:
        """The node of a subschema that stands in this one."""
        return self.space.node(schema, self.resource, self.scope, hasty=self.hasty)

    def condition(self, schema: JsonObject | bool) -> Node:
        """The same for a subschema of which only the verdict counts."""
        return self.space.node(schema, self.resource, self.scope, hasty=self.dialect.hasty_tuples)

    def trivial(self, schema: object) -> bool:
        """Whether a subschema accepts everything, and can be left out."""
        if isinstance(schema, dict):
            checks = self.dialect.checks
            return not any(keyword in checks for keyword in schema)
        return schema is True

    def has(self, keyword: str) -> bool:
        """Whether the keyword stands here and is checked in this dialect."""
        if keyword not in self.schema or keyword not in self.dialect.checks:
            return False
        return not (self.dialect.ref_alone and "$ref" in self.schema and keyword != "$ref")

    def referenced(self, keyword: str) -> Node | None:
        """The node that a reference leads to, `None` if there is none."""
        target = self.target(keyword)
        if target is None:
            return None
        copied = self.hasty and not (
            isinstance(target.schema, dict) and self.space.library.holds_reference(target.schema)
        )
        return self.space.node(target.schema, target.resource, self.scope, hasty=copied)

    def target(self, keyword: str) -> Target | None:
        """Where the reference in `keyword` leads, by the dynamic scope if it is a dynamic one."""
        target = self.space.library.find(str(self.schema[keyword]), self.resource)
        if target is None or keyword == "$ref":
            return target
        name = target.dynamic_name
        if keyword == "$recursiveRef":
            name = RECURSIVE if target.schema is target.resource.root else None
            if RECURSIVE not in target.resource.dynamic_anchors:
                return target
        bound = None if name is None else self.space.bound(name, self.scope)
        return target if bound is None else Target(bound, target.resource)

    def references(self) -> Iterator[str]:
        """The reference keywords that stand here."""
        return (keyword for keyword in ("$dynamicRef", "$recursiveRef", "$ref") if self.has(keyword))

    def height(self, limit: int) -> int:
        """Levels of subschemas below this one that a check can descend; `limit` + 1 stands for all that is more.

        A node of height 0 has no walks among its checks.
        """
        if self._height is not None:
            return self._height
        if self.has("unevaluatedItems") or self.has("unevaluatedProperties"):
            return limit + 1
        height = 0
        for below in self._below():
            height = max(height, 1 + (below.height(limit - 1) if limit else 0))
            if height > limit:
                return limit + 1
        self._height = height
        return height

    def _below(self) -> Iterator[Node]:
        for keyword in self.references():
            node = self.referenced(keyword)
            if node is not None:
                yield node
        for keyword, _, part in self.dialect.children(self.schema):
            if self.has(keyword) and isinstance(part, (dict, bool)):
                yield self.condition(part) if keyword in ("not", "if") else self.child(part)

    # -- building ---------------------------------------------------------------------------------------------------

    def _build(self, value: Any, at: At, run: Run) -> Walk | None:
        height = self.height(budgets.FLAT_HEIGHT)
        table = _Table(self)
        if height == 0:
            self.become(_leaf(table))
        else:
            self.become(_flat(table) if height <= budgets.FLAT_HEIGHT else _deep(table, self._each))
        return self.enter(value, at, run)

    @property
    def _each(self) -> Each:
        return _each_until_wrong if self.hasty else _each

    def checks_for(self, cls: type) -> tuple[Check, ...]:
        """The checks for values of a class, in order."""
        kind = kind_of(cls)
        if kind == "number" and cls in self.dialect.arithmetic.may_be_infinite:
            finite, odd = self._checks("number", cls), self._checks(NO_KIND, object)
            is_number = self.dialect.arithmetic.is_number
            if not finite and not odd:
                return ()
            if self.height(budgets.FLAT_HEIGHT) > budgets.FLAT_HEIGHT:
                return (_either(is_number, finite, odd, self._each),)
            return (_either_at_once(is_number, finite, odd),)
        return self._checks(kind, cls)

    def _checks(self, kind: str, cls: type) -> tuple[Check, ...]:
        checks: list[Check | None] = []
        type_check = any_type.type_check(self, kind, cls)
        types = types_of(self.schema, self.dialect) if self.has("type") else []
        late = len(types) == 1 and has_keywords_for(self.schema, types[0], self.dialect)
        if not late:
            checks.append(type_check)
        checks += self._group(ANY_TYPE, cls)
        for name, keywords in GROUPS.items():
            if name == kind:
                checks += self._group(keywords, cls)
            if late and types[0] == name:
                checks.append(type_check)
        return tuple(check for check in checks if check is not None)

    def _group(self, keywords: tuple[str, ...], cls: type) -> list[Check | None]:
        return [_BUILDERS[keyword](self, cls) for keyword in keywords if self.has(keyword)]


class _Table(dict[type, tuple[Check, ...]]):
    """The checks of a node by the class of the value; filled as classes come."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    def __missing__(self, cls: type) -> tuple[Check, ...]:
        checks = self[cls] = self._node.checks_for(cls)
        return checks


def _leaf(table: _Table) -> Check:
    def enter(value: Any, at: At, run: Run) -> None:
        for check in table[type(value)]:
            check(value, at, run)

    return enter


def _flat(table: _Table) -> Check:
    def enter(value: Any, at: At, run: Run) -> None:
        for check in table[type(value)]:
            walk = check(value, at, run)
            if walk is not None:
                # everything below is flat too and runs at once: the walk ends without yielding
                next(walk, None)

    return enter


def _deep(table: _Table, each: Each) -> Check:
    def enter(value: Any, at: At, run: Run) -> Walk | None:
        checks = table[type(value)]
        return each(checks, value, at, run) if checks else None

    return enter


def _each(checks: tuple[Check, ...], value: Any, at: At, run: Run) -> Walk:
    for check in checks:
        walk = check(value, at, run)
        if walk is not None:
            yield walk


def _each_until_wrong(checks: tuple[Check, ...], value: Any, at: At, run: Run) -> Walk:
    """The reference goes no further where only the verdict counts, and so ends where others would go on for ever."""
    mark = len(run.errors)
    for check in checks:
        walk = check(value, at, run)
        if walk is not None:
            yield walk
        if len(run.errors) != mark:
            return


def _either(is_number: Callable[[Any], bool], finite: tuple[Check, ...], odd: tuple[Check, ...], each: Each) -> Check:
    """Numbers that are not finite are no numbers."""

    def check(value: Any, at: At, run: Run) -> Walk:
        return each(finite if is_number(value) else odd, value, at, run)

    return check


def _either_at_once(is_number: Callable[[Any], bool], finite: tuple[Check, ...], odd: tuple[Check, ...]) -> Check:
    """The same for a node that is run by plain calls."""

    def check(value: Any, at: At, run: Run) -> None:
        for chosen in finite if is_number(value) else odd:
            walk = chosen(value, at, run)
            if walk is not None:
                next(walk, None)

    return check


_NEVER: Final[Fault] = ("false schema", "boolean schema is false", {})


def _refuse(_value: Any, at: At, run: Run) -> None:
    run.errors.append((at, _NEVER))
