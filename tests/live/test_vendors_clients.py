"""The vendors' own Python libraries against the drop-in doors, with the small embedded model behind them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from incident_tools import NOTE, rows
from lastcall.providers.local_cache import FOLDER_VARIABLE
from needs import Library
from server_tools import Server

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(600)]

openai = Library("openai")
anthropic = Library("anthropic")


class Incident(BaseModel):
    ticket: str = Field(pattern=r"^INC-[0-9]{4}$")
    area: Literal["payments", "login", "search", "email"]
    customers: int = Field(ge=0)


SAID: Any = [{"role": "user", "content": NOTE + rows("notes")[0]["text"]}]
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "incident", "schema": Incident.model_json_schema()}}
TOOL: Any = {"name": "report", "description": "Takes the incident.", "input_schema": Incident.model_json_schema()}


@pytest.fixture(scope="module")
def url(small_weights: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose runs the embedded model plays."""
    folder = os.environ.get(FOLDER_VARIABLE) or str(Path(small_weights).parents[1])
    with Server(
        tmp_path_factory.mktemp("server"), None, "--no-decline", model="local:small", **{FOLDER_VARIABLE: folder}
    ) as running:
        yield running.url


@pytest.fixture
def chat(url: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def messages(url: str) -> Iterator[Any]:
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        yield client.messages


def test_openais_client_parses_an_object_that_passed(chat: Any) -> None:
    found = chat.chat.completions.parse(model="local:small", messages=SAID, response_format=Incident)
    assert isinstance(found.choices[0].message.parsed, Incident)
    assert found.choices[0].finish_reason == "stop"


def test_openais_client_streams_it(chat: Any) -> None:
    chunks = chat.chat.completions.create(model="local:small", messages=SAID, response_format=FORMAT, stream=True)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert Incident.model_validate_json(text)


def test_anthropics_client_gets_a_forced_tools_input_that_passed(messages: Any) -> None:
    found = messages.create(
        model="local:small", max_tokens=500, messages=SAID, tools=[TOOL], tool_choice={"type": "tool", "name": "report"}
    )
    assert found.stop_reason == "tool_use"
    assert [Incident.model_validate(block.input) for block in found.content if block.type == "tool_use"]


def test_anthropics_client_streams_an_object_that_passed(messages: Any) -> None:
    form = {"output_config": {"format": {"type": "json_schema", "schema": Incident.model_json_schema()}}}
    with messages.stream(model="local:small", max_tokens=500, messages=SAID, extra_body=form) as stream:
        text = "".join(stream.text_stream)
    assert Incident.model_validate_json(text)


def test_a_client_that_leaves_gets_its_error_and_the_server_goes_on(chat: Any) -> None:
    with pytest.raises(openai.APITimeoutError):
        chat.with_options(timeout=0.2).chat.completions.parse(
            model="local:small", messages=SAID, response_format=Incident
        )
    found = chat.chat.completions.parse(model="local:small", messages=SAID, response_format=Incident)
    assert isinstance(found.choices[0].message.parsed, Incident)
