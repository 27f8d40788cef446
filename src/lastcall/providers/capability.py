"""What a deployment refuses: learned from its answers, remembered for a day.

A feature counts as refused when the request used it, the status says that the request was bad, and the service's words
name it. The memory is one small JSON file for all runs of a user: it holds times and digests, no address, no key. A file
that is damaged or written by something else is ignored and replaced.

Must not go in here: what a feature looks like on the wire (`wire.*`), what happens without it (`providers.http`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from lastcall.contract.plain_names import has_odd_names
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.result import Failed, FailureKind
from lastcall.providers import Deployment
from lastcall.providers.addresses import shown_address
from lastcall.wire.anthropic import choose_tools
from lastcall.wire.dialect import Dialect, Feature

REMEMBERED_S: Final = 24 * 3600
MAX_FILE_BYTES: Final = 1024 * 1024
_FILE_NAME: Final = "capabilities.json"
_VERSION: Final = 1
_REFUSING: Final = frozenset({400, 404, 405, 415, 422, 501})

_NO_TOOLS: Final = (
    r"enable-auto-tool-choice|tool-call-parser|requires --jinja"  # servers that want a switch first
    r"|no endpoints found that support tool"
    r"|\btools?\b[^.]{0,60}\b(not|un)[ -]?(support|allowed|available|implement|enabled)"
    r"|(not|n't) support (\w+ ){0,3}(tools?|functions?)\b"
    r"|tool (use|calling|calls?) (is|are) not"
)
_SIGNS: Final[tuple[tuple[Feature, str], ...]] = (
    (Feature.FREE_NAMES, r"propert(y|ies)[^\n]{0,80}\b(keys?|names?)\b[^\n]{0,60}(match|pattern|character|invalid)"),
    (Feature.STREAM_USAGE, r"stream_options|include_usage"),
    (Feature.CACHE_MARKS, r"cache_control"),
    (Feature.MAX_COMPLETION_TOKENS, r"max_completion_tokens"),
    (Feature.NATIVE_FORMAT, r"response_format|output_config\W{0,3}format|output_format|json_schema"),
    (Feature.EFFORT, r"\beffort\b|output_config|reasoning_effort"),
    (Feature.STRICT, r"\bstrict\b|grammar|compiled schema|schema (is )?too (complex|large)"),
    (Feature.FORCED_CHOICE, r"tool_choice|forced tool"),
    (Feature.FORCED_ANY, r"tool_choice|forced tool"),
    (Feature.THINKING, r"\bthinking\b|budget_tokens|adaptive"),
    (Feature.TOOLS, _NO_TOOLS),
    (Feature.SYSTEM_ROLE, r"system (role|message|prompt)s?[^.]{0,40}not|roles? must alternate|unknown role"),
    (Feature.STREAM, r"\bstream(ing)?\b[^.]{0,40}\b(not|un)[ -]?(support|allowed|available)"),
)
"""In the order in which they are looked for: the more particular sign first."""


@cache
def _patterns() -> tuple[tuple[Feature, re.Pattern[str]], ...]:
    """Compiled when a service refuses something: that costs a millisecond, and most runs never need it."""
    return tuple((feature, re.compile(sign, re.IGNORECASE)) for feature, sign in _SIGNS)


_NAMES: Final = frozenset(feature.value for feature in Feature)


def used_features(
    request: ModelRequest, deployment: Deployment, dialect: Dialect, *, stream: bool
) -> frozenset[Feature]:
    """The features that this request uses with this dialect."""
    sent, forced = choose_tools(request, dialect)
    choice = forced["type"] if forced is not None else ""
    uses = {
        Feature.TOOLS: bool(sent),
        Feature.STRICT: any(tool.strict_schema is not None for tool in sent) or request.native_format is not None,
        Feature.FORCED_CHOICE: choice == "tool",
        Feature.FORCED_ANY: choice == "any",
        Feature.NATIVE_FORMAT: request.native_format is not None,
        Feature.THINKING: True,
        Feature.EFFORT: True,
        Feature.STREAM: stream,
        Feature.STREAM_USAGE: stream,
        Feature.SYSTEM_ROLE: bool(request.system),
        Feature.MAX_COMPLETION_TOKENS: bool(deployment.max_tokens),
        Feature.CACHE_MARKS: True,
        Feature.FREE_NAMES: any(has_odd_names(tool.input_schema) for tool in sent),
    }
    return frozenset(feature for feature, is_used in uses.items() if is_used and dialect.has(feature))


def refused_feature(failure: Failed, used: frozenset[Feature]) -> Feature | None:
    """The feature that this answer refuses, if it does; only one that was used."""
    if failure.status not in _REFUSING or failure.kind in (FailureKind.TOO_LONG, FailureKind.BILLING):
        return None
    return next(
        (feature for feature, pattern in _patterns() if feature in used and pattern.search(failure.detail)), None
    )


class CapabilityMemory:
    """Which features which deployments refused within the last day.

    `folder` is where the file lies; `None` keeps the memory in this process only.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _FILE_NAME if folder is not None else None
        self._refused: dict[str, dict[str, float]] | None = None

    def narrow(self, deployment: Deployment, dialect: Dialect, *, now: float) -> Dialect:
        """The dialect without what the deployment refused lately."""
        refused = self._load()
        for name, at in refused.get(_key(deployment), {}).items() if refused else ():
            if 0 <= now - at < REMEMBERED_S and name in _NAMES:
                dialect = dialect.without(Feature(name))
        return dialect

    def remember(self, deployment: Deployment, feature: Feature, *, now: float) -> None:
        """Notes a refusal, here and on disk. A disk that cannot be written costs a retry on the next run, no more."""
        refused = self._load()
        for key, times in (_read(self._path) if self._path is not None else {}).items():
            refused[key] = {**refused.get(key, {}), **times}  # another run may have learned something meanwhile
        refused.setdefault(_key(deployment), {})[feature.value] = now
        fresh = {
            key: lasting
            for key, times in refused.items()
            if (lasting := {name: at for name, at in times.items() if 0 <= now - at < REMEMBERED_S})
        }
        self._refused = fresh
        if self._path is not None:
            _write(self._path, {"version": _VERSION, "refused": fresh})

    def _load(self) -> dict[str, dict[str, float]]:
        if self._refused is None:
            self._refused = _read(self._path) if self._path is not None else {}
        return self._refused


def _key(deployment: Deployment) -> str:
    """A digest that names a deployment without telling its address."""
    named = "\n".join((deployment.provider, shown_address(deployment.base_url), deployment.model))
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _read(path: Path) -> dict[str, dict[str, float]]:
    try:
        with path.open("rb") as file:
            told: Any = json.loads(file.read(MAX_FILE_BYTES))
        if told["version"] != _VERSION:
            return {}
        return {
            str(key): {str(name): float(at) for name, at in times.items()} for key, times in told["refused"].items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replaces the file at once, readable by its owner only."""
    import tempfile  # noqa: PLC0415 -- 4 ms, and only a refusal needs it

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".capabilities-")  # made with mode 0600
    except OSError:
        return
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
