"""What the reference prints for people when the provider failed: recorded texts of version 2.1.235, for compat only.

Must not go in here: lastcall's own sentences (`nouns.result.reason`), anything for the model (`contract.wording`).
"""

from __future__ import annotations

import re
from typing import Final

from lastcall.nouns.result import Failed, FailureKind
from lastcall.wire.failure import body_in

_DATE = re.compile(r"-\d{8}$")
_NUMBERS = re.compile(r"(\d+)-(\d+)")
_AUP: Final = "https://www.anthropic.com/legal/aup"
_BROAD: Final = (
    "{name}'s safeguards flagged this message. Our intentionally broad safeguards allow us to deliver more capabilities "
    "faster, but can sometimes flag legitimate "
)
_CYBER: Final = (
    "API Error: "
    + _BROAD
    + "cybersecurity work. Apply to the Cyber Verification Program to reduce these interruptions. Learn more: "
    "https://support.claude.com/en/articles/14604842-real-time-cyber-safeguards-on-claude\n\nDetails: `[cyber]`"
)
_FLAGGED: Final = (
    "API Error: {name}'s safeguards flagged this message (" + _AUP + "). This sometimes happens with safe, normal "
    "conversations. Claude Code can't respond to this message with {name}.\n\nTry rephrasing the request in a new session "
    "or change your model.\n\nLearn more: https://support.claude.com/en/articles/15363606"
)
_MID_REPLY: Final = "API Error: Server error mid-response. The response above may be incomplete."
_SERVER_ISSUE: Final = (
    "API Error: {status} {detail}. This is a server-side issue, usually temporary \u2014 try again in a moment. If it "
    "persists, check your inference gateway ({host})."
)
_REFUSAL_SWITCH: Final = (
    _BROAD
    + "coding, cybersecurity, and biology tasks. Switched to {other}. Send feedback with /feedback or learn more: "
    "https://support.claude.com/en/articles/15363606"
)
MODEL_COMMAND: Final = (
    "<command-name>/model</command-name>\n            <command-message>model</command-message>\n            "
    "<command-args>{name}</command-args>"
)
"""What the model reads of a change of model, first."""
GUARDED_FAMILIES: Final = ("Fable",)
"""Families whose refusals the reference words as flagged by safeguards even without a category."""


def model_title(model: str) -> str:
    """`claude-haiku-4-5-20251001` as `Haiku 4.5`."""
    name = _DATE.sub("", model).removeprefix("claude-")
    name = _NUMBERS.sub(r"\1.\2", name)
    return " ".join(part.capitalize() for part in name.split("-"))


def failure_text(failure: Failed, *, model: str, host: str, max_tokens: int) -> str:  # noqa: PLR0911 -- one a kind
    """The line that stands as `result`."""
    match failure.kind:
        case _ if failure.mid_reply and failure.status is None and failure.kind is not FailureKind.REFUSAL:
            return _MID_REPLY
        case FailureKind.REFUSAL:
            return _refusal(model_title(model), failure.provider_kind)
        case FailureKind.OUTPUT_LIMIT:
            return (
                f"API Error: Claude's response exceeded the {max_tokens} output token maximum. To configure this behavior, "
                "set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
            )
        case FailureKind.BILLING if failure.status == 400:
            return "Credit balance is too low"
        case FailureKind.AUTHENTICATION if failure.status == 401:
            return "Invalid API key \u00b7 Fix external API key"
        case FailureKind.AUTHENTICATION:
            return f"Failed to authenticate. API Error: {failure.status} {failure.detail}"
        case FailureKind.NOT_FOUND:
            return (
                f"There's an issue with the selected model ({model}). It may not exist or you may not have access to it. "
                "Run --model to pick a different model."
            )
        case FailureKind.RATE_LIMIT:
            return f"API Error: Request rejected (429) \u00b7 {failure.detail}"
        case FailureKind.TOO_LONG:
            return f"Prompt is too long \u00b7 {failure.detail}"
        case _:
            return _other(failure, host)


def _other(failure: Failed, host: str) -> str:
    if failure.status is not None and failure.status >= 500:
        return _SERVER_ISSUE.format(status=failure.status, detail=body_in(failure.detail), host=host)
    if failure.status is not None:
        return f"API Error: {failure.status} {failure.detail}"
    if failure.kind is FailureKind.BROKEN_STREAM:
        return _MID_REPLY
    if failure.kind is FailureKind.NETWORK:
        return "API Error: Connection refused \u2014 a firewall or proxy may be blocking it (ConnectionRefused)"
    return f"API Error: {failure.detail}"


def _refusal(name: str, category: str) -> str:
    if category == "cyber":
        return _CYBER.format(name=name)
    if category or name.startswith(GUARDED_FAMILIES):
        return _FLAGGED.format(name=name) + (f"\n\nDetails: `[{category}]`" if category else "")
    return f"API Error: {name} can't help with this. Start a new session to continue.\n\nLearn more: {_AUP}"


_ERROR_WORDS: Final = {
    FailureKind.BILLING: "billing_error",
    FailureKind.AUTHENTICATION: "authentication_failed",
    FailureKind.NOT_FOUND: "model_not_found",
    FailureKind.RATE_LIMIT: "rate_limit",
    FailureKind.OVERLOADED: "overloaded",
    FailureKind.SERVER: "server_error",
    FailureKind.NETWORK: "server_error",
    FailureKind.BROKEN_STREAM: "server_error",
    FailureKind.REFUSAL: "invalid_request",
    FailureKind.TOO_LONG: "invalid_request",
    FailureKind.OUTPUT_LIMIT: "max_output_tokens",
}


def error_word(failure: Failed) -> str:
    """The word in the `error` field of the frame that tells of the failure."""
    if failure.kind is FailureKind.OVERLOADED:
        return "server_error"
    return _ERROR_WORDS.get(failure.kind, "unknown")


def retry_word(failure: Failed) -> str:
    """The word in the `error` field of an `api_retry` frame."""
    if failure.status is None:
        return "unknown"
    return _ERROR_WORDS.get(failure.kind, "unknown")


def model_set_words(name: str, full: str) -> str:
    """What is told of a change of model that the client asked for."""
    return f"<local-command-stdout>Set model to {name} ({full})</local-command-stdout>"


def fallback_words(trigger: str, model: str, other: str, category: str) -> str:
    """The sentence of a frame that tells of a change of model."""
    name, new = model_title(model), model_title(other)
    if trigger == "refusal":
        details = f"\n\nDetails: `[{category}]`" if category else ""
        return _REFUSAL_SWITCH.format(name=name, other=new) + details
    if trigger == "model_not_found":
        return f"Switched to {new} because {name} is not available"
    return f"Switched to {new} due to high demand for {name}"
