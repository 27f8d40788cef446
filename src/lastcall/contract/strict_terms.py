"""What the strict converters share: the refusal, and questions about one schema node.

Must not go in here: a rule set.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from lastcall.contract.json_text import pointer_token

OBJECT_WORDS: Final = frozenset({"properties", "patternProperties", "required", "additionalProperties"})
_IN_PLACE_LISTS: Final = ("anyOf", "oneOf", "allOf")
_IN_PLACE: Final = ("if", "then", "else")
_IN_PLACE_NAMED: Final = ("dependentSchemas", "dependencies", "dependentRequired")
_NAMES: Final = ("properties", "patternProperties", "required")


class Unfit(Exception):  # noqa: N818 -- a value in the end: it becomes `NotStrict`
    """The schema does not fit the rules; `reason` says which, `path` (JSON Pointer) where."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


def below(path: str, *tokens: str | int) -> str:
    """A place further down."""
    return path + "".join(f"/{pointer_token(token)}" for token in tokens)


def is_primitive(value: Any) -> bool:
    """Whether a JSON value is neither an array nor an object."""
    return not isinstance(value, (dict, list))


def identity(value: Any) -> tuple[str, Any]:
    """A key that two primitives share exactly if they are one JSON value (`1` and `1.0` are, `1` and `true` are not)."""
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return ("number" if is_number else type(value).__name__, value)


def declares_elsewhere(node: dict[str, Any]) -> bool:
    """Whether branches of an object node speak of properties that the node itself does not declare."""
    own = node.get("properties")
    declared = own.keys() if isinstance(own, dict) else set[str]()
    branches = [branch for word in _IN_PLACE_LISTS for branch in _listed(node.get(word))]
    branches += [node[word] for word in _IN_PLACE if word in node]
    branches += [branch for word in _IN_PLACE_NAMED for branch in _named(node.get(word))]
    while branches:
        branch = branches.pop()
        if isinstance(branch, list):
            branch = {"required": branch}
        if not isinstance(branch, dict):
            continue
        if "$ref" in branch or any(name not in declared for word in _NAMES for name in branch.get(word, ())):
            return True
        branches += [inner for word in _IN_PLACE_LISTS for inner in _listed(branch.get(word))]
        branches += [branch[word] for word in _IN_PLACE if word in branch]
    return False


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _named(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def checked_properties(node: dict[str, Any], path: str) -> dict[str, Any]:
    """The `properties` of an object node."""
    properties = node.get("properties")
    if not isinstance(properties, dict):
        raise Unfit("an object has to declare its properties", path)
    return properties


def checked_required(node: dict[str, Any], properties: dict[str, Any], path: str) -> list[str]:
    """The names in `required`, each once and each declared."""
    required = node.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise Unfit("required has to be a list of strings", below(path, "required"))
    if len(set(required)) != len(required):
        raise Unfit("required names a property twice", below(path, "required"))
    missing = next((name for name in required if name not in properties), None)
    if missing is not None:
        raise Unfit(f"required names the undeclared property {missing}", below(path, "required"))
    return required


def checked_enum(values: Any, path: str) -> list[Any]:
    """The values of an `enum` that holds different primitives only."""
    if not isinstance(values, list) or not values:
        raise Unfit("enum has to be a list with at least one value", path)
    if not all(is_primitive(value) for value in values):
        raise Unfit("enum holds an array or an object", path)
    if len({identity(value) for value in values}) != len(values):
        raise Unfit("enum holds a value twice", path)
    return values
