"""The two databases that runs are kept in, behind the little that both speak: DB-API 2, `ON CONFLICT`, `RETURNING`.

SQL is written once, with `?` for values. A connection is used by one thread at a time.

Must not go in here: statements about runs and tokens, transactions (`server.desk`).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from lastcall.errors import BadConfig, JournalError, MissingExtra
from lastcall.journal.store import make_private_directory

if TYPE_CHECKING:
    from types import ModuleType

_WAIT_S: Final = 10
"""How long a statement waits for another process's lock."""


class StorageError(JournalError):
    """The database cannot be used now. What was being written counts as never written."""

    code = "storage"


class Lost(StorageError):  # noqa: N818 -- named for what happened
    """The connection is gone, or another server was in the way: the same transaction may be tried again."""

    code = "storage_lost"


class Connection(Protocol):
    """One connection. Every method may raise `StorageError`, `Lost` where trying again may help."""

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction."""
        ...

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement; its rows (none where it returns none)."""
        ...

    def many(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each of the values."""
        ...

    def now(self) -> float:
        """Seconds since the epoch, by the one clock that all servers of this database share."""
        ...

    def commit(self) -> None:
        """Make it last."""
        ...

    def take_back(self) -> None:
        """Take it back; never raises."""
        ...

    def close(self) -> None:
        """Let go; never raises."""
        ...

    @property
    def skips_locked(self) -> str:
        """What a `SELECT` in a claim ends with, so that two servers do not wait for each other."""
        ...


class Database(Protocol):
    """Where a connection comes from."""

    @property
    def shown(self) -> str:
        """Its address without secrets."""
        ...

    def connect(self) -> Connection:
        """A new connection. Raises `StorageError`."""
        ...


def database(url: str) -> Database:
    """The database of an address: `sqlite:///FILE` or `postgresql://...`. Raises `BadConfig`, `MissingExtra`."""
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        path = unquote(url.removeprefix("sqlite://"))
        if not path.startswith("/") or path.endswith("/"):
            raise BadConfig("this is no file's address", hint="Write sqlite:///path/to/file.", where="--storage")
        return SqliteFile(path[1:] if path.startswith("//") else path)
    if scheme in ("postgresql", "postgres"):
        try:
            import psycopg  # noqa: PLC0415 -- an extra
        except ImportError:
            raise MissingExtra(
                "PostgreSQL needs psycopg, which is not installed.",
                hint="Install it with: pip install 'lastcall[postgres]'",
            ) from None
        return Postgres(url, psycopg)
    raise BadConfig("this is no database's address", hint="Write sqlite:///FILE or postgresql://...", where="--storage")


# -- SQLite ---------------------------------------------------------------------------------------------------------


class SqliteFile:
    """A file on this machine, readable by its owner alone."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def shown(self) -> str:
        """The file's address."""
        return f"sqlite:///{self.path}"

    def connect(self) -> Connection:
        """A connection in WAL mode; the file is made if it is not there."""
        try:
            make_private_directory(os.path.dirname(os.path.abspath(self.path)))  # noqa: PTH100, PTH120
            self._make()
            connection = sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}")
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise StorageError(f"the database cannot be opened: {why}", where=self.shown) from None
        except sqlite3.Error as error:
            raise StorageError(f"the database cannot be opened: {error}", where=self.shown) from None
        return _Sqlite(connection)

    def _make(self) -> None:
        """Make the file, for its owner alone.

        One that is there is not even opened: closing it would drop the locks that this process holds on it through
        other connections, and another process would then take the database for its own.
        """
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


class _Sqlite:
    skips_locked = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def begin(self, *, writes: bool) -> None:
        self.rows("BEGIN IMMEDIATE" if writes else "BEGIN")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _sqlite_error(error) from None

    def many(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        try:
            self._connection.executemany(statement, values)
        except sqlite3.Error as error:
            raise _sqlite_error(error) from None

    def now(self) -> float:
        return time.time()

    def commit(self) -> None:
        self.rows("COMMIT")

    def take_back(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()


def _sqlite_error(error: sqlite3.Error) -> StorageError:
    busy = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    return (Lost if busy else StorageError)(f"the database failed: {error}")


# -- PostgreSQL -----------------------------------------------------------------------------------------------------


class Postgres:
    """A PostgreSQL server, which several servers may share."""

    def __init__(self, url: str, library: ModuleType) -> None:
        self._url = url
        self._library = library

    @property
    def shown(self) -> str:
        """The address without user and password."""
        parts = urlsplit(self._url)
        return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def connect(self) -> Connection:
        """A connection."""
        try:
            connection = self._library.connect(self._url, autocommit=True, connect_timeout=_WAIT_S)
            # a process that was stopped in the middle of a transaction must not keep others from its runs
            connection.execute("SET idle_in_transaction_session_timeout = '5s'")
            connection.execute(f"SET lock_timeout = '{_WAIT_S}s'")
        except self._library.Error as error:
            first = next(iter(str(error).strip().splitlines()), "")
            secret = urlsplit(self._url).password
            words = first.replace(secret, "***") if secret else first
            raise Lost(f"the database cannot be reached: {words}", where=self.shown) from None
        return _Postgres(connection, self._library)


class _Postgres:
    skips_locked = "FOR UPDATE SKIP LOCKED"

    def __init__(self, connection: Any, library: ModuleType) -> None:
        self._connection = connection
        self._library = library

    def begin(self, *, writes: bool) -> None:
        self.rows("BEGIN" if writes else "BEGIN READ ONLY")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            cursor = self._connection.execute(statement.replace("?", "%s"), values or None)
            return cursor.fetchall() if cursor.description is not None else []
        except self._library.Error as error:
            raise self._error(error) from None

    def many(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(statement.replace("?", "%s"), values)
        except self._library.Error as error:
            raise self._error(error) from None

    def now(self) -> float:
        return float(self.rows("SELECT extract(epoch FROM clock_timestamp())")[0][0])

    def commit(self) -> None:
        self.rows("COMMIT")

    def take_back(self) -> None:
        with suppress(self._library.Error):
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(self._library.Error):
            self._connection.close()

    def _error(self, error: Any) -> StorageError:
        library = self._library
        again = (library.OperationalError, library.InterfaceError)  # gone, deadlock, serialization, lock timeout
        words = next(iter(str(error).strip().splitlines()), type(error).__name__)
        return (Lost if isinstance(error, again) else StorageError)(f"the database failed: {words}")
