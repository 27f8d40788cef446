"""A model service and a server for the tests of this folder that need no server of their own."""

from __future__ import annotations

import pytest

from server_tools import Endpoint, Server


@pytest.fixture(scope="session")
def endpoint():
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="session")
def server(endpoint, tmp_path_factory):
    with Server(
        tmp_path_factory.mktemp("server"), endpoint, "--allow-rules", "--allow-model", "gpt=haiku", "--tools", "Read"
    ) as running:
        yield running
