"""`Contract[T]`: an output type or a schema, compiled once and used for many runs and by many threads.

Must not go in here: checking itself (`lastcall.contract`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast, overload

from lastcall import contract as core
from lastcall.api.rules import rule_from
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.contract.parse import parse_schema, schema_from_value
from lastcall.contract.rules import TypeRule
from lastcall.errors import BadConfig
from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile, Reference

T = TypeVar("T")


class Contract(Generic[T]):
    """What an object must be to count. Immutable; may be shared between runs and threads.

    `output` is a type (a Pydantic model, a dataclass, `list[Invoice]`, a union, ...), or a JSON Schema as a mapping or as
    text; then the object comes back as plain values. Raises `BadSchema`, `BadRule`, `MissingExtra`.
    """

    __slots__ = ("_assert_formats", "compiled", "output", "rules")

    @overload
    def __init__(
        self,
        output: type[T],
        *,
        rules: Sequence[Callable[..., Any]] = (),
        strict_values: bool = False,
        assert_formats: bool = True,
        profile: Profile = Profile.NATIVE,
        reference: Reference = Reference.RECORDED,
    ) -> None: ...
    @overload
    def __init__(
        self,
        output: Any,
        *,
        rules: Sequence[Callable[..., Any]] = (),
        strict_values: bool = False,
        assert_formats: bool = True,
        profile: Profile = Profile.NATIVE,
        reference: Reference = Reference.RECORDED,
    ) -> None: ...
    def __init__(
        self,
        output: Any,
        *,
        rules: Sequence[Callable[..., Any]] = (),
        strict_values: bool = False,
        assert_formats: bool = True,
        profile: Profile = Profile.NATIVE,
        reference: Reference = Reference.RECORDED,
    ) -> None:
        """Compile. `strict_values` turns warnings about suspicious values into problems."""
        rule: TypeRule | None = None
        if isinstance(output, str):
            schema = parse_schema(output, profile=profile, where="output")
        elif isinstance(output, Mapping):
            schema = schema_from_value(dict(output), profile=profile, where="output")
        else:
            from lastcall.contract.from_types import schema_of  # noqa: PLC0415 -- optional: Pydantic

            schema, loader = schema_of(output)
            rule = TypeRule(getattr(output, "__name__", None) or str(output), loader)
        self.output = output
        self._assert_formats = assert_formats
        self.rules = tuple(rules)
        self.compiled: core.Contract = core.compile_contract(
            schema,
            profile=profile,
            reference=reference,
            assert_formats=assert_formats,
            strict_values=strict_values,
            rules=() if rule is None else (rule,),
            loader=None if rule is None else rule.load,
            checks=[rule_from(function, self.load) for function in rules],
        )

    def __repr__(self) -> str:
        return f"Contract({self.output!r})"

    @property
    def type(self) -> Any:
        """The output type, `None` if it is a schema: then objects are plain values."""
        return None if isinstance(self.output, str | Mapping) else self.output

    @property
    def json_schema(self) -> Mapping[str, Any]:
        """The schema, before it is wrapped or made strict for a service."""
        return self.compiled.schema.value

    @property
    def digest(self) -> str:
        """SHA-256 of the schema's text, in hex."""
        return self.compiled.digest

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the schema."""
        return self.compiled.warnings

    def problems(self, value: Any) -> tuple[Problem, ...]:
        """What the schema and the type refuse in a JSON value; nothing when it passes. Rules are not asked.

        Raises `TypeError` or `ValueError` for what is no JSON value.
        """
        read = read_json(json.dumps(value), numbers="exact", max_depth=core.ARGUMENT_DEPTH)
        if isinstance(read, JsonFault):
            return (Problem("", "unreadable", read.message),)
        rejected = self.compiled.problems_of(read.value)
        return () if rejected is None else rejected.problems

    def load(self, object_text: str) -> T:
        """The JSON text of an object that passed as the output type."""
        return cast("T", self.compiled.load(object_text))

    def with_rules(self, rules: Sequence[Callable[..., Any]]) -> Contract[T]:
        """The same contract with more rules."""
        compiled = self.compiled
        return Contract(
            self.output,
            rules=(*self.rules, *rules),
            strict_values=compiled.strict_values,
            assert_formats=self._assert_formats,
            profile=compiled.profile,
            reference=compiled.reference,
        )


def contract_for(
    output: Any, rules: Sequence[Callable[..., Any]], profile: Profile, reference: Reference
) -> Contract[Any] | None:
    """The contract that an `output` argument means; `None` for none. Raises `BadSchema`, `BadConfig`."""
    if output is None:
        if rules:
            raise BadConfig("rules need an output to look at", hint="Give an output type.", where="rules")
        return None
    if not isinstance(output, Contract):
        return Contract(output, rules=rules, profile=profile, reference=reference)
    if output.compiled.profile is not profile:
        hint = f"Make it with Contract(..., profile=Profile.{profile.name})."
        raise BadConfig("the contract was made for another profile", hint=hint, where="output")
    return output.with_rules(rules) if rules else output
