"""Tokens: kept as digests, found by their bearers, and by nobody else."""

from __future__ import annotations

import hashlib
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.errors import BadConfig
from lastcall.server import tokens
from lastcall.server.database import SqliteFile
from lastcall.server.migrations import migrate
from lastcall.server.rows import Grant


@pytest.fixture
def db(tmp_path):
    connection = SqliteFile(str(tmp_path / "server.db")).connect()
    migrate(connection)
    yield connection
    connection.close()


def made(db, name="ann", grant=None):
    token_id, secret = tokens.new_token()
    tokens.create(db, name, token_id, secret, grant or Grant())
    return tokens.written_out(token_id, secret)


def test_a_bearer_is_known_with_what_it_may_do(db):
    word = made(db, grant=Grant(3, 60, 1000))
    row = tokens.bearer(db, word)
    assert (row.name, row.grant, row.revoked_at) == ("ann", Grant(3, 60, 1000), None)


def test_what_is_kept_is_the_digest_of_the_secret(db):
    secret = made(db).split("_", 2)[2]
    assert db.rows("SELECT digest FROM tokens") == [(hashlib.sha256(secret.encode()).hexdigest(),)]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_nobody_else_is_let_in(data):
    """Random words, and a real token with a character changed, cut off or added."""
    db = _memory()
    word = made(db)
    at = data.draw(st.integers(0, len(word) - 1))
    other = data.draw(st.sampled_from(string.ascii_letters + string.digits + "_-. \x00é\u0661"))
    changed = data.draw(
        st.sampled_from([word[:at] + other + word[at + 1 :], word[:at], word + other, other + word])
        | st.text(max_size=80)
    )
    row = tokens.bearer(db, changed)
    assert (row is not None) == (changed == word)
    db.close()


def _memory():
    import sqlite3

    from lastcall.server.database import _Sqlite

    db = _Sqlite(sqlite3.connect(":memory:", isolation_level=None))
    migrate(db)
    return db


def test_a_revoked_token_lets_nobody_in_and_stays_listed(db):
    word = made(db)
    assert tokens.any_valid(db)
    tokens.revoke(db, "ann")
    assert tokens.bearer(db, word) is None
    assert not tokens.any_valid(db)
    assert tokens.any_made(db)
    assert [(row.name, row.revoked_at is not None) for row in tokens.listed(db)] == [("ann", True)]


@pytest.mark.parametrize("name", ["", "-a", "a b", "a" * 65, "a\n", "ä"])
def test_a_name_that_cannot_be_one_is_refused(db, name):
    with pytest.raises(BadConfig, match="cannot be a token's name"):
        made(db, name)


def test_a_name_is_taken_once(db):
    made(db)
    with pytest.raises(BadConfig, match="already"):
        made(db)
    with pytest.raises(BadConfig, match="no token 'bob'"):
        tokens.revoke(db, "bob")


def test_the_same_creation_may_be_tried_again(db):
    """Its transaction may have been kept although the answer was lost."""
    token_id, secret = tokens.new_token()
    for _ in range(2):
        tokens.create(db, "ann", token_id, secret, Grant())
    assert len(tokens.listed(db)) == 1
