"""The vendors' batch APIs: ours against the test server, and the vendors' own libraries against it, so that it is true."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anyio
import pytest

import needs
from batch_services import BatchServices
from lastcall.errors import BadConfig
from lastcall.providers.batch_apis import AnthropicBatches, BatchApi, OpenAIBatches, open_batch_api
from lastcall.providers.choose import choose_provider
from lastcall.providers.http import HttpProvider
from lastcall.wire.batches import BatchEntry, BatchState

GOOD = {"label": "bug"}
PROMPT = [{"role": "user", "content": "Label row 3."}]


@pytest.fixture
def services() -> Iterator[BatchServices]:
    with BatchServices(lambda row, _before: "expired" if row == 4 else GOOD) as running:
        yield running


def opened(model: str, env: dict[str, str]) -> BatchApi:
    provider = choose_provider(model, env)
    assert isinstance(provider, HttpProvider)
    return open_batch_api(provider)


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_batch_is_created_looked_at_found_and_read(services: BatchServices, kind: str) -> None:
    async def one() -> tuple[BatchState, BatchState, list[BatchState], list[BatchEntry]]:
        api = opened(f"{kind}:claude-haiku-4-5", getattr(services, kind))
        rows = [json.dumps({"messages": [{"role": "user", "content": f"row {n}."}]}).encode() for n in range(3, 6)]
        created = await api.create("lcround", [(f"lcround-{n}", body) for n, body in enumerate(rows)])
        ended = await api.look(created.batch_id)
        newest = [state async for state in api.newest()]
        entries = [entry async for entry in api.entries(ended)]
        await api.aclose()
        return created, ended, newest, entries

    created, ended, newest, entries = anyio.run(one)
    assert (created.ended, ended.ended, ended.total) == (False, True, 3)
    assert newest == [ended]
    assert {entry.name: entry.status for entry in entries} == {"lcround-0": 200, "lcround-1": 408, "lcround-2": 200}
    if kind == "openai":
        assert ended.round_id == "lcround"
    headers = services.calls[0][2]
    key = headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")
    assert key == "sk-test"


def test_the_list_is_gone_through_page_by_page(services: BatchServices) -> None:
    async def one(api: BatchApi) -> list[str]:
        for n in range(150):
            body = json.dumps({"messages": [{"role": "user", "content": f"row {n}."}]}).encode()
            await api.create(f"lc{n}", [(f"lc{n}-0", body)])
        found = [state.batch_id async for state in api.newest()]
        await api.aclose()
        return found

    found = anyio.run(one, opened("anthropic:claude-haiku-4-5", services.anthropic))
    assert found == [f"msgbatch_{n}" for n in reversed(range(150))]


def test_a_query_in_the_address_stays_where_it_is() -> None:
    provider = choose_provider("openai:m", {"OPENAI_BASE_URL": "https://host/v1?key=1", "OPENAI_API_KEY": "sk-1"})
    assert isinstance(provider, HttpProvider)
    api = open_batch_api(provider)
    assert isinstance(api, OpenAIBatches)
    assert api._at("/files") == "https://host/v1/files?key=1"
    messages = choose_provider("anthropic:m", {"ANTHROPIC_BASE_URL": "https://host/v1?key=1"})
    assert isinstance(messages, HttpProvider)
    batches = open_batch_api(messages)
    assert isinstance(batches, AnthropicBatches)
    assert batches._at("/batches/b") == "https://host/v1/messages/batches/b?key=1"


def test_a_service_without_a_batch_api_is_refused(tmp_path: object) -> None:
    script = f"{tmp_path}/script.json"
    with open(script, "w") as file:
        file.write('[{"object": {}}]')
    provider = choose_provider(f"scripted:{script}", {})
    assert isinstance(provider, HttpProvider)
    with pytest.raises(BadConfig, match="no batch API"):
        open_batch_api(provider)


# -- the server is true -------------------------------------------------------------------------------------------------


def test_the_test_server_is_one_for_anthropics_own_library(services: BatchServices) -> None:
    anthropic = needs.package("anthropic")
    client = anthropic.Anthropic(base_url=services.url, api_key="sk-test")
    requests = [
        {
            "custom_id": f"r{n}",
            "params": {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": f"row {n}."}]},
        }
        for n in (3, 4)
    ]
    created = client.messages.batches.create(requests=requests)
    assert created.processing_status == "in_progress"
    assert client.messages.batches.retrieve(created.id).processing_status == "ended"
    results = {item.custom_id: item.result for item in client.messages.batches.results(created.id)}
    assert (results["r3"].type, results["r4"].type) == ("succeeded", "expired")
    assert results["r3"].message.content[0].input == GOOD
    assert [batch.id for batch in client.messages.batches.list()] == [created.id]


def test_the_test_server_is_one_for_openais_own_library(services: BatchServices) -> None:
    openai = needs.package("openai")
    client = openai.OpenAI(base_url=f"{services.url}/v1", api_key="sk-test")
    lines = [
        {
            "custom_id": f"r{n}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": "m", "messages": [{"role": "user", "content": f"row {n}."}]},
        }
        for n in (3, 4)
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = client.files.create(file=("r.jsonl", content), purpose="batch")
    order = {"input_file_id": file.id, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    created = client.batches.create(**order, metadata={"lastcall_round": "lc"})
    batch = client.batches.retrieve(created.id)
    assert (batch.status, batch.metadata) == ("completed", {"lastcall_round": "lc"})
    good = json.loads(client.files.content(batch.output_file_id).text)
    late = json.loads(client.files.content(batch.error_file_id).text)
    arguments = good["response"]["body"]["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert (good["custom_id"], json.loads(arguments)) == ("r3", GOOD)
    assert (late["custom_id"], late["error"]["code"]) == ("r4", "batch_expired")
    assert [item.id for item in client.batches.list()] == [created.id]
