"""Keeping secrets out of whatever is written or shown: texts, records, frames, results.

A secret is a value that somebody gave (keys of the environment), what has the form of one (`secret_shapes`), what matches a
pattern of the caller's, and what the schema marks secret. What is replaced is marked `[redacted:kind]`. The names by which
records refer to each other are left alone, whatever they look like, and so is the object that the run returns.

Must not go in here: where redacted things go (`runtime.veil`), forms (`secret_shapes`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract
from lastcall.contract.finishing_tools import FINISH
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.contract.patterns import BadPattern, Pattern, PatternBudget, compile_pattern
from lastcall.core import records as r
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.messages import OpaqueBlock
from lastcall.nouns.result import Answered, Attempt, TerminalResult
from lastcall.nouns.tools import Arguments, ToolCall
from lastcall.wire.secret_shapes import marked, without_known

MARK: Final = "[redacted:"
SHORTEST: Final = 8
"""Characters of a given value; shorter ones would blank out ordinary words."""
_SPAN_SECONDS: Final = 0.5
"""The longest search for where a pattern matches a text in which it does."""
_PLAIN: Final = frozenset({
    "call_id", "message_id", "message_ids", "uuid", "run_id", "session_id", "given_id", "model", "from_model", "to_model",
    "version", "profile", "contract_digest", "digest", "keyword", "feature", "trigger", "stop_reason", "signature", "tool",
    "retracted", "answered_before", "code",
})  # fmt: skip
"""Fields of records by which things refer to each other, or that a service wants back as they were."""
_CARRIED: Final = frozenset({
    "id", "tool_use_id", "type", "media_type", "encrypted_content", "data", "signature",
})  # fmt: skip
"""The same in blocks that are carried and not understood."""
_LITERAL: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,:\[\]{}"]+', re.DOTALL)

T = TypeVar("T")


class BadRedaction(ValueError):  # noqa: N818 -- told as an error of the command line
    """A pattern that cannot be searched for, and why."""


class Custom:
    """A pattern of the caller's. Searched in linear or bounded time; where an answer is not to be had, all is hidden."""

    def __init__(self, source: str) -> None:
        """Raises `BadRedaction`."""
        import regex  # noqa: PLC0415 -- 10 ms that only such a pattern needs

        try:
            self._finds: Pattern = compile_pattern(source)
            self._spans = regex.compile(source)
        except (BadPattern, regex.error) as error:
            raise BadRedaction(str(error)) from None
        if self._spans.fullmatch("") is not None:
            raise BadRedaction("it matches the empty text")

    def __call__(self, text: str) -> str:
        """The text without what matches."""
        try:
            if not self._finds.search(text):
                return text
            found = self._spans.sub(lambda match: marked("pattern") if match[0] else "", text, timeout=_SPAN_SECONDS)
        except (PatternBudget, TimeoutError):
            return marked("pattern")
        return found if found != text else marked("pattern")


class Redactor:
    """Replaces secrets. `given` are values with their kind, `known` turns the well-known forms on."""

    def __init__(
        self,
        given: Iterable[tuple[str, str]] = (),
        *,
        known: bool = False,
        patterns: Iterable[str] = (),
        contract: Contract | None = None,
    ) -> None:
        """Raises `BadRedaction`."""
        forms = {form: kind for value, kind in given if len(value) >= SHORTEST for form in _forms(value)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._kinds = forms
        self._given = re.compile("|".join(map(re.escape, longest_first))) if forms else None
        self._known = known
        self._custom = tuple(Custom(pattern) for pattern in patterns)
        self._contract = contract if contract is not None and known and contract.has_secrets else None

    @property
    def idle(self) -> bool:
        """Whether there is nothing to look for."""
        return self._given is None and not self._known and not self._custom

    def text(self, text: str) -> str:
        """A text without secrets; the same object where it holds none."""
        found = self._fixed(text)
        if self._custom:
            found = self._by_patterns(found)
        return text if found == text else found

    def value(self, value: Any, name: str = "") -> Any:
        """Any value of records and frames without secrets; the same object where it holds none."""
        match value:
            case Enum():
                return value
            case str():
                return value if name in _PLAIN else self.text(value)
            case OpaqueBlock():
                return _same(value, replace(value, value=self._carried(value.value)))
            case Struct():
                return self._struct(value)
            case Mapping():
                return _same(value, {self.text(str(key)): self.value(item) for key, item in value.items()})
            case tuple():
                return _same(value, tuple(self.value(item, name) for item in value))
            case list():
                return _same(value, [self.value(item, name) for item in value])
            case _:
                return value

    def records(self, records: Sequence[r.Record]) -> tuple[r.Record, ...]:
        """Records as they are written down."""
        return tuple(cast("r.Record", self.value(record)) for record in records)

    def result(self, result: TerminalResult) -> TerminalResult:
        """A result in which only what the run returns is as it was."""
        hidden = {name: self.value(getattr(result, name)) for name in _TOLD}
        if not isinstance(result.outcome, Answered):
            hidden |= {"outcome": self.value(result.outcome), "text": self.text(result.text)}
        return replace(result, **hidden)

    def _struct(self, value: Struct) -> Struct:
        if self._contract is not None:
            value = _masked(value, self._contract)
        changed: dict[str, Any] = {}
        for name in value.__struct_fields__:
            before = getattr(value, name)
            after = (
                before if name == "name" and isinstance(value, ToolCall | r.ToolStarted) else self.value(before, name)
            )
            if after is not before:
                changed[name] = after
        return replace(value, **changed) if changed else value

    def _carried(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: item if key in _CARRIED else self._carried(item) for key, item in value.items()}
        return [self._carried(item) for item in value] if isinstance(value, list) else self.value(value)

    def _fixed(self, text: str) -> str:
        if self._given is not None:
            text = self._given.sub(lambda match: marked(self._kinds[match[0]]), text)
        return without_known(text) if self._known else text

    def _by_patterns(self, text: str) -> str:
        """By the caller's patterns: in JSON string by string, so that it stays JSON."""
        if text.lstrip()[:1] in ("{", "[") and not isinstance(read_json(text, numbers="exact"), JsonFault):
            return _LITERAL.sub(self._literal, text)
        for custom in self._custom:
            text = custom(text)
        return text

    def _literal(self, match: re.Match[str]) -> str:
        literal = match[0]
        quoted = literal.startswith('"')
        said = str(json.loads(literal, strict=False)) if quoted else literal
        found = said
        for custom in self._custom:
            found = custom(found)
        return literal if found == said else json.dumps(found, ensure_ascii=False)


_TOLD: Final = ("attempts", "checks", "warnings", "permission_denials", "draft", "kept_object_text")


def _forms(value: str) -> tuple[str, ...]:
    """How a value may stand in a text: as it is, in JSON, in an address."""
    in_json = msgspec.json.encode(value).decode()[1:-1]
    return (value, in_json, json.dumps(value)[1:-1], quote(value, safe=""))


def _same(before: T, after: T) -> T:
    return before if before == after else after


def _masked(value: Struct, contract: Contract) -> Struct:
    """What the schema marks secret, in every place where an object is written down."""
    match value:
        case ToolCall(name=name, arguments=Arguments(text=text)) if name == FINISH:
            return replace(value, arguments=Arguments(contract.masked(text, wrapped=True) or "{}"))
        case Attempt(draft=draft) if draft:
            return replace(value, draft=contract.masked(draft, wrapped=True))
        case Attachment(text=text):
            return replace(value, text=contract.masked(text))
        case _:
            return value


def is_redacted(text: str) -> bool:
    """Whether something was taken out of a text."""
    return MARK in text
