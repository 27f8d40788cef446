"""Bearer tokens: made once and shown once, kept as digests, compared in constant time.

A token is `lc_ID_SECRET`. The secret half has 256 random bits, so a plain SHA-256 keeps it: there is nothing to guess
that a slow hash would slow down.

Must not go in here: what a token's bearer may see (`server.doors`), requests.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final

from lastcall.errors import BadConfig
from lastcall.server.database import Connection
from lastcall.server.rows import Grant, TokenRow

_TOKEN: Final = re.compile(r"lc_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_COLUMNS: Final = "token_id, name, digest, created_at, revoked_at, concurrency, per_minute, schema_bytes"
_NOBODY: Final = hashlib.sha256(b"nobody").hexdigest()


def create(db: Connection, name: str, token_id: str, secret: str, grant: Grant) -> None:
    """Keep a new token. Raises `BadConfig` for a name that is taken or cannot be one."""
    if not _NAME.fullmatch(name):
        hint = "Use letters, digits, `.`, `_` and `-`, 64 at most."
        raise BadConfig(f"{name!r} cannot be a token's name", hint=hint, where="NAME")
    written = db.rows(
        f"INSERT INTO tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, NULL, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING name",  # noqa: S608
        (token_id, name, _digest(secret), db.now(), grant.concurrency, grant.per_minute, grant.schema_bytes),
    )
    if not written and all(row.token_id != token_id for row in listed(db)):
        raise BadConfig(f"there is a token {name} already", hint="Choose another name.", where="NAME")


def new_token() -> tuple[str, str]:
    """The id and the secret of a new token."""
    return secrets.token_hex(8), secrets.token_urlsafe(32)


def written_out(token_id: str, secret: str) -> str:
    """The token as its bearer gets it."""
    return f"lc_{token_id}_{secret}"


def revoke(db: Connection, name: str) -> None:
    """From now on nobody is let in by this token. Raises `BadConfig` where there is none."""
    found = db.rows(
        "UPDATE tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE name = ? RETURNING name", (db.now(), name)
    )
    if not found:
        raise BadConfig(f"there is no token {name!r}", hint="See `lastcall serve token list`.", where="NAME")


def listed(db: Connection) -> list[TokenRow]:
    """All tokens, the revoked ones too, by name."""
    return [_row(values) for values in db.rows(f"SELECT {_COLUMNS} FROM tokens ORDER BY name")]  # noqa: S608


def any_valid(db: Connection) -> bool:
    """Whether there is a token that lets somebody in."""
    return bool(db.rows("SELECT 1 FROM tokens WHERE revoked_at IS NULL LIMIT 1"))


def any_made(db: Connection) -> bool:
    """Whether there is or was a token."""
    return bool(db.rows("SELECT 1 FROM tokens LIMIT 1"))


def bearer(db: Connection, token: str) -> TokenRow | None:
    """Whose token this is; `None` if nobody's. As much work for a wrong secret as for a wrong id."""
    parts = _TOKEN.fullmatch(token)
    token_id, secret = parts.groups() if parts else ("", token[:100])
    found = db.rows(f"SELECT {_COLUMNS} FROM tokens WHERE token_id = ?", (token_id,))  # noqa: S608
    row = _row(found[0]) if found else None
    same = hmac.compare_digest(row.digest if row is not None else _NOBODY, _digest(secret))
    return row if row is not None and same and row.revoked_at is None else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _row(values: tuple[object, ...]) -> TokenRow:
    token_id, name, digest, created_at, revoked_at, *grant = values
    return TokenRow(token_id, name, digest, created_at, revoked_at, Grant(*grant))  # type: ignore[arg-type] # columns
