"""A thread with a connection: whoever wants something of the database hands it over here and waits.

What is handed over while a transaction is under way goes into the next one together (a group commit), so that five
hundred runs cost a few commits and not five hundred. A function that is handed over must touch nothing but the
connection: it is run again where the transaction has to be.

Must not go in here: statements.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import Struct

from lastcall.errors import LastcallError
from lastcall.server.database import Connection, Database, Lost, StorageError, database
from lastcall.server.migrations import migrate

T = TypeVar("T")

_TOGETHER: Final = 256
"""At most so many in one transaction."""
_TRIES: Final = 5
_PAUSE_S: Final = 0.05


class _Wish(Struct):
    function: Callable[[Connection], Any]
    answer: asyncio.Future[Any]
    outcome: Any = None
    fault: BaseException | None = None


class Desk:
    """One connection in a thread of its own. Made in a running event loop; close it with `aclose`."""

    def __init__(self, database: Database, *, writes: bool) -> None:
        self._database = database
        self._writes = writes
        self._loop = asyncio.get_running_loop()
        self._wishes: queue.SimpleQueue[_Wish | None] = queue.SimpleQueue()
        self._connection: Connection | None = None
        self._closed = False
        self._thread = threading.Thread(
            target=self._work, name=f"lastcall-{'write' if writes else 'read'}", daemon=True
        )
        self._thread.start()

    async def do(self, function: Callable[[Connection], T]) -> T:
        """What the function returns, once its transaction is on the disk. Raises `StorageError`."""
        if self._closed:
            raise StorageError("the server is going down")
        answer: asyncio.Future[T] = self._loop.create_future()
        self._wishes.put(_Wish(function, answer))
        return await answer

    async def aclose(self) -> None:
        """Do what was asked for so far, then let go."""
        if not self._closed:
            self._closed = True
            self._wishes.put(None)
            await asyncio.to_thread(self._thread.join)

    # -- in the thread ----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        going = True
        while going:
            first = self._wishes.get()
            if first is None:
                break
            together = [first]
            while len(together) < _TOGETHER and not self._wishes.empty():
                wish = self._wishes.get()
                if wish is None:
                    going = False
                    break
                together.append(wish)
            self._fulfil(together)
            self._loop.call_soon_threadsafe(_tell, together)
        if self._connection is not None:
            self._connection.close()

    def _fulfil(self, wishes: list[_Wish]) -> None:
        """All in one transaction; if one fails, each in its own, so that only that one does."""
        fault = self._attempt(wishes)
        if fault is None:
            return
        if len(wishes) == 1:
            wishes[0].fault = fault
            return
        for wish in wishes:
            wish.fault = self._attempt([wish])

    def _attempt(self, wishes: list[_Wish]) -> BaseException | None:
        fault: BaseException | None = None
        for number in range(_TRIES):
            if number:
                time.sleep(_PAUSE_S * 2**number)
            try:
                if self._connection is None:
                    self._connection = self._database.connect()
                connection = self._connection
                connection.begin(writes=self._writes)
                for wish in wishes:
                    wish.outcome = wish.function(connection)
                connection.commit()
            except Lost as error:
                fault = error
                self._start_over()
            except Exception as error:  # noqa: BLE001 -- told to whoever asked; the thread serves the others
                self._start_over()
                return error
            else:
                return None
        return fault

    def _start_over(self) -> None:
        if self._connection is not None:
            self._connection.take_back()
            self._connection.close()
            self._connection = None


def _tell(wishes: list[_Wish]) -> None:
    for wish in wishes:
        if wish.answer.done():
            continue  # whoever asked is gone
        if wish.fault is not None:
            wish.answer.set_exception(wish.fault)
        else:
            wish.answer.set_result(wish.outcome)


def at_once(url: str, function: Callable[[Connection], T]) -> T:
    """One transaction of a command, in a database that is brought up to date. Raises `StorageError`, `UsageError`."""
    connection = database(url).connect()
    try:
        migrate(connection)
        connection.begin(writes=True)
        try:
            outcome = function(connection)
            connection.commit()
        except LastcallError:
            connection.take_back()
            raise
        return outcome
    finally:
        connection.close()
