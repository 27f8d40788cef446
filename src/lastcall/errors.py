"""The whole exception tree of lastcall.

*Whose fault* is the type: `UsageError` is the caller's, `ProviderError` the model service's, `JournalError` the disk's,
`LastcallBug` ours. How a run *ended* is never an exception but a value (`nouns.result.Outcome`); the one bridge is
`NoAnswer`, raised only by `TerminalResult.unwrap()`.

Must not go in here: exit codes, wording for the model, anything that imports another module of lastcall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from lastcall.api.result import TerminalResult
    from lastcall.nouns import result as core


class LastcallError(Exception):
    """Base of every error that lastcall raises on purpose.

    `code` is a stable slug for programs, `hint` says what to do, `where` names the place (a flag, a file, a pointer).
    """

    code = "error"

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        stop = "." if self.hint and self.message[-1:] not in ".!?:" else ""
        advice = f"{stop} {self.hint}" if self.hint else ""
        return f"{place}{self.message}{advice}"


# -- the caller's ---------------------------------------------------------------------------------------------------


class UsageError(LastcallError):
    """Something given to lastcall cannot be used; nothing was sent or spent."""

    code = "usage"


class BadConfig(UsageError):
    """A flag, an environment variable or a configuration file has a value that cannot be used."""

    code = "bad_config"


class MissingExtra(UsageError):
    """An optional dependency is not installed; the hint holds the command that installs it."""

    code = "missing_extra"


class BadSchema(UsageError):
    """The contract's schema cannot be used. Its subclasses say at which step it failed."""

    code = "bad_schema"


class SchemaNotJson(BadSchema):
    """The schema text is not JSON."""

    code = "schema_not_json"


class SchemaNotAnObject(BadSchema):
    """The schema is JSON, but not an object (a bare `true` is not taken either: the reference refuses it)."""

    code = "schema_not_an_object"


class NotASchema(BadSchema):
    """The object is no valid JSON Schema of its dialect, or uses what the profile refuses."""

    code = "not_a_schema"


class SchemaTooBig(BadSchema):
    """The schema is over one of the budgets (bytes, nodes, depth)."""

    code = "schema_too_big"


class BadRule(UsageError):
    """A rule beside the schema (`--rule`, `--check`, a callable) cannot be used."""

    code = "bad_rule"


# -- the model service's --------------------------------------------------------------------------------------------


class ProviderError(LastcallError):
    """The model service did not do its part. `status` is the HTTP status where there was one."""

    code = "provider"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        where: str = "",
        status: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.status = status


class Unreachable(ProviderError):
    """No answer: connection refused, timed out, name not found."""

    code = "unreachable"


class Refused(ProviderError):
    """The service answered, and the answer is no (authentication, bad request, overload)."""

    code = "refused"


class CapabilityMissing(Refused):
    """The deployment refused one feature of the request (strict tools, forced choice); it may be asked without it."""

    code = "capability_missing"


class BrokenStream(ProviderError):
    """The reply began and did not end as the protocol says."""

    code = "broken_stream"


class ReplyTooLarge(BrokenStream):
    """The reply is over a budget; the same request would bring the same, so it is not sent again."""

    code = "reply_too_large"


class ModelUnavailable(ProviderError):
    """The embedded model cannot be used here: not downloaded, damaged, too little memory, a processor without AVX2."""

    code = "model_unavailable"


# -- the disk's -----------------------------------------------------------------------------------------------------


class JournalError(LastcallError):
    """A journal cannot be written or read."""

    code = "journal"


class JournalCorrupt(JournalError):
    """A line that is not the last one does not hold a step."""

    code = "journal_corrupt"


class JournalLocked(JournalError):
    """Another process holds this session."""

    code = "journal_locked"


class JournalTooNew(JournalError):
    """The journal was written by a newer lastcall than this one."""

    code = "journal_too_new"


# -- the ends -------------------------------------------------------------------------------------------------------


class NoAnswer(LastcallError):
    """There is no object to hand over; `result` says how the run ended. Raised only by `TerminalResult.unwrap()`."""

    code = "no_answer"

    def __init__(self, result: TerminalResult[Any] | core.TerminalResult) -> None:
        super().__init__(f"the run ended without a verified object: {result.reason}")
        self.result: TerminalResult[Any] = result  # type: ignore[assignment] # the core's has the same fields


class LastcallBug(LastcallError):
    """A fault of lastcall: an event that cannot be. Please report it."""

    code = "bug"
