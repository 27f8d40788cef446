"""The desk: what is asked for together is kept together, and a fault hits only whom it must."""

from __future__ import annotations

import asyncio

import pytest

from lastcall.server.database import Lost, SqliteFile, StorageError
from lastcall.server.desk import Desk, at_once


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("lastcall.server.desk._PAUSE_S", 0)


class Place:
    """A database whose connections fail as a script says, one word a transaction."""

    shown = "scripted"

    def __init__(self, path, *script):
        self.inner = SqliteFile(str(path / "x.db"))
        self.script = list(script)
        self.connected = 0
        self.commits = 0

    def connect(self):
        self.connected += 1
        connection = self.inner.connect()
        commit, begin = connection.commit, connection.begin

        def beginning(*, writes):
            word = self.script.pop(0) if self.script else "ok"
            if word == "lost":
                raise Lost("gone")
            begin(writes=writes)

        def committing():
            self.commits += 1
            commit()

        connection.begin, connection.commit = beginning, committing
        return connection


def make(db):
    db.rows("CREATE TABLE IF NOT EXISTS t (n INTEGER)")


def insert(n):
    return lambda db: db.rows("INSERT INTO t VALUES (?) RETURNING n", (n,))[0][0]


def bad(db):
    db.rows("INSERT INTO t VALUES (99)")
    raise ValueError("bad")


def read(db):
    return [n for (n,) in db.rows("SELECT n FROM t ORDER BY n")]


def desk_of(place, work):
    async def run():
        desk = Desk(place, writes=True)
        try:
            await desk.do(make)
            return await work(desk)
        finally:
            await desk.aclose()

    return asyncio.run(run())


def test_many_wishes_take_few_commits(tmp_path):
    place = Place(tmp_path)

    async def work(desk):
        return await asyncio.gather(*(desk.do(insert(n)) for n in range(200)))

    assert desk_of(place, work) == list(range(200))
    assert place.commits < 50


def test_a_fault_hits_only_the_one_who_made_it(tmp_path):
    async def work(desk):
        found = await asyncio.gather(
            *(desk.do(bad if n == 7 else insert(n)) for n in range(20)), return_exceptions=True
        )
        return found, await desk.do(read)

    found, kept = desk_of(Place(tmp_path), work)
    assert [str(x) for x in found if isinstance(x, Exception)] == ["bad"]
    assert kept == [n for n in range(20) if n != 7]


def test_a_lost_connection_is_made_again_and_nothing_is_kept_twice(tmp_path):
    place = Place(tmp_path, "ok", "lost", "lost", "ok")

    async def work(desk):
        return await desk.do(insert(1)), await desk.do(read)

    assert desk_of(place, work) == (1, [1])
    assert place.connected == 3


def test_a_database_that_stays_away_is_told_to_whoever_asks_and_may_come_back(tmp_path):
    place = Place(tmp_path, "ok", *["lost"] * 5)

    async def work(desk):
        with pytest.raises(Lost):
            await desk.do(insert(1))
        return await desk.do(insert(2)), await desk.do(read)

    assert desk_of(place, work) == (2, [2])


def test_whoever_no_longer_waits_gets_nothing_and_harms_nobody(tmp_path):
    async def work(desk):
        gone = asyncio.ensure_future(desk.do(insert(1)))
        await asyncio.sleep(0)
        gone.cancel()
        return await desk.do(read)

    assert desk_of(Place(tmp_path), work) == [1]


def test_a_closed_desk_does_what_it_was_asked_for_and_takes_nothing_more(tmp_path):
    async def run():
        desk = Desk(Place(tmp_path), writes=True)
        await desk.do(make)
        asked = [asyncio.ensure_future(desk.do(insert(n))) for n in range(5)]
        await asyncio.sleep(0)
        await desk.aclose()
        with pytest.raises(StorageError, match="going down"):
            await desk.do(insert(9))
        return await asyncio.gather(*asked)

    assert asyncio.run(run()) == [0, 1, 2, 3, 4]


def test_a_command_does_its_work_at_once_or_not_at_all(tmp_path):
    url = f"sqlite://{tmp_path}/y.db"
    at_once(url, make)
    at_once(url, insert(3))

    def refuse(db):
        db.rows("INSERT INTO t VALUES (4)")
        raise StorageError("no")

    with pytest.raises(StorageError):
        at_once(url, refuse)
    assert at_once(url, read) == [3]
