"""Runs as OpenTelemetry spans and metrics, by the semantic conventions for generative AI.

A run is a span `invoke_agent lastcall`; below it, each request is a span `chat MODEL` and each call of a tool a span
`execute_tool NAME`. Metrics: `gen_ai.client.operation.duration` and `gen_ai.client.token.usage`. What prompts, replies and
calls hold is left out unless `content=True`. Attributes of our own begin with `lastcall.`.

Needs the extra `otel`; exporting is the program's business (its SDK).

Must not go in here: configuring an SDK.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lastcall.api.ends import observers
from lastcall.api.watching import RunWatcher
from lastcall.core import records as r
from lastcall.errors import MissingExtra
from lastcall.nouns.result import TerminalResult, Usage, outcome_name
from lastcall.nouns.tools import ToolCall
from lastcall.providers import models
from lastcall.version import VERSION
from lastcall.wire.frames import Stage

_AGENT: Final = "lastcall"
_DURATIONS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""The buckets that the conventions name."""


def instrument(*, content: bool = False, tracer_provider: Any = None, meter_provider: Any = None) -> None:
    """Trace and measure every run of this process from now on; called again, it replaces what was there.

    The providers are OpenTelemetry's own, the global ones unless given. Raises `MissingExtra` where its API is not
    installed.
    """
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415 -- an extra
    except ImportError:
        raise MissingExtra(
            "Telemetry needs OpenTelemetry's API, which is not installed.",
            hint="Install it with: pip install 'lastcall[otel]'",
        ) from None
    meter = metrics.get_meter(_AGENT, VERSION, meter_provider)
    instruments = Instruments(trace.get_tracer(_AGENT, VERSION, tracer_provider), meter, content=content)
    uninstrument()
    observers.append(instruments)


def uninstrument() -> None:
    """Stop it."""
    observers[:] = [made for made in observers if not isinstance(made, Instruments)]


class Instruments:
    """What all runs share; called with a run's stage and prompt, it makes the run's watcher."""

    def __init__(self, tracer: Any, meter: Any, *, content: bool) -> None:
        self.tracer = tracer
        self.content = content
        self.duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="Duration of GenAI operations.",
            explicit_bucket_boundaries_advisory=_DURATIONS,
        )
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )

    def __call__(self, stage: Stage, prompt: str) -> SpanWatcher:
        """Begin the run's span."""
        return SpanWatcher(self, stage, prompt)


class SpanWatcher(RunWatcher):
    """The spans of one run."""

    def __init__(self, instruments: Instruments, stage: Stage, prompt: str) -> None:
        self._of = instruments
        self._stage = stage
        self._provider = _provider_name(stage)
        self._began = self._asked = time.perf_counter()
        self._calls: dict[str, ToolCall] = {}
        self._tools: dict[str, Any] = {}
        self._chat: Any = None
        attributes = self._about("invoke_agent") | {
            "gen_ai.agent.name": _AGENT,
            "gen_ai.agent.version": VERSION,
            "gen_ai.conversation.id": stage.session_id,
        }
        self._run = instruments.tracer.start_span(f"invoke_agent {_AGENT}", attributes=attributes)
        if instruments.content:
            self._run.set_attribute("lastcall.prompt", prompt)

    def _about(self, operation: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": self._provider,
            "gen_ai.request.model": self._stage.model,
        }

    def _below(self, name: str, attributes: Mapping[str, Any], *, client: bool) -> Any:
        from opentelemetry.trace import SpanKind, set_span_in_context  # noqa: PLC0415 -- an extra

        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        return self._of.tracer.start_span(
            name, context=set_span_in_context(self._run), kind=kind, attributes=attributes
        )

    def records(self, records: Sequence[r.Record]) -> None:
        """Begin and end spans."""
        for record in records:
            self._of_model(record)
            self._of_calls(record)

    def _of_model(self, record: r.Record) -> None:
        match record:
            case r.Asked():
                self._end_chat("abandoned")
                self._asked = time.perf_counter()
                self._chat = self._below(f"chat {self._stage.model}", self._about("chat"), client=True)
            case r.ReplyBegan(message_id=message_id, model=model) if self._chat is not None:
                self._chat.set_attributes({"gen_ai.response.id": message_id, "gen_ai.response.model": model})
            case r.ReplyClosed(stop_reason=stop, usage=usage) if self._chat is not None:
                self._chat.set_attribute("gen_ai.response.finish_reasons", [stop or "unknown"])
                self._chat.set_attributes(_usage(usage))
                self._measure_tokens(usage)
                self._end_chat()
            case r.RequestLost(failure=failure):
                self._end_chat(failure.kind.value)
            case _:
                pass

    def _of_calls(self, record: r.Record) -> None:
        match record:
            case r.BlockSaid(block=ToolCall() as call):
                self._calls[call.call_id] = call
            case r.ToolStarted(call_id=call_id, name=name):
                about = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.call.id": call_id,
                    "gen_ai.tool.type": "function",
                }
                if self._of.content and call_id in self._calls:
                    about["gen_ai.tool.call.arguments"] = self._calls[call_id].arguments.text
                self._tools[call_id] = self._below(f"execute_tool {name}", about, client=False)
            case r.CallAnswered(result=result) if result.call_id in self._tools:
                span = self._tools.pop(result.call_id)
                if self._of.content:
                    span.set_attribute("gen_ai.tool.call.result", result.content)
                _end(span, result.kind.value if result.failed else "")
            case r.Attempted(attempt=attempt):
                made: dict[str, Any] = {
                    "lastcall.attempt.n": attempt.n,
                    "lastcall.attempt.verdict": attempt.verdict.value,
                    "lastcall.attempt.problems": [f"{p.path or '/'} {p.keyword}" for p in attempt.problems],
                }
                if self._of.content:
                    made["lastcall.attempt.draft"] = attempt.draft
                self._run.add_event("lastcall.attempt", made)
            case _:
                pass

    def result(self, result: TerminalResult) -> None:
        """End the run's span, and whatever is still open below it."""
        name = outcome_name(result.outcome)
        self._run.set_attributes(_usage(result.usage) | {
            "lastcall.outcome": name,
            "lastcall.attempts": len(result.attempts),
        })  # fmt: skip
        if self._of.content and result.object_text is not None:
            self._run.set_attribute("lastcall.object", result.object_text)
        self._close("" if result.ok else name)

    def aborted(self) -> None:
        """End the spans of a run that was cancelled from outside."""
        self._close("cancelled")

    def _close(self, error: str) -> None:
        self._end_chat("cancelled")
        for span in self._tools.values():
            _end(span, "cancelled")
        _end(self._run, error)
        self._measure("invoke_agent", time.perf_counter() - self._began, error)

    def _end_chat(self, error: str = "") -> None:
        chat, self._chat = self._chat, None
        if chat is not None:
            _end(chat, error)
            self._measure("chat", time.perf_counter() - self._asked, error)

    def _measure(self, operation: str, seconds: float, error: str) -> None:
        self._of.duration.record(seconds, self._about(operation) | ({"error.type": error} if error else {}))

    def _measure_tokens(self, usage: Usage) -> None:
        for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if count is not None:
                self._of.tokens.record(count, self._about("chat") | {"gen_ai.token.type": kind})


def _end(span: Any, error: str) -> None:
    if error:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 -- an extra

        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def _usage(usage: Usage) -> dict[str, int]:
    names = ("input_tokens", "output_tokens", "cache_creation.input_tokens", "cache_read.input_tokens")
    return {f"gen_ai.usage.{name}": n for name, n in zip(names, usage.figures, strict=True) if n is not None}


def _provider_name(stage: Stage) -> str:
    """The conventions' word for the service, as far as its address or the model's name tells."""
    for word, is_theirs in (("anthropic", models.is_claude), ("openai", models.is_openai)):
        if word in stage.host or (not stage.host and is_theirs(stage.model)):
            return word
    return stage.host or _AGENT
