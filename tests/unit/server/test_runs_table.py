"""The table of runs, on SQLite (the same statements run on PostgreSQL in tests/server)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lastcall.server import runs_table as table
from lastcall.server.database import SqliteFile
from lastcall.server.migrations import migrate
from lastcall.server.rows import KeptFrame, State
from lastcall.server.runs_table import Offer, Page, Why

OFFER = Offer(
    run_id="r1", principal="p", idempotency_key=None, digest="d", wanted="{}", summary="s", model="m",
    owner="", lease_s=10, concurrency=None, queue=100,
)  # fmt: skip


@pytest.fixture
def now():
    """The database's clock, in the test's hands."""
    return [1000.0]


@pytest.fixture
def db(tmp_path, now):
    connection = SqliteFile(str(tmp_path / "server.db")).connect()
    connection.now = lambda: now[0]
    migrate(connection)
    yield connection
    connection.close()


def take(db, run_id, **fields):
    return table.take(db, replace(OFFER, run_id=run_id, **fields))


def end(db, run_id, owner, outcome="answered"):
    return table.end(db, run_id, owner, outcome=outcome, status=200, envelope='{"n":1}')


def test_a_run_that_waits_is_claimed_once(db):
    assert take(db, "r1").state is State.QUEUED
    assert [row.run_id for row in table.claim(db, "a", 10, 5)] == ["r1"]
    assert table.claim(db, "b", 10, 5) == []
    row = table.by_id(db, "r1")
    assert (row.state, row.owner, row.tries, row.lease_until, row.started_at) == (State.RUNNING, "a", 1, 1005.0, 1000.0)


def test_claims_take_the_oldest_and_no_more_than_asked_for(db, now):
    for n in range(5):
        now[0] += 1
        take(db, f"r{n}")
    assert [row.run_id for row in table.claim(db, "a", 2, 5)] == ["r0", "r1"]
    assert [row.run_id for row in table.claim(db, "b", 9, 5)] == ["r2", "r3", "r4"]


def test_a_run_whose_lease_ran_out_belongs_to_whoever_takes_it(db, now):
    take(db, "r1", owner="a", lease_s=5)
    now[0] += 4
    assert table.renew(db, "a", 5) == {"r1": False}
    now[0] += 4
    assert table.claim(db, "b", 10, 5) == []
    now[0] += 2
    assert [row.tries for row in table.claim(db, "b", 10, 5)] == [2]
    assert table.renew(db, "a", 5) == {}
    assert not table.keep_frames(db, "r1", "a", [KeptFrame(1, "system", "u", "{}")])
    assert not end(db, "r1", "a")
    assert table.frames_after(db, "r1", 0, 10) == []
    assert end(db, "r1", "b")


def test_one_key_of_one_principal_is_one_run(db):
    first = take(db, "r1", idempotency_key="k")
    assert take(db, "r2", idempotency_key="k") == first
    assert take(db, "r3", idempotency_key="k", digest="other") is Why.KEY_IN_OTHER_USE
    assert take(db, "r4", idempotency_key="k", principal="q").run_id == "r4"
    assert take(db, "r5", idempotency_key=None).run_id == "r5"


def test_limits_count_open_runs_alone(db):
    take(db, "r1", owner="a", concurrency=1)
    assert take(db, "r2", owner="a", concurrency=1) is Why.TOO_MANY_AT_ONCE
    assert take(db, "r2", owner="a", concurrency=1, principal="q").run_id == "r2"
    end(db, "r1", "a")
    assert take(db, "r3", owner="a", concurrency=1).run_id == "r3"


def test_a_full_queue_takes_no_run_that_would_wait(db):
    take(db, "r1", queue=1)
    assert take(db, "r2", queue=1) is Why.QUEUE_FULL
    assert take(db, "r2", queue=1, owner="a").run_id == "r2"


def test_every_transaction_may_be_run_twice(db):
    first = take(db, "r1", owner="a", idempotency_key="k")
    assert take(db, "r1", owner="a", idempotency_key="k") == first
    frames = [KeptFrame(1, "system", "u", "{}"), KeptFrame(2, "user", "v", "{}")]
    for _ in range(2):
        assert table.keep_frames(db, "r1", "a", frames)
    assert table.frames_after(db, "r1", 0, 10) == frames
    assert table.frames_after(db, "r1", 1, 10) == frames[1:]
    assert (end(db, "r1", "a"), end(db, "r1", "a"), end(db, "r1", "b")) == (True, True, False)


def test_what_waits_is_cancelled_at_once_and_what_runs_is_told(db):
    take(db, "r1")
    assert table.ask_to_cancel(db, "r1", envelope="{}", status=409).outcome == "cancelled"
    take(db, "r2", owner="a")
    assert table.ask_to_cancel(db, "r2", envelope="{}", status=409).state is State.RUNNING
    assert table.renew(db, "a", 5) == {"r2": True}
    end(db, "r2", "a")
    assert table.ask_to_cancel(db, "r2", envelope="{}", status=409).outcome == "answered"
    assert table.ask_to_cancel(db, "r9", envelope="{}", status=409) is None


def test_what_was_begun_and_let_go_is_cancelled_by_whoever_takes_it_up(db):
    """What its journal holds is not known here."""
    take(db, "r1", owner="a")
    table.let_go(db, ["r1"], "a")
    assert table.ask_to_cancel(db, "r1", envelope="{}", status=409).state is State.QUEUED
    assert [row.cancelled for row in table.claim(db, "b", 1, 5)] == [True]


def test_what_is_let_go_can_be_claimed_at_once_or_later(db, now):
    take(db, "r1", owner="a")
    take(db, "r2", owner="a")
    table.let_go(db, ["r1"], "a")
    table.let_go(db, ["r2"], "a", for_s=5)
    table.let_go(db, ["r2"], "b")
    assert [row.run_id for row in table.claim(db, "b", 9, 5)] == ["r1"]
    now[0] += 6
    assert [row.run_id for row in table.claim(db, "b", 9, 5)] == ["r1", "r2"]


def test_to_be_let_go_is_no_try_but_that_it_was_begun_stays_known(db, now):
    take(db, "r1", owner="a")
    for _ in range(9):  # restarts that went well
        table.let_go(db, ["r1"], "a")
        assert [row.tries for row in table.claim(db, "a", 1, 5)] == [2]
    for tries in (3, 4):  # and crashes
        now[0] += 10
        assert [row.tries for row in table.claim(db, "a", 1, 5)] == [tries]


def test_pages_go_back_in_time_and_show_one_principals_runs(db, now):
    for n in range(5):
        now[0] += n % 2  # some begin at the same moment
        take(db, f"r{n}", owner="a")
    take(db, "x", principal="q")
    end(db, "r2", "a", "declined")
    whole = [row.run_id for row in table.newest(db, Page("p"))]
    assert sorted(whole) == ["r0", "r1", "r2", "r3", "r4"]
    paged, before = [], None
    while part := table.newest(db, Page("p", before=before, most=2)):
        paged += [row.run_id for row in part]
        before = part[-1].run_id
    assert paged == whole
    assert [row.run_id for row in table.newest(db, Page("p", outcome="declined"))] == ["r2"]
    assert "r2" not in [row.run_id for row in table.newest(db, Page("p", state="running"))]
    assert table.newest(db, Page("p", before="x")) == []


def test_ended_runs_are_forgotten_after_a_while_with_their_frames_and_keys(db, now):
    take(db, "r1", owner="a", idempotency_key="k")
    table.keep_frames(db, "r1", "a", [KeptFrame(1, "system", "u", "{}")])
    end(db, "r1", "a")
    take(db, "r2", owner="a")
    now[0] += 100
    assert table.sweep(db, 200) == []
    now[0] += 200
    assert table.sweep(db, 200) == ["r1"]
    assert db.rows("SELECT count(*) FROM frames") == [(0,)]
    assert take(db, "r3", idempotency_key="k").run_id == "r3"
    assert table.open_runs(db) == {"queued": 1, "running": 1}
