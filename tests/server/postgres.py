"""A PostgreSQL server in a temporary directory, reachable through a Unix socket alone."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import needs


def _as_nobody(words):
    """The words as a user that PostgreSQL runs as: it refuses root."""
    if os.getuid() != 0:
        return words
    nobody = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", *words]


@contextmanager
def running_postgres():
    """The address of a fresh server."""
    programs = Path(needs.program("postgres")).parent
    folder = Path(tempfile.mkdtemp(prefix="lc-pg-"))  # short: a socket's path has a limit
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    here = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    flags = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=50"
    try:
        subprocess.run(
            _as_nobody([programs / "initdb", "-D", folder / "db", "-U", "lastcall", "-A", "trust", "--no-sync"]),
            env=here, check=True, capture_output=True, cwd=folder,
        )  # fmt: skip
        subprocess.run(
            _as_nobody([programs / "pg_ctl", "-D", folder / "db", "-l", folder / "log", "-o", flags, "-w", "start"]),
            env=here, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
        )  # fmt: skip
        yield f"postgresql://lastcall@/postgres?host={quote(str(folder))}"
    finally:
        stop = [programs / "pg_ctl", "-D", folder / "db", "-m", "immediate", "stop"]
        subprocess.run(_as_nobody(stop), env=here, check=False, capture_output=True, cwd=folder)
        shutil.rmtree(folder, ignore_errors=True)
