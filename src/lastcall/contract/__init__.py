"""Schema in, proof out.

`compile_contract` turns a schema and rules into a `Contract`; `Contract.judge` says of one attempt whether it is an object
that passes. Checking and wording are apart: a verdict holds problems, `contract.wording` makes the sentences.

Must not go in here: I/O of any kind (checks that need it are run by the runtime).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from lastcall.contract.annotations import Annotations, annotations_of
from lastcall.contract.budgets import PROBLEMS_LISTED, BudgetExceeded
from lastcall.contract.closest import explained
from lastcall.contract.coercion import coerce_top_level, input_issue
from lastcall.contract.diagnosis import diagnosed
from lastcall.contract.dialects import choose_dialect
from lastcall.contract.finishing_tools import decline_tool, finish_tool
from lastcall.contract.json_text import JsonFault, lone_surrogates, read_json, write_json
from lastcall.contract.later_words import in_later_words
from lastcall.contract.parse import schema_from_value
from lastcall.contract.positions import fresh
from lastcall.contract.rules import Check, Rule
from lastcall.contract.secrets import Secrets, conceal, masked
from lastcall.contract.seen import NOTHING_SEEN, Sight
from lastcall.contract.suspicion import warnings_of
from lastcall.contract.validator import Validator, compile_validator
from lastcall.contract.verdicts import Accepted, CannotRead, Rejected, Verdict, WrongInput, below, check_verdict
from lastcall.contract.wrapping import WRAP, not_wrapped, wrap_root
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.request import Channel
from lastcall.nouns.result import CheckVerdict
from lastcall.nouns.schema import NotStrict, OutputSchema, StrictSchema
from lastcall.nouns.tools import Arguments, ToolDefinition, Unreadable

if TYPE_CHECKING:
    from lastcall.contract.plain_names import PlainNames

ARGUMENT_DEPTH: Final = 512
"""How deep the arguments of an attempt may nest."""

DIAGNOSED: Final = 60
"""Problems that get their figures and hints; more than this do not go to the model anyway."""

_TOOL_NOTE: Final = (
    "Finish by calling StructuredOutput with the result; it is checked against the schema. Text alone does not reach the "
    "caller."
)
_NATIVE_NOTE: Final = "Answer with one JSON object that fits this JSON Schema, and with nothing else:"


class Contract:
    """A compiled schema, its rules, and the forms that go on the wire. Immutable; may be shared between runs and threads.

    Made only by `compile_contract`.
    """

    __slots__ = (
        "_annotations",
        "_loader",
        "_names",
        "_numbers",
        "_plain",
        "_strict",
        "_tools",
        "_validator",
        "checks",
        "dialect",
        "profile",
        "reference",
        "rules",
        "schema",
        "strict_values",
        "wire_schema",
        "wrapped",
    )

    def __init__(  # noqa: PLR0913 -- called by `compile_contract` alone
        self,
        schema: OutputSchema,
        profile: Profile,
        dialect: str,
        validator: Validator,
        wire: tuple[JsonObject, bool],
        rules: tuple[Rule, ...],
        checks: tuple[Check, ...],
        *,
        strict_values: bool,
        loader: Callable[[JsonValue], Any] | None,
        reference: Reference,
        annotations: Annotations | None,
    ) -> None:
        self.schema = schema
        self.reference = reference
        self.profile = profile
        self.dialect = dialect
        self.rules = rules
        self.checks = checks
        self.strict_values = strict_values
        self.wire_schema, self.wrapped = wire
        self._validator = validator
        self._loader = loader
        self._annotations = annotations
        self._numbers: Any = "doubles" if profile is Profile.COMPAT else "exact"
        self._strict: dict[str, StrictSchema | NotStrict] = {}
        self._tools: dict[tuple[bool, str], tuple[ToolDefinition, ...]] = {}
        self._names: PlainNames | None = None
        self._plain: Contract | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the schema's text, in hex."""
        return self.schema.digest

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the schema, for people."""
        return self._validator.warnings

    @property
    def has_checks(self) -> bool:
        """Whether an object is held for checks that need I/O."""
        return bool(self.checks)

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the rules and checks beside the schema, in their order."""
        return (*(rule.name for rule in self.rules), *(check.name for check in self.checks))

    @property
    def needs_sight(self) -> bool:
        """Whether judging asks what the run has seen."""
        return self._annotations is not None and self._annotations.needs_sight

    @property
    def has_secrets(self) -> bool:
        """Whether the schema marks values that are repeated nowhere."""
        return self._annotations is not None and self._annotations.any_secret

    # -- what the model is shown ------------------------------------------------------------------------------------

    def strict(self, rules: str) -> StrictSchema | NotStrict:
        """The wire schema's strict form by `rules` (`wire.dialect.StrictRules`), or why there is none."""
        if rules not in self._strict:
            from lastcall.contract.strict import to_strict  # noqa: PLC0415 -- not needed for `strict_rules` none

            self._strict[rules] = to_strict(self.wire_output, rules)
        return self._strict[rules]

    def finishing_tools(
        self, *, declines: bool, revises: bool = False, strict_rules: str = "none"
    ) -> tuple[ToolDefinition, ...]:
        """The finishing tools of a deployment; `revises` where a draft is kept that may be patched."""
        if (declines, strict_rules) not in self._tools:
            self._tools[declines, strict_rules] = self._finishing_tools(declines, strict_rules)
        tools = self._tools[declines, strict_rules]
        if not revises:
            return tools
        from lastcall.contract.revision import revise_tool  # noqa: PLC0415 -- most runs keep no draft

        return (*tools, revise_tool(strict_rules))

    def _finishing_tools(self, declines: bool, strict_rules: str) -> tuple[ToolDefinition, ...]:
        strict = None if strict_rules == "none" else self.strict(strict_rules)
        strict_schema = strict.value if isinstance(strict, StrictSchema) else None
        finish = finish_tool(self.wire_schema, notes=self._notes, strict_schema=strict_schema)
        return (finish, decline_tool()) if declines else (finish,)

    @property
    def _notes(self) -> str:
        """What the model is told beforehand of rules that no schema says."""
        told = [str(rule.told) for rule in self.rules if hasattr(rule, "told")]
        return f"The result also has to satisfy: {'; '.join(told)}." if told else ""

    @property
    def wire_output(self) -> OutputSchema:
        """The schema as it goes on the wire: the caller's, wrapped where its root is no object."""
        if self.wire_schema is self.schema.value:
            return self.schema
        return schema_from_value(self.wire_schema, profile=self.profile)

    def system_addition(self, channel: Channel) -> str:
        """What a contract adds to the system prompt."""
        if self.profile is Profile.COMPAT:
            return ""
        if channel is Channel.NATIVE:
            return f"{_NATIVE_NOTE}\n{self.wire_output.text}"
        return _TOOL_NOTE

    # -- names that a service takes ---------------------------------------------------------------------------------

    def with_plain_names(self) -> Contract:
        """The same contract for a service that takes plain property names only (`contract.plain_names`)."""
        from lastcall.contract.plain_names import plain_names  # noqa: PLC0415 -- most services take any name

        if self._plain is None:
            self._plain = self
            names = plain_names(self.wire_schema) if self.profile is Profile.NATIVE and self._names is None else None
            if names is not None:
                other = self._plain = copy(self)
                other.wire_schema = names.schema
                other._names, other._plain = names, other  # noqa: SLF001 -- a copy of its own
                other._strict, other._tools = {}, {}  # noqa: SLF001
        return self._plain

    def in_callers_view(self, value: JsonValue) -> JsonValue:
        """The same for what is written of an object so far."""
        return value if self._names is None else self._names.callers_value(value)

    def in_callers_names(self, arguments: Arguments | Unreadable) -> Arguments | Unreadable:
        """What the model sent, in the names of the schema that the caller gave."""
        if self._names is None or isinstance(arguments, Unreadable):
            return arguments
        return Arguments(self._names.callers_text(arguments.text, max_depth=ARGUMENT_DEPTH), arguments.duplicates)

    def in_wire_names(self, text: str) -> str:
        """A draft in the names that the model sees."""
        return text if self._names is None else self._names.plain_text(text, max_depth=ARGUMENT_DEPTH)

    def told(self, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Problems in the names that the model sees."""
        return problems if self._names is None else tuple(map(self._names.told, problems))

    # -- judging ----------------------------------------------------------------------------------------------------

    def judge(self, arguments: Arguments | Unreadable, sight: Sight = NOTHING_SEEN) -> Verdict:
        """Whether the arguments of a finishing call are an object that passes, in a run that has seen `sight`."""
        if isinstance(arguments, Unreadable):
            return CannotRead(arguments)
        read = read_json(arguments.text, numbers=self._numbers, max_depth=ARGUMENT_DEPTH)
        if isinstance(read, JsonFault):
            return CannotRead(unreadable(arguments.text, read))
        if self.profile is Profile.COMPAT:
            return self._judge_compat(read.value)
        return self._judge_native(read.value, read.duplicates, sight)

    def judge_text(self, text: str) -> Verdict:
        """The same for the text of a reply in the provider's own JSON format."""
        return self.judge(Arguments(text))

    def load(self, object_text: str) -> Any:
        """The object as the caller gets it: a fresh value, or the Python type the contract was made from."""
        read = read_json(object_text, numbers=self._numbers, max_depth=ARGUMENT_DEPTH)
        value = read.value if not isinstance(read, JsonFault) else None
        return value if self._loader is None else self._loader(value)

    def as_seen(self, text: str) -> str | None:
        """Arguments as the reference keeps them in the history, its coercions made; `None` where it changes nothing."""
        if self.profile is Profile.NATIVE:
            return None
        read = read_json(text, numbers=self._numbers, max_depth=ARGUMENT_DEPTH)
        if isinstance(read, JsonFault) or not isinstance(read.value, dict):
            return None
        return write_json(coerce_top_level(read.value, self.schema), numbers=self._numbers)

    def problems_of(self, value: JsonValue) -> Rejected | None:
        """What the schema and the rules say of a value (unwrapped); `None` when it passes."""
        checked = self._check(value, "", NOTHING_SEEN)
        return checked if isinstance(checked, Rejected) else None

    def concealed(self, text: str, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """The problems of an attempt (its arguments' text) without the values that the schema marks secret."""
        found = self._secrets(text)
        return problems if found is None else conceal(problems, found[1])

    def masked(self, text: str, *, wrapped: bool = False) -> str:
        """The text of an object (`wrapped`: of an attempt) without secret values; one that cannot be read is left out."""
        if not self.has_secrets:
            return text
        found = self._secrets(text, wrapped=wrapped)
        if found is None:
            return ""
        paths = frozenset(path for path, _ in found[1])
        return write_json(masked(found[0], paths), numbers="exact")

    def _secrets(self, text: str, *, wrapped: bool = True) -> tuple[JsonValue, Secrets] | None:
        """What a text says, and the secret values in it; `None` where there is nothing to hide or to read."""
        if self._annotations is None or not self._annotations.any_secret:
            return None
        read = read_json(text, numbers="exact", max_depth=ARGUMENT_DEPTH)
        if isinstance(read, JsonFault):
            return None
        prefix, inner = "", read.value
        if self.wrapped and wrapped and isinstance(inner, dict) and WRAP in inner:
            prefix, inner = f"/{WRAP}", inner[WRAP]
        return read.value, tuple((prefix + path, value) for path, value in self._annotations.secrets(inner))

    def _judge_compat(self, value: JsonValue) -> Verdict:
        issue = input_issue(value)
        if issue is not None:
            return WrongInput(issue)
        assert isinstance(value, dict)
        coerced = coerce_top_level(value, self.schema)
        checked = self._check(coerced, "", NOTHING_SEEN)
        if isinstance(checked, Rejected):
            return checked
        return Accepted(write_json(coerced, numbers="doubles"), (), checked)

    def _judge_native(self, value: JsonValue, duplicates: tuple[str, ...], sight: Sight) -> Verdict:
        slips = tuple(
            Problem(path, "duplicate_key", "the key occurs more than once in its object", {"hint": "send it once"})
            for path in duplicates
        ) + tuple(
            Problem(path, "unicode", "holds half of a surrogate pair, which is no character")
            for path in lone_surrogates(value)
        )
        if slips:
            return Rejected(slips[:PROBLEMS_LISTED], len(slips))
        if not isinstance(value, dict):
            return Rejected((Problem("", "type", "must be object", {"type": "object"}),), 1)
        inner, prefix = (value, "") if not self.wrapped else (value.get(WRAP), f"/{WRAP}")
        if self.wrapped and set(value) != {WRAP}:
            return Rejected((not_wrapped(value),), 1)
        checked = self._check(inner, prefix, sight)
        if isinstance(checked, Rejected):
            return checked
        warnings = warnings_of(inner, self.schema.value, self._fits)
        if warnings and self.strict_values:
            listed = tuple(Problem(prefix + w.path, w.code, w.message) for w in warnings)
            return Rejected(listed, len(listed), checked)
        return Accepted(write_json(inner, numbers="exact"), warnings, checked)

    def _check(self, value: JsonValue, prefix: str, sight: Sight) -> Rejected | tuple[CheckVerdict, ...]:
        """The schema first; the rules only on an object that fits it, all of them at once: their verdicts, if it passes."""
        try:
            found = self._validator.problems(value)
        except BudgetExceeded as error:
            return Rejected((Problem(prefix, "budget", error.message),), 1)
        if found.total:
            listed, total = found.listed, found.total
            if self.profile is Profile.NATIVE:
                listed, left_out = explained(self._validator, value, listed)
                total -= left_out
                listed = diagnosed(listed[:DIAGNOSED], value, self._fits) + listed[DIAGNOSED:]
            elif self.reference is Reference.LATER:
                listed = in_later_words(listed, value)
            return Rejected(below(prefix, listed), total)
        broken: list[Problem] = []
        verdicts: list[CheckVerdict] = []
        if self._annotations is not None and self._annotations.needs_sight:
            unbacked = self._annotations.problems(value, sight)
            broken += unbacked
            verdicts.append(check_verdict("x-lastcall", unbacked))
        for rule in self.rules:
            problems = rule.problems(fresh({WRAP: value})[WRAP])
            broken += problems
            verdicts.append(check_verdict(rule.name, problems))
        if broken:
            return Rejected(below(prefix, tuple(broken)), len(broken), tuple(verdicts))
        return tuple(verdicts)

    def _fits(self, value: JsonValue) -> bool:
        """Whether another value would have fitted the schema: for hints only."""
        try:
            return not self._validator.problems(value).total
        except BudgetExceeded:
            return False


def compile_contract(
    schema: OutputSchema,
    *,
    profile: Profile = Profile.NATIVE,
    rules: Sequence[Rule] = (),
    checks: Sequence[Check] = (),
    assert_formats: bool = True,
    strict_values: bool = False,
    loader: Callable[[JsonValue], Any] | None = None,
    reference: Reference = Reference.RECORDED,
) -> Contract:
    """The contract of a schema and its rules.

    `assert_formats` is native only; compat treats `format` as an annotation, as recorded. Raises `BadSchema`.
    """
    dialect = choose_dialect(schema.value, profile.value)
    native = profile is Profile.NATIVE
    validator = compile_validator(schema.value, dialect, assert_formats=assert_formats and native)
    wire = wrap_root(schema.value) if native else (schema.value, False)
    return Contract(
        schema,
        profile,
        dialect.name,
        validator,
        wire,
        tuple(rules),
        tuple(checks),
        strict_values=strict_values,
        loader=loader,
        reference=reference,
        annotations=annotations_of(validator) if native else None,
    )


def unreadable(text: str, fault: JsonFault) -> Unreadable:
    """Arguments that could not be read, with the place."""
    return Unreadable(text, fault.cause, fault.message, fault.line, fault.column, fault.offset, len(text))
