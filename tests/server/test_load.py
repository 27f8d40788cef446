"""Many runs at once, and for a while: none is lost, and nothing grows. The figures are those of `bench/server_load.py`."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from server_tools import Endpoint, Server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench():
    place = Path(__file__).parents[2] / "bench" / "server_load.py"
    spec = spec_from_file_location("server_load", place)
    before = list(sys.path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.mark.timeout(300)
def test_five_hundred_streams_at_once_lose_nothing(bench, tmp_path):
    with Endpoint() as endpoint, Server(tmp_path, endpoint, "--lease", "15") as server:
        found = asyncio.run(bench.load(server, endpoint, 500))
    assert found["lost"] == 0
    assert found["memory_per_run_kb"] < 500, found
    assert found["cpu_ms_per_run"] < 50, found


@pytest.mark.timeout(300)
def test_a_minute_of_runs_cancels_and_leavers_leaks_nothing(bench, tmp_path):
    with Endpoint() as endpoint, Server(tmp_path, endpoint, "--lease", "15") as server:
        found = asyncio.run(bench.soak(server, 50))
        assert "Traceback" not in server.log
    first, last = found["after_a_quarter"], found["at_the_end"]
    assert min(found["runs"], found["cancelled"], found["left"]) > 100
    assert (found["still_running"], found["still_streaming"]) == (0, 0)
    assert last["files"] == first["files"], found
    assert last["sockets"] < 100, found  # connections to the service are kept, as many as there were runs at a time
    assert last["threads"] <= first["threads"] + 3, found
    assert last["memory_mb"] < first["memory_mb"] * 1.15 + 5, found
