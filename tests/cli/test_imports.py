"""What a start loads: nothing that it does not need. Time to the first request is mostly time of importing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cli.support import environment

HEAVY = {
    "celpy", "claude_agent_sdk", "genai_prices", "jsonschema_rs", "mcp", "opentelemetry", "platformdirs", "pyarrow", "pydantic",
    "ray", "regex", "rich", "starlette", "uvicorn", "xllamacpp", "yaml",
}  # fmt: skip
"""Libraries that most runs do without; each is loaded by what needs it."""
ROOMS = {"lastcall.api", "lastcall.batches", "lastcall.probe", "lastcall.server", "lastcall.testing", "lastcall.viewer"}
OPTIONAL = {
    "lastcall.contract.cel", "lastcall.contract.formats", "lastcall.providers.local", "lastcall.providers.openai",
    "lastcall.tools.bash", "lastcall.tools.mcp", "lastcall.wire.openai",
}  # fmt: skip
SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'


def loaded(tmp_path, *words):
    """The modules that the command has loaded when it is over, and its exit code."""
    code = (
        "import sys\n"
        "from lastcall.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "print('\\n' + '\\n'.join(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return set(ran.stderr.splitlines())


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_loads_neither_the_machine_nor_any_library(tmp_path, word):
    names = loaded(tmp_path, word)
    tops = {name.partition(".")[0] for name in names}
    assert tops & (HEAVY | {"anyio", "asyncio", "click", "httpx2", "jiter"}) == set()
    assert {n for n in names if n.startswith(("lastcall.core", "lastcall.runtime", "lastcall.contract"))} == set()
    assert {n for n in names if n.startswith("lastcall.cli.")} <= {
        "lastcall.cli.args", "lastcall.cli.flags", "lastcall.cli.main", "lastcall.cli.streams", "lastcall.cli.subcommands",
    }  # fmt: skip


def test_a_run_loads_what_it_needs_and_nothing_for_another_kind_of_run(tmp_path):
    (tmp_path / "script.json").write_text(json.dumps([{"object": {"a": 1}}]))
    names = loaded(tmp_path, "-p", "x", "--json-schema", SCHEMA, "--model", "scripted:script.json", "--tools", "")
    assert {name.partition(".")[0] for name in names} & (HEAVY | {"click", "httpx2"}) == set()
    assert names & (ROOMS | OPTIONAL) == set()
    assert {"lastcall.core.decide", "lastcall.contract.validator", "lastcall.runtime.driver"} <= names
