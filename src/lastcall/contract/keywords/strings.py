"""Keywords for strings. Lengths count code points; a lone surrogate is one."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lastcall.contract import budgets
from lastcall.contract.budgets import Budget, BudgetExceeded
from lastcall.contract.checking import At, Check, Fault, Run
from lastcall.contract.patterns import Pattern, PatternBudget

if TYPE_CHECKING:
    from lastcall.contract.nodes import Builder, Node

CHARS_A_STEP: Final = 1024
"""Text that is searched for a pattern costs a step for so many characters."""


def searched(pattern: Pattern, text: str, run: Run) -> bool:
    """Whether a pattern is found in a text. Raises `BudgetExceeded` if the search would take too long."""
    cost = len(text) // CHARS_A_STEP
    run.spend(cost + budgets.BACKTRACKING_STEPS if pattern.engine == "backtracking" else cost)
    try:
        return pattern.search(text)
    except PatternBudget:
        raise BudgetExceeded(Budget.PATTERN, run.words(Budget.PATTERN)) from None


def _max_length(node: Node, _cls: type) -> Check:
    limit: Any = node.schema["maxLength"]
    text = node.dialect.arithmetic.text(limit)
    fault: Fault = ("maxLength", f"must NOT have more than {text} characters", {"limit": limit})

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) > limit:
            run.errors.append((at, fault))

    return check


def _min_length(node: Node, _cls: type) -> Check:
    limit: Any = node.schema["minLength"]
    text = node.dialect.arithmetic.text(limit)
    fault: Fault = ("minLength", f"must NOT have fewer than {text} characters", {"limit": limit})

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) < limit:
            run.errors.append((at, fault))

    return check


def _pattern(node: Node, _cls: type) -> Check:
    text = str(node.schema["pattern"])
    pattern = node.space.pattern(text)
    fault: Fault = ("pattern", f'must match pattern "{text}"', {"pattern": text})

    def check(value: Any, at: At, run: Run) -> None:
        if not searched(pattern, value, run):
            run.errors.append((at, fault))

    return check


def _format(node: Node, _cls: type) -> Check | None:
    name = str(node.schema["format"])
    if not node.space.assert_formats:
        return None
    from lastcall.contract.formats import check_format  # noqa: PLC0415 -- most schemas have no format

    fault: Fault = ("format", f'must match format "{name}"', {"format": name})

    def check(value: Any, at: At, run: Run) -> None:
        if check_format(name, value) is False:
            run.errors.append((at, fault))

    return check


# -- contents (draft-07) --------------------------------------------------------------------------------------------


def _decoded(value: str) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None


def _is_json(content: str | bytes) -> bool:
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _content_encoding(node: Node, _cls: type) -> Check | None:
    name = str(node.schema["contentEncoding"])
    if not (node.space.assert_formats and name == "base64"):
        return None
    fault: Fault = ("contentEncoding", f'must be encoded as "{name}"', {"contentEncoding": name})

    def check(value: Any, at: At, run: Run) -> None:
        if _decoded(value) is None:
            run.errors.append((at, fault))

    return check


def _content_media_type(node: Node, _cls: type) -> Check | None:
    name = str(node.schema["contentMediaType"])
    if not (node.space.assert_formats and name == "application/json"):
        return None
    encoding = node.schema.get("contentEncoding")
    if encoding not in (None, "base64"):
        return None
    fault: Fault = ("contentMediaType", f'must hold "{name}"', {"contentMediaType": name})

    def check(value: Any, at: At, run: Run) -> None:
        content = _decoded(value) if encoding else value
        # what cannot be decoded is a problem of `contentEncoding`, told once
        if content is not None and not _is_json(content):
            run.errors.append((at, fault))

    return check


BUILDERS: Final[dict[str, Builder]] = {
    "maxLength": _max_length,
    "minLength": _min_length,
    "pattern": _pattern,
    "format": _format,
    "contentEncoding": _content_encoding,
    "contentMediaType": _content_media_type,
}
