"""The documents that references can point into: the schema itself and the bundled meta-schemas. Nothing else, ever.

A document is indexed once: which resource (identifier) each subschema belongs to, and what the anchors are. Must not go in
here: following a reference at run time; `contract.nodes` resolves every one of them when the schema is compiled.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lastcall.contract import uris
from lastcall.contract.dialects import SchemaDialect, published_at
from lastcall.nouns.json import JsonObject, JsonValue

RECURSIVE: Final = ""
"""The name under which `$recursiveAnchor: true` is kept among the dynamic anchors."""


class Resource:
    """A schema with an identifier of its own (or the document's root), and the anchors in it."""

    __slots__ = ("anchors", "bundled", "dialect", "dynamic_anchors", "root", "uri")

    def __init__(self, root: JsonObject, uri: str, dialect: SchemaDialect, *, bundled: bool) -> None:
        self.root = root
        self.uri = uri
        self.dialect = dialect
        self.bundled = bundled
        self.anchors: dict[str, JsonObject] = {}
        self.dynamic_anchors: dict[str, JsonObject] = {}


class Target(Struct, frozen=True):
    """Where a reference leads. `dynamic_name` is the fragment, if it names a dynamic anchor."""

    schema: JsonObject | bool
    resource: Resource
    dynamic_name: str | None = None


class Library:
    """All documents of one compilation. Schemas are told apart by identity: a document must be a tree."""

    def __init__(self, schema: JsonObject, dialect: SchemaDialect) -> None:
        self._dialect = dialect
        self._home: dict[int, Resource] = {}
        self._resources: dict[str, Resource] = {}
        self._holding: dict[int, bool] = {}
        self.main = self._add(schema, dialect, "", bundled=False)

    def resource_of(self, schema: JsonObject, parent: Resource) -> Resource:
        """The resource a subschema belongs to; its parent's, if it stands where no subschema is expected."""
        found = self._home.get(id(schema))
        if found is None:
            self._index(schema, parent)
            found = self._home[id(schema)]
        return found

    def find(self, reference: str, start: Resource) -> Target | None:
        """Where a reference leads that stands in the resource `start`; `None`: nowhere in these documents."""
        uri, _, fragment = uris.resolve(start.uri, reference).partition("#")
        resource = self._resource_at(uri)
        if resource is None:
            return None
        fragment = uris.unescape(fragment)
        if not fragment:
            return Target(resource.root, resource)
        if fragment.startswith("/"):
            return self._at_pointer(resource, fragment)
        dynamic = resource.dynamic_anchors.get(fragment)
        if dynamic is not None:
            return Target(dynamic, resource, fragment)
        anchored = resource.anchors.get(fragment)
        return None if anchored is None else Target(anchored, resource)

    def _resource_at(self, uri: str) -> Resource | None:
        found = self._resources.get(uri)
        if found is None:
            dialect = published_at(uri, self._dialect)
            if dialect is None:
                return None
            for document in dialect.documents():
                self._add(document, dialect, dialect.uri, bundled=True)
            # the reference has a second name for its meta-schema
            found = self._resources.get(dialect.uri if dialect.strict else uri)
        return found

    def _at_pointer(self, resource: Resource, pointer: str) -> Target | None:
        here: JsonValue = resource.root
        for token in pointer[1:].split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and key in here:
                here = here[key]
            elif isinstance(here, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(here):
                here = here[int(key[:9])]
            else:
                return None
            if isinstance(here, dict) and id(here) in self._home:
                resource = self._home[id(here)]
        if isinstance(here, dict):
            return Target(here, self.resource_of(here, resource))
        return Target(here, resource) if isinstance(here, bool) else None

    def holds_reference(self, schema: JsonObject) -> bool:
        """Whether a reference keyword stands anywhere in a subschema, as a keyword or as any other key.

        The reference copies subschemas without one in line, and gives the others a function of their own.
        """
        found = self._holding.get(id(schema))
        if found is None:
            found = self._holding[id(schema)] = _holds_reference(schema)
        return found

    # -- indexing ---------------------------------------------------------------------------------------------------

    def _add(self, document: JsonObject, dialect: SchemaDialect, default_uri: str, *, bundled: bool) -> Resource:
        named = document.get(dialect.id_keyword)
        uri = uris.without_fragment(named) if isinstance(named, str) else default_uri
        resource = Resource(document, uri, dialect, bundled=bundled)
        self._resources.setdefault(uri, resource)
        self._index(document, resource)
        return resource

    def _index(self, schema: JsonObject, resource: Resource) -> None:
        stack: list[tuple[JsonObject, Resource]] = [(schema, resource)]
        while stack:
            here, outer = stack.pop()
            inner = self._home[id(here)] = self._identified(here, outer)
            children = inner.dialect.children(here)
            for _, _, part in list(children) if not inner.dialect.ids_everywhere else everything_below(here):
                if isinstance(part, dict) and id(part) not in self._home:
                    stack.append((part, inner))

    def _identified(self, schema: JsonObject, outer: Resource) -> Resource:
        """The resource of a subschema: a new one if it has an identifier. Its anchors are noted."""
        dialect = outer.dialect
        resource = outer
        named = schema.get(dialect.id_keyword)
        if isinstance(named, str) and not (dialect.ref_alone and "$ref" in schema):
            uri, _, name = uris.resolve(outer.uri, named).partition("#")
            if uri != outer.uri and schema is not outer.root:
                resource = Resource(schema, uri, dialect, bundled=outer.bundled)
                self._resources.setdefault(uri, resource)
            if name and dialect.id_anchors:
                resource.anchors.setdefault(name, schema)
        _note_anchors(schema, resource)
        return resource


def _note_anchors(schema: JsonObject, resource: Resource) -> None:
    dialect = resource.dialect
    anchor = schema.get("$anchor")
    if isinstance(anchor, str) and (dialect.strict or dialect.knows("$anchor")):  # the reference refuses it, once found
        resource.anchors.setdefault(anchor, schema)
    dynamic = schema.get("$dynamicAnchor")
    if isinstance(dynamic, str) and dialect.knows("$dynamicAnchor"):
        resource.dynamic_anchors.setdefault(dynamic, schema)
    if schema.get("$recursiveAnchor") is True and schema is resource.root and dialect.knows("$recursiveAnchor"):
        resource.dynamic_anchors.setdefault(RECURSIVE, schema)


_REFERENCES: Final = frozenset({"$ref", "$recursiveRef", "$recursiveAnchor", "$dynamicRef", "$dynamicAnchor"})


def _holds_reference(schema: JsonObject) -> bool:
    stack: list[JsonValue] = [schema]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            if not _REFERENCES.isdisjoint(here):
                return True
            stack += here.values()
        elif isinstance(here, list):
            stack += here
    return False


_DATA_KEYWORDS: Final = frozenset(
    {
        "default",
        "enum",
        "const",
        "required",
        "maximum",
        "minimum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "multipleOf",
        "maxLength",
        "minLength",
        "pattern",
        "format",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxProperties",
        "minProperties",
    }
)
_MAPS: Final = frozenset({"$defs", "definitions", "properties", "patternProperties", "dependencies"})
_LISTS: Final = frozenset({"items", "allOf", "anyOf", "oneOf"})


def everything_below(schema: JsonObject) -> list[tuple[str, str | int | None, JsonValue]]:
    """What the reference takes for subschemas when it looks for identifiers: all that is not known to be data."""
    parts: list[tuple[str, str | int | None, JsonValue]] = []
    for keyword, value in schema.items():
        if isinstance(value, list):
            if keyword in _LISTS:
                parts += [(keyword, index, part) for index, part in enumerate(value)]
        elif keyword in _MAPS:
            if isinstance(value, dict):
                parts += [(keyword, name, part) for name, part in value.items()]
        elif keyword not in _DATA_KEYWORDS:
            parts.append((keyword, None, value))
    return parts
