from __future__ import annotations

import http.client
import os
import stat
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from journals import Writer, place
from lastcall.cli.view import view
from lastcall.errors import BadConfig


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("LASTCALL_STATE_DIR", str(tmp_path / "state"))
    place(tmp_path / "state", "done", Writer("done").whole())
    return tmp_path / "state"


def run(*words):
    return CliRunner().invoke(view, words, standalone_mode=False)


def test_a_run_is_written_to_a_file_of_its_owner_alone(state, tmp_path):
    file = tmp_path / "run.html"
    done = run("done", "--export", str(file))
    assert (done.output, done.exception) == ("", None)
    assert "INC-0012" in file.read_text("utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--export", "x.html"), "one run, batch or probe can be written to a file"),
        (("done", "--export", "/nowhere/at/all/x.html"), "its folder is not there"),
        (("nobody",), "there is no session nobody"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_served(state, words, sentence):
    done = run(*words)
    assert isinstance(done.exception, BadConfig)
    assert sentence in done.exception.message


def test_a_port_that_is_taken_is_one_sentence(state):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("--no-open", "--port", str(taken.getsockname()[1]))
    assert isinstance(done.exception, BadConfig)
    assert done.exception.where == "--port"


def test_the_address_is_the_only_line_on_stdout_and_ctrl_c_ends_it(state, tmp_path):
    env = {**os.environ, "LASTCALL_STATE_DIR": str(state)}
    command = [sys.executable, "-m", "lastcall", "view", "--no-open", "--all"]
    with subprocess.Popen(
        command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        url = urlsplit(process.stdout.readline().strip())
        assert url.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
        connection.request("GET", f"{url.path}stories")
        assert b'"done"' in connection.getresponse().read()
        connection.close()
        process.send_signal(2)
        rest, told = process.communicate(timeout=20)
    assert (rest, process.returncode) == ("", 0)
    assert told == "lastcall: the page is served until Ctrl-C\n"
