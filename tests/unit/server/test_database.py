"""Addresses of databases, and what is said when there is none."""

from __future__ import annotations

import pytest

from lastcall.errors import BadConfig
from lastcall.server.database import Lost, StorageError, database


@pytest.mark.parametrize(
    ("url", "path"),
    [("sqlite:///tmp/a%20b.db", "/tmp/a b.db"), ("sqlite:////tmp/a.db", "/tmp/a.db")],
)
def test_a_file_is_named_by_its_path(url, path):
    assert database(url).path == path


@pytest.mark.parametrize("url", ["", "server.db", "sqlite:", "sqlite://server.db", "sqlite:///tmp/", "mysql://x/y"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(BadConfig, match="Write sqlite:///"):
        database(url)


def test_a_server_is_shown_without_its_secrets():
    pytest.importorskip("psycopg")
    place = database("postgresql://ann:sesame@127.0.0.1:9/db?x=y")
    assert place.shown == "postgresql://127.0.0.1:9/db"
    with pytest.raises(Lost) as raised:
        place.connect()
    assert "sesame" not in str(raised.value)


def test_a_file_that_cannot_be_made_is_told_as_such(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be opened"):
        database(f"sqlite://{tmp_path}/file/server.db").connect()
    (tmp_path / "text.db").write_text("no database" * 100)
    with pytest.raises(StorageError, match="cannot be opened"):
        database(f"sqlite://{tmp_path}/text.db").connect()
