"""Tables are made once, and those of a later version are left alone."""

from __future__ import annotations

import pytest

from lastcall.server.database import SqliteFile, StorageError
from lastcall.server.migrations import STEPS, migrate


def test_a_database_is_brought_up_to_date_once(tmp_path):
    place = SqliteFile(str(tmp_path / "deep" / "server.db"))
    for _ in range(2):
        connection = place.connect()
        migrate(connection)
        found = connection.rows("SELECT version FROM lastcall_schema ORDER BY version")
        assert found == [(n + 1,) for n in range(len(STEPS))]
        connection.close()
    assert (tmp_path / "deep" / "server.db").stat().st_mode & 0o077 == 0
    assert (tmp_path / "deep").stat().st_mode & 0o077 == 0


def test_tables_of_a_later_version_are_refused_and_not_touched(tmp_path):
    connection = SqliteFile(str(tmp_path / "server.db")).connect()
    migrate(connection)
    connection.rows("INSERT INTO lastcall_schema (version) VALUES (99)")
    with pytest.raises(StorageError, match="version 99"):
        migrate(connection)
    assert connection.rows("SELECT max(version) FROM lastcall_schema") == [(99,)]
    connection.close()
