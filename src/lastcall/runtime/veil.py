"""What of a session is written and shown, without its secrets.

The keys of model providers in the environment are always hidden; with `RunConfig.redact` so is what has the form of a
secret, what the environment calls one, and what the caller's patterns match. The machine itself, the model and the
returned object see everything as it is.

Must not go in here: finding secrets (`wire.redaction`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from lastcall.contract import Contract
from lastcall.core import records as r
from lastcall.core.events import Progress
from lastcall.errors import BadConfig
from lastcall.nouns.result import Answered, TerminalResult
from lastcall.tools.environment import is_provider_key
from lastcall.wire.redaction import BadRedaction, Redactor
from lastcall.wire.secret_shapes import is_secret_name

ENVIRONMENT = "environment"
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class Veil:
    """Hides secrets in whatever leaves the machine."""

    def __init__(self, redactor: Redactor | None = None, secrets: Sequence[str] = ()) -> None:
        self._redactor = redactor if redactor is not None and not redactor.idle else None
        self._secrets = secrets
        self._held: dict[int, Progress] = {}

    def text(self, text: str) -> str:
        """A line for people."""
        return self._redactor.text(text) if self._redactor is not None else text

    def fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Fields of a frame."""
        return dict(self._redactor.value(fields)) if self._redactor is not None else fields

    def written(self, records: Sequence[r.Record]) -> Sequence[r.Record]:
        """Records as the journal keeps them."""
        return self._redactor.records(records) if self._redactor is not None else records

    def shown(self, records: Sequence[r.Record], written: Sequence[r.Record]) -> Sequence[r.Record]:
        """Records for whoever watches: `written`, but for the object that is returned."""
        if self._redactor is None:
            return records
        return tuple(before if _returns(before) else after for before, after in zip(records, written, strict=True))

    def result(self, result: TerminalResult) -> TerminalResult:
        """The result: the object as it is, nothing else."""
        return self._redactor.result(result) if self._redactor is not None else result

    def progress(self, progress: Progress) -> Iterator[Progress]:
        """Pieces of a block; the end of one that may be the beginning of a given secret waits for the next."""
        if self._redactor is None:
            yield progress
            return
        event = progress.event
        index, delta = event.get("index"), event.get("delta")
        name = _TEXTS.get(str(delta.get("type"))) if isinstance(delta, Mapping) else None
        if not isinstance(index, int) or not isinstance(delta, Mapping) or name is None:
            if isinstance(index, int) and index in self._held:
                yield self._held.pop(index)
            yield replace(progress, event=self.fields(dict(event)))
            return
        before = self._held.pop(index, None)
        text = (str(before.event["delta"][name]) if before is not None else "") + str(delta.get(name, ""))
        text = self.text(text)
        kept = self._beginning(text)
        if kept:
            self._held[index] = _with_text(progress, name, text[len(text) - kept :])
        if len(text) > kept:
            yield _with_text(progress, name, text[: len(text) - kept])

    def _beginning(self, text: str) -> int:
        """Characters at the end of a text with which a secret may begin."""
        longest = max((len(secret) for secret in self._secrets), default=1) - 1
        ends = range(min(longest, len(text)), 0, -1)
        return next((n for n in ends if any(secret.startswith(text[len(text) - n :]) for secret in self._secrets)), 0)


NO_VEIL = Veil()
"""Hides nothing."""


def veil_of(
    environment: Mapping[str, str], redact: Sequence[str] | None = None, contract: Contract | None = None
) -> Veil:
    """What is hidden in a run. `redact` is `RunConfig.redact`. Raises `BadConfig` for a pattern that cannot be used."""
    on = redact is not None
    secrets = [
        value
        for name, value in environment.items()
        if is_provider_key(name) or (on and is_secret_name(name) and not value.isdigit())
    ]
    try:
        redactor = Redactor(
            ((value, ENVIRONMENT) for value in secrets), known=on, patterns=redact or (), contract=contract
        )
    except BadRedaction as error:
        hint = "Correct the pattern."
        raise BadConfig(f"this pattern cannot be used: {error}", hint=hint, where="--redact") from None
    return Veil(redactor, [value for value in secrets if len(value) >= 8])


def _returns(record: r.Record) -> bool:
    return isinstance(record, r.Attached) or (isinstance(record, r.Ended) and isinstance(record.outcome, Answered))


def _with_text(progress: Progress, name: str, text: str) -> Progress:
    delta = {**progress.event["delta"], name: text}
    return replace(progress, event={**progress.event, "delta": delta})
