"""Who runs what when, with a scripted model and short leases, in this process."""

from __future__ import annotations

import json

import anyio
import pytest

from lastcall.runtime.config import RunConfig
from lastcall.server import runs_table as table
from lastcall.server.house import House
from lastcall.server.metrics import Metrics
from lastcall.server.orders import Order, written
from lastcall.server.rows import State
from lastcall.server.runs_table import Offer
from lastcall.server.settings import ServerSettings

ORDER = Order(prompt="count", schema='{"type":"object"}')


@pytest.fixture
def settings(tmp_path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"object": {"n": 1}}]))
    base = RunConfig(
        model=f"scripted:{script}",
        cwd=str(tmp_path),
        state_dir=str(tmp_path / "state"),
        cache_dir=str(tmp_path / "cache"),
        tools="",
    )
    return ServerSettings(base=base, storage=f"sqlite://{tmp_path}/server.db", lease_s=0.3)


async def until_ended(house, run_id):
    with anyio.fail_after(20):
        while True:
            row = await house.row(run_id)
            if row.state is State.ENDED:
                return row
            await anyio.sleep(0.02)


def offer(run_id, **fields):
    wanted = {
        "principal": "",
        "idempotency_key": None,
        "digest": "d",
        "wanted": written(ORDER),
        "summary": "",
        "model": "",
        "concurrency": None,
        "queue": 9,
    }
    return Offer(run_id=run_id, **{**wanted, "owner": "", "lease_s": 0.3, **fields})


def test_a_run_is_taken_run_and_kept(settings):
    async def work():
        async with House(settings, Metrics()) as house:
            row = await house.take(ORDER, "", None, None)
            ended = await until_ended(house, row.run_id)
            assert (ended.outcome, ended.status, ended.tries) == ("answered", 200, 1)
            assert json.loads(ended.envelope)["structured_output"] == {"n": 1}
            with anyio.fail_after(5):
                while house.live:  # noqa: ASYNC110 -- nobody tells
                    await anyio.sleep(0.01)

    anyio.run(work)


def test_a_run_that_this_server_holds_and_does_not_run_is_run_after_all(settings):
    """The request that took it was cancelled between its being kept and its beginning."""

    async def work():
        async with House(settings, Metrics()) as house:
            await house.write(lambda db: table.take(db, offer("run_x", owner=house.owner)))
            ended = await until_ended(house, "run_x")
            assert (ended.outcome, ended.tries) == ("answered", 2)

    anyio.run(work)


def test_a_run_that_took_the_server_down_five_times_is_not_tried_again(settings):
    async def work():
        async with House(settings, Metrics()) as house:

            def crashed(db):
                table.take(db, offer("run_x"))
                db.rows("UPDATE runs SET tries = 5")

            await house.write(crashed)
            ended = await until_ended(house, "run_x")
            assert (ended.outcome, ended.status) == ("failed", 500)
            assert "went down 5 times" in ended.envelope

    anyio.run(work)


def test_an_order_that_does_not_pass_any_more_ends_and_says_so(settings):
    """The operator took a model away between two starts."""

    async def work():
        async with House(settings, Metrics()) as house:
            gone = written(Order(prompt="x", model="gone"))
            await house.write(lambda db: table.take(db, offer("run_x", wanted=gone)))
            ended = await until_ended(house, "run_x")
            assert (ended.outcome, ended.status) == ("usage", 422)
            assert "no model 'gone'" in ended.envelope

    anyio.run(work)


def test_a_draining_house_begins_nothing(settings):
    async def work():
        async with House(settings, Metrics()) as house:
            house.drain()
            row = await house.take(ORDER, "", None, None)
            await house.drained(1)
            assert (row.state, house.free, house.live) == (State.QUEUED, 0, {})
            run_id = row.run_id
        async with House(settings, Metrics()) as house:
            assert (await until_ended(house, run_id)).outcome == "answered"

    anyio.run(work)
