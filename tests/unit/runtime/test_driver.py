"""The driver: one step, one journal line, on disk before anything starts; every ending has a result."""

from decimal import Decimal

import anyio
import pytest
from msgspec.structs import replace

from lastcall.contract import compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.core import records as r
from lastcall.core.events import Interrupted
from lastcall.core.policy import native
from lastcall.core.state import Setting, begin
from lastcall.errors import JournalError
from lastcall.journal.store import MemoryJournal
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Answered, Cancelled, Failed, FailureKind, GaveUp, Limit, Signal, Stopped, VerdictKind
from lastcall.nouns.tools import ResultKind, ToolResult, define
from lastcall.providers.scripted import scripted_provider
from lastcall.runtime.clock import SystemClock, new_id
from lastcall.runtime.driver import Driver
from lastcall.runtime.ports import Ports
from lastcall.runtime.prices import no_price
from lastcall.runtime.publish import Silent

CONTRACT = compile_contract(
    schema_from_value({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]})
)
READ = define("Look", "Looks.", {"type": "object"}, read_only=True)
WRITE = define("Change", "Changes.", {"type": "object"})
GOOD, BAD = {"object": {"a": 1}}, {"object": {"a": "x"}}


class Watching(Silent):
    def __init__(self):
        self.seen = []

    def records(self, records):
        self.seen += records

    def result(self, result):
        self.seen.append(result)


async def no_tool(call, scope):
    return ToolResult(call.call_id, ResultKind.UNKNOWN_TOOL, "no such tool", is_error=True)


def make(script, *, run_tool=no_tool, journal=None, tools=(), contract=CONTRACT, price=no_price, **policy):
    journal = journal if journal is not None else MemoryJournal()
    publisher = Watching()
    provider = scripted_provider(script)
    ports = Ports(provider, run_tool, journal, publisher, SystemClock(), new_id, price)
    setting = Setting(policy=native(**policy), contract=contract, tools=tools)
    return Driver(begin(setting), ports), journal, publisher, provider


def run(driver, prompt="do it"):
    async def main():
        with anyio.fail_after(10):
            return await driver.run((TextBlock(prompt),))

    return anyio.run(main)


def test_a_run_ends_in_the_object_and_tells_every_attempt():
    driver, _, publisher, _ = make([BAD, GOOD])
    result = run(driver)
    assert isinstance(result.outcome, Answered)
    assert (result.object_text, result.output) == ('{"a":1}', {"a": 1})
    assert [a.verdict for a in result.attempts] == [VerdictKind.REJECTED, VerdictKind.ACCEPTED]
    assert publisher.seen[-1] is result


def test_the_journal_holds_each_step_before_its_action_starts():
    journal = MemoryJournal()
    at_start = []

    async def tool(call, scope):
        at_start.append([x for step in journal.steps for x in step.records if isinstance(x, r.ToolStarted)])
        return ToolResult(call.call_id, ResultKind.OK, "done")

    script = [{"call": {"name": "Change", "input": {}}}, GOOD]
    driver, _, _, _ = make(script, run_tool=tool, journal=journal, tools=(WRITE,))
    result = run(driver)
    assert len(at_start[0]) == 1
    assert [(s.tool, s.status) for s in result.side_effects] == [("Change", "ok")]


def test_what_is_journalled_is_what_is_published_and_folds_to_the_state():
    from lastcall.core.evolve import evolve

    driver, journal, publisher, _ = make([BAD, "hm", GOOD])
    run(driver)
    records = [x for step in journal.steps for x in step.records]
    assert records == publisher.seen[:-1]
    state = begin(driver.state.setting)
    for record in records:
        state = evolve(state, record)
    assert state == driver.state


def test_an_object_waits_for_the_calls_beside_it_and_falls_with_them():
    answers = [ToolResult("t", ResultKind.FAILED, "broken", is_error=True), ToolResult("t", ResultKind.OK, "fine")]

    async def tool(call, scope):
        await anyio.sleep(0.01)
        answer = answers.pop(0)
        return ToolResult(call.call_id, answer.kind, answer.content, answer.is_error)

    both = {"calls": [{"name": "Look", "input": {}}, {"name": "StructuredOutput", "input": {"a": 1}}]}
    driver, _, _, provider = make([both, both], run_tool=tool, tools=(READ,))
    result = run(driver)
    assert isinstance(result.outcome, Answered)
    assert [a.verdict for a in result.attempts] == [VerdictKind.HELD, VerdictKind.ACCEPTED]
    assert len(result.answered_before) == 1
    assert len(provider.requests) == 2


class Broken(MemoryJournal):
    """A disk that fails at the n-th append."""

    def __init__(self, at):
        super().__init__()
        self.left = at

    def append(self, records, *, at, durable=False):
        if self.left == 0:
            raise JournalError("the disk is full")
        self.left -= 1
        super().append(records, at=at, durable=durable)


@pytest.mark.parametrize("at", range(8))
def test_a_step_that_cannot_be_written_ends_the_run_honestly(at):
    driver, journal, _, _ = make([BAD, GOOD], journal=Broken(at))
    result = run(driver)
    written = [x for step in journal.steps for x in step.records]
    if any(isinstance(x, r.Ended) for x in written):
        assert isinstance(result.outcome, Answered)
    else:
        assert result.outcome == Failed(FailureKind.JOURNAL, "the disk is full")
        assert result.object_text is None


def test_the_deadline_ends_a_run_that_waits_for_the_model():
    slow = {"content": [{"type": "text", "text": "hm"}], "end_delay_ms": 60_000}
    driver, _, _, _ = make([slow], deadline_s=0.05, deadline_words="50ms")
    assert run(driver).outcome == Stopped(Limit.DEADLINE, "50ms")


def test_the_deadline_ends_a_run_that_waits_for_a_tool():
    async def tool(call, scope):
        with scope:
            await anyio.sleep(60)
        return ToolResult(call.call_id, ResultKind.CANCELLED, "cancelled", is_error=True)

    driver, _, _, _ = make(
        [{"call": {"name": "Look", "input": {}}}], run_tool=tool, tools=(READ,), deadline_s=0.1, deadline_words="0.1s"
    )
    assert run(driver).outcome == Stopped(Limit.DEADLINE, "0.1s")


def test_an_interrupt_ends_the_run_and_answers_what_was_open():
    started = anyio.Event

    async def main():
        running = started()

        async def tool(call, scope):
            running.set()
            await anyio.sleep(60)

        driver, journal, _, _ = make([{"call": {"name": "Change", "input": {}}}], run_tool=tool, tools=(WRITE,))
        results = []

        async def go():
            results.append(await driver.run((TextBlock("x"),)))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(go)
                await running.wait()
                driver.post(Interrupted(Signal.INTERRUPT, "u"))
        return results[0], journal

    result, journal = anyio.run(main)
    assert result.outcome == Cancelled(Signal.INTERRUPT)
    assert [s.status for s in result.side_effects] == ["interrupted"]
    answered = [x.result.kind for step in journal.steps for x in step.records if isinstance(x, r.CallAnswered)]
    assert answered == [ResultKind.INTERRUPTED]


def test_the_budget_counts_what_replies_cost_and_keeps_the_last_call_for_the_object():
    async def price(model, usage):
        return Decimal("0.4")

    look = {"call": {"name": "Look", "input": {}}}

    async def tool(call, scope):
        return ToolResult(call.call_id, ResultKind.OK, "seen")

    driver, _, _, provider = make(
        [look, GOOD], run_tool=tool, tools=(READ,), price=price, max_budget_usd=Decimal(1), budget_words="1"
    )
    result = run(driver)
    assert isinstance(result.outcome, Answered)
    assert result.cost_usd == Decimal("0.8")
    assert [t["name"] for t in provider.requests[1]["tools"]] == ["StructuredOutput", "DeclineOutput"]
    assert provider.requests[1]["tool_choice"] == {"type": "any"}


def test_messages_of_a_session_count_anew_and_share_the_history():
    driver, _, _, provider = make([GOOD, "no", "no", GOOD])

    async def main():
        return [await driver.run((TextBlock(p),)) for p in ("one", "two", "three")]

    first, second, third = anyio.run(main)
    assert isinstance(first.outcome, Answered)
    assert isinstance(second.outcome, GaveUp)
    assert isinstance(third.outcome, Answered)
    assert [len(x.attempts) for x in (first, second, third)] == [1, 0, 1]
    assert provider.requests[-1]["messages"][0]["content"][0]["text"] == "one"


def test_a_run_cut_off_by_a_crash_goes_on_from_its_journal():
    from lastcall.core.evolve import evolve

    ran = []

    async def tool(call, scope):
        ran.append(call.name)
        return ToolResult(call.call_id, ResultKind.OK, "seen")

    script = [{"calls": [{"name": "Look", "input": {}}, {"name": "Change", "input": {}}]}, BAD, GOOD]
    driver, journal, _, _ = make(script, run_tool=tool, tools=(READ, WRITE))
    run(driver)
    whole = [step.records for step in journal.steps]
    for cut in range(1, len(whole)):
        state = begin(driver.state.setting)
        for records in whole[:cut]:
            for record in records:
                state = evolve(state, record)
        ran.clear()
        again, _, _, _ = make([GOOD], run_tool=tool, tools=(READ, WRITE))
        again.state = state

        async def go_on(driver=again):
            with anyio.fail_after(10):
                return await driver.go_on()

        result = anyio.run(go_on)
        assert isinstance(result.outcome, Answered), cut
        assert "Change" not in ran or not any(isinstance(x, r.ToolStarted) for rs in whole[:cut] for x in rs), cut


def test_what_the_end_of_a_reply_needs_is_begun_with_its_beginning_and_holds_nothing_up():
    begun, over = [], []

    async def prepare():
        begun.append(1)
        await anyio.sleep(60)
        over.append(1)

    driver, _, _, _ = make([BAD, GOOD])
    driver._ports = replace(driver._ports, prepare=prepare)
    assert isinstance(run(driver).outcome, Answered)
    assert (len(begun), over) == (2, [])
