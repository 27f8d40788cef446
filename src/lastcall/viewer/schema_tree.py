"""A contract as a tree of rows: each place of the schema with its keywords, and what enforces each of them.

Must not go in here: finding out what enforces what (`contract.explain`).
"""

from __future__ import annotations

from typing import Any, Final

from lastcall.contract import Contract, compile_contract
from lastcall.contract.explain import By, Enforcement, explain
from lastcall.contract.json_text import write_json
from lastcall.contract.parse import parse_schema
from lastcall.contract.positions import MANY, NAMED, ONE, each_subschema
from lastcall.errors import LastcallError
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import NotStrict
from lastcall.viewer.entries import ContractFacts, Keyword, Node
from lastcall.wire.dialect import StrictRules

MOST_NODES: Final = 2_000
_LONGEST: Final = 300
_DECODERS: Final = {
    StrictRules.ANTHROPIC: "Anthropic",
    StrictRules.OPENAI: "OpenAI",
    StrictRules.GRAMMAR: "embedded",
}
"""Whose decoders can constrain by a schema, in words."""
_ROLES: Final = {
    "properties": "property", "patternProperties": "keys that match", "$defs": "definition", "definitions": "definition",
    "dependentSchemas": "if there is", "dependencies": "if there is", "items": "each item", "prefixItems": "item",
    "additionalProperties": "other keys", "additionalItems": "other items", "unevaluatedProperties": "other keys",
    "unevaluatedItems": "other items", "contains": "some item", "propertyNames": "each key", "not": "not",
    "if": "if", "then": "then", "else": "else", "anyOf": "any of", "oneOf": "exactly one of", "allOf": "all of",
    "contentSchema": "content",
}  # fmt: skip
_SHOWN_ELSEWHERE: Final = frozenset({"title", "description", "$comment"})


def contract_facts(schema_text: str, profile: str = "native", rules: tuple[str, ...] = ()) -> ContractFacts:
    """The contract of a schema; what is wrong with it stands in `fault`. Raises nothing."""
    try:
        chosen = Profile(profile)
        contract = compile_contract(parse_schema(schema_text, profile=chosen), profile=chosen)
        return _facts(contract, rules)
    except (LastcallError, ValueError) as error:
        return ContractFacts(fault=getattr(error, "message", str(error)), rules=rules)


def _facts(contract: Contract, rules: tuple[str, ...]) -> ContractFacts:
    forms = {kind: contract.strict(kind) for kind in _DECODERS}
    enforced = {
        kind: explain(
            contract.schema,
            strict=form,
            decoder=By.GRAMMAR if kind is StrictRules.GRAMMAR else By.STRICT,
            wrapped=contract.wrapped,
            profile=contract.profile,
        )
        for kind, form in forms.items()
    }
    here = next(iter(enforced.values()))
    decoders = {
        (fact.path, fact.keyword): tuple(
            _DECODERS[kind] for kind, facts in enforced.items() if set(facts[n].by) - {By.CHECK}
        )
        for n, fact in enumerate(here)
    }
    by_path: dict[str, list[Enforcement]] = {}
    for fact in here:
        by_path.setdefault(fact.path, []).append(fact)
    root = contract.schema.value
    nodes = [
        _node(root, path, node, by_path.get(path, []), decoders)
        for (path, node), _ in zip(each_subschema(root), range(MOST_NODES), strict=False)
    ]
    return ContractFacts(
        title=_text(root.get("title")),
        dialect=contract.dialect,
        digest=contract.schema.digest,
        wrapped=contract.wrapped,
        nodes=tuple(nodes),
        without=tuple(f"{_DECODERS[k]}: {f.reason}" for k, f in forms.items() if isinstance(f, NotStrict)),
        rules=rules,
    )


def _node(
    root: dict[str, Any],
    path: str,
    node: dict[str, Any],
    facts: list[Enforcement],
    decoders: dict[tuple[str, str], tuple[str, ...]],
) -> Node:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    depth, role, name, required = _role(root, steps)
    kind = node.get("type", "")
    return Node(
        path=path,
        depth=depth,
        name=name,
        role=role,
        type=" or ".join(map(str, kind)) if isinstance(kind, list) else _text(kind),
        required=required,
        description=_text(node.get("description")),
        keywords=tuple(
            Keyword(
                word=fact.keyword,
                value=_value(fact.keyword, node[fact.keyword]),
                checked=By.CHECK in fact.by,
                decoders=decoders[(fact.path, fact.keyword)],
                note=fact.note,
            )
            for fact in facts
            if fact.keyword not in _SHOWN_ELSEWHERE
        ),
    )


def _role(root: dict[str, Any], steps: list[str]) -> tuple[int, str, str, bool]:
    """How deep, as what, under which name, and whether it has to be there."""
    depth, role, name, required = 0, "root", "", False
    at: Any = root
    while steps:
        word, steps = steps[0], steps[1:]
        parent, at = at, at[word]
        depth, role, name, required = depth + 1, _ROLES.get(word, word), "", False
        if steps and (word in NAMED or isinstance(at, list)):
            name, steps = steps[0], steps[1:]
            needed = parent.get("required")
            required = word == "properties" and isinstance(needed, list) and name in needed
            at = at[int(name)] if isinstance(at, list) else at[name]
            name = str(int(name) + 1) if word in MANY else name
    return depth, role, name, required


def _value(word: str, value: Any) -> str:
    """A keyword's value in short; what holds schemas is shown by its own rows."""
    if word in ONE | NAMED | MANY and not isinstance(value, bool):
        return ""
    text = write_json(value, numbers="exact")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\u2026"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
