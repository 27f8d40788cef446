"""Runs as OpenTelemetry spans and metrics."""

from __future__ import annotations

import asyncio

import anyio
import pytest

import lastcall
from lastcall.testing import ScriptedModel

sdk = pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402 -- behind the gate
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DOUBLE = {"call": {"name": "double", "input": {"n": 4711}}}


@pytest.fixture
def telemetry():
    """The spans by name, and what was measured, of everything that runs in the test."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider(metric_readers=[reader])

    def begin(**choices):
        lastcall.instrument(tracer_provider=tracers, meter_provider=meters, **choices)

    def measured():
        metrics = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        return {metric.name: list(metric.data.data_points) for metric in metrics}

    begin()
    yield begin, exporter.get_finished_spans, measured
    lastcall.uninstrument()


def played():
    def double(n: int) -> int:
        return n * 2

    model = ScriptedModel(DOUBLE, {"object": {"n": "secret words"}}, {"object": {"n": 8}})
    return lastcall.run("The prompt.", output=COUNT, model=model, tools=[double])


def test_a_run_is_a_span_with_its_requests_and_tools_below_it(telemetry):
    _, spans, _ = telemetry
    result = played()
    found = {span.name: span for span in spans()}
    assert sorted(span.name for span in spans()) == [
        "chat scripted", "chat scripted", "chat scripted", "execute_tool double", "invoke_agent lastcall",
    ]  # fmt: skip
    run = found["invoke_agent lastcall"]
    assert {span.parent.span_id for span in spans() if span is not run} == {run.context.span_id}
    assert run.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert run.attributes["gen_ai.conversation.id"] == result.session_id
    assert run.attributes["lastcall.outcome"] == "answered"
    assert run.attributes["gen_ai.usage.input_tokens"] == 300
    assert [event.attributes["lastcall.attempt.verdict"] for event in run.events] == ["rejected", "accepted"]
    assert list(run.events[0].attributes["lastcall.attempt.problems"]) == ["/n type"]
    assert found["execute_tool double"].attributes["gen_ai.tool.call.id"] == "toolu_1"
    assert list(found["chat scripted"].attributes["gen_ai.response.finish_reasons"]) == ["tool_use"]


def test_durations_and_tokens_are_measured(telemetry):
    _, _, measured = telemetry
    played()
    tokens = {point.attributes["gen_ai.token.type"]: point.sum for point in measured()["gen_ai.client.token.usage"]}
    assert tokens == {"input": 300, "output": 60}
    durations = measured()["gen_ai.client.operation.duration"]
    counts = {point.attributes["gen_ai.operation.name"]: point.count for point in durations}
    assert counts == {"chat": 3, "invoke_agent": 1}


def test_content_is_left_out_unless_it_is_asked_for(telemetry):
    begin, spans, _ = telemetry
    played()
    without = str([(span.attributes, span.events and [e.attributes for e in span.events]) for span in spans()])
    assert [word for word in ("The prompt", "4711", "9422", "secret words") if word in without] == []
    begin(content=True)
    played()
    after = str([(span.attributes, span.events and [dict(e.attributes) for e in span.events]) for span in spans()[5:]])
    assert [word for word in ("The prompt", "4711", "9422", "secret words") if word not in after] == []


def test_a_run_without_an_answer_is_an_error_of_its_outcome(telemetry):
    _, spans, _ = telemetry
    lastcall.run("x", output=COUNT, model=ScriptedModel("No."))
    run = spans()[-1]
    assert (run.attributes["error.type"], run.status.status_code.name) == ("gave_up", "ERROR")


def test_a_lost_request_is_an_error_of_its_kind(telemetry):
    _, spans, _ = telemetry
    refused = {"status": 400, "error": {"type": "invalid_request_error", "message": "no"}}
    lastcall.run("x", model=ScriptedModel(refused))
    assert spans()[0].attributes["error.type"] == "bad_request"


def test_a_cancelled_run_ends_its_spans(telemetry):
    _, spans, _ = telemetry

    async def main():
        model = ScriptedModel({"delay_ms": 60_000, "content": []})
        task = asyncio.create_task(lastcall.arun("x", model=model))
        while not model.requests:
            await anyio.lowlevel.checkpoint()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert {span.name: span.attributes["error.type"] for span in spans()} == {
        "chat scripted": "cancelled",
        "invoke_agent lastcall": "cancelled",
    }


def test_after_uninstrument_nothing_is_traced(telemetry):
    _, spans, _ = telemetry
    lastcall.uninstrument()
    played()
    assert spans() == ()
