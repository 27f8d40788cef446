"""The OpenAPI document is true: what stands in it is there, what is there stands in it, and a fuzzer finds no lie."""

from __future__ import annotations

import json
import subprocess

import pytest

import needs
from lastcall.server.house import House
from lastcall.server.metrics import Metrics
from lastcall.server.serving import routes_of
from lastcall.server.settings import ServerSettings
from server_tools import body, good

METHODS = {"get", "post"}


@pytest.fixture(scope="module")
def described(server):
    answer = server.client.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def test_every_route_is_described_and_nothing_else(described):
    from lastcall.runtime.config import RunConfig

    routes = routes_of(House(ServerSettings(base=RunConfig(), storage="sqlite:///nowhere"), Metrics()))
    there = {(route.path, method.lower()) for route in routes for method in route.methods if method.lower() in METHODS}
    told = {(path, method) for path, item in described["paths"].items() for method in item if method in METHODS}
    assert told == there


def test_every_reference_leads_somewhere(described):
    text = json.dumps(described)
    names = {word.split('"')[0] for word in text.split("#/components/schemas/")[1:]}
    assert names == names & described["components"]["schemas"].keys()
    assert {"RunRequest", "RunView", "Envelope"} <= names


def test_the_examples_of_this_document_are_what_it_says(server, described):
    """A run's view and a refusal, checked against the schemas that they are described by."""
    from jsonschema import Draft202012Validator

    def check(name, value):
        schema = {"$ref": f"#/components/schemas/{name}", "components": described["components"]}
        Draft202012Validator(schema).validate(value)

    answer = server.client.post("/v1/runs", json=body(good()))
    check("Envelope", answer.json())
    check("RunView", server.client.get(f"/v1/runs/{answer.headers['lastcall-run']}").json())
    check("RunList", server.client.get("/v1/runs").json())
    check("Envelope", server.client.post("/v1/runs", json={}).json())
    check("RunRequest", body(good()))


@pytest.mark.slow
def test_schemathesis_finds_nothing(server):
    """Left out: `positive_data_acceptance`, since a body of the right form may name what the operator does not allow."""
    program = needs.program("schemathesis")
    ran = subprocess.run(
        [
            program, "run", f"{server.url}/openapi.json", "--url", server.url, "--max-examples", "40", "--seed", "7",
            "--phases", "examples,coverage,fuzzing", "--request-timeout", "30", "--no-color", "--workers", "1",
            "--exclude-checks", "positive_data_acceptance", "--generation-database", "none",
        ],
        capture_output=True, text=True, check=False, cwd=server.folder, timeout=600,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
