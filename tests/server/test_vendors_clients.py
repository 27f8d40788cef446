"""The vendors' own Python libraries against the drop-in doors: objects that passed, or the errors that their users know."""

from __future__ import annotations

import asyncio
import subprocess

import pytest
from pydantic import BaseModel

from needs import Library
from server_tools import SCHEMA, Server, command, environment, good, prompt

pytestmark = pytest.mark.slow

openai = Library("openai")
anthropic = Library("anthropic")


class Count(BaseModel):
    n: int


FORMAT = {"type": "json_schema", "json_schema": {"name": "count", "schema": SCHEMA, "strict": True}}
TOOL = {"name": "count", "description": "Takes the count.", "input_schema": SCHEMA}
FUNCTION = {"type": "function", "function": {"name": "count", "description": "Takes the count.", "parameters": SCHEMA}}


@pytest.fixture
def chat(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=2) as client:
        yield client


@pytest.fixture
def messages(server):
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=2) as client:
        yield client


def asked(*say, **fields):
    return [{"role": "user", "content": prompt(*say, **fields)}]


# -- Chat Completions -----------------------------------------------------------------------------------------------


def test_parse_gives_an_object_that_passed(chat, endpoint):
    found = chat.chat.completions.parse(
        model="gpt", messages=asked({"object": {"n": "x"}}, good(8), id="parse"), response_format=Count
    )
    assert found.choices[0].message.parsed == Count(n=8)
    assert (found.choices[0].finish_reason, found.model) == ("stop", "gpt")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (200, 40)
    assert endpoint.asked["parse", 1] == 1


def test_a_stream_brings_the_object_whole(chat):
    text, usage, reasons = "", None, []
    for chunk in chat.chat.completions.create(
        model="haiku",
        messages=asked({"object": {"n": "x"}}, good(8)),
        response_format=FORMAT,
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasons.append(choice.finish_reason)
    assert text == '{"n":8}'
    assert [r for r in reasons if r] == ["stop"]
    assert usage.total_tokens == 240


def test_the_library_accumulates_a_stream_into_a_parsed_object(chat):
    with chat.chat.completions.stream(model="haiku", messages=asked(good(8)), response_format=Count) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.parsed == Count(n=8)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("choice", "finish"), [({"type": "function", "function": {"name": "count"}}, "stop"), ("required", "tool_calls")])  # fmt: skip
def test_a_forced_function_is_called_with_an_object_that_passed(chat, choice, finish, streamed):
    wanted = {"model": "haiku", "messages": asked({"object": {"n": "x"}}, good(8)), "tools": [FUNCTION]}
    if streamed:
        with chat.chat.completions.stream(**wanted, tool_choice=choice) as stream:
            found = stream.get_final_completion()
    else:
        found = chat.chat.completions.create(**wanted, tool_choice=choice)
    call = found.choices[0].message.tool_calls[0]
    assert (call.function.name, call.function.arguments) == ("count", '{"n":8}')
    assert found.choices[0].finish_reason == finish


def test_prose_and_any_object(chat):
    found = chat.chat.completions.create(model="haiku", messages=asked({"text": "Forty-two."}))
    assert found.choices[0].message.content == "Forty-two."
    found = chat.chat.completions.create(
        model="haiku", messages=asked({"object": {"free": [1]}}), response_format={"type": "json_object"}
    )
    assert found.choices[0].message.content == '{"free":[1]}'


def test_a_decline_is_a_refusal(chat):
    say = {"tool": "DeclineOutput", "object": {"reason": "no figures"}}
    found = chat.chat.completions.parse(model="haiku", messages=asked(say), response_format=Count)
    assert found.choices[0].message.parsed is None
    assert "no figures" in found.choices[0].message.refusal


def test_a_conversation_goes_to_the_model_as_it_was(chat, endpoint):
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "One?"}]},
        {"role": "assistant", "content": "One."},
    ]
    chat.chat.completions.create(model="haiku", messages=[*history, *asked(good(), id="talk")], response_format=FORMAT)
    sent = next(b for b in endpoint.bodies if '"id": "talk"' in str(b["messages"]) or "talk" in str(b["messages"]))
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]
    assert "One?" in str(sent["messages"][0])
    assert "One." in str(sent["messages"][1])
    assert "Be brief." in str(sent["system"])


@pytest.mark.parametrize(
    ("wanted", "error", "param"),
    [
        ({"temperature": 0.2}, "BadRequestError", "temperature"),
        ({"n": 2}, "BadRequestError", "n"),
        ({"stop": ["x"]}, "BadRequestError", "stop"),
        ({"seed": 7}, "BadRequestError", "seed"),
        ({"tools": [FUNCTION]}, "BadRequestError", "tools"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": 3}}}}, "BadRequestError", None),
        ({"model": "gpt-9"}, "NotFoundError", None),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "BadRequestError", "messages[0].content[0].type"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "BadRequestError", "messages"),
        ({"extra_body": {"gravity": 9.81}}, "BadRequestError", "gravity"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused_by_name(chat, endpoint, wanted, error, param):
    before = endpoint.asked.total()
    with pytest.raises(getattr(openai, error)) as raised:
        chat.chat.completions.create(**{"model": "haiku", "messages": asked(good()), **wanted})
    assert raised.value.param == param
    assert endpoint.asked.total() == before


@pytest.mark.parametrize("streamed", [False, True])
def test_no_object_is_an_error_and_is_not_asked_for_again(chat, endpoint, streamed):
    say = [{"object": {"n": "x"}}] * 5
    with pytest.raises(openai.UnprocessableEntityError) as raised:
        chat.chat.completions.create(
            model="haiku", messages=asked(*say, id=f"none{streamed}"), response_format=FORMAT, stream=streamed
        )
    assert raised.value.code == "out_of_attempts"
    assert endpoint.asked[f"none{streamed}", 0] == 1


def test_a_failing_service_is_the_clients_server_error(chat, endpoint):
    with pytest.raises(openai.InternalServerError) as raised:
        chat.chat.completions.create(model="haiku", messages=asked({"status": 401}, id="down"))
    assert (raised.value.status_code, raised.value.code) == (502, "authentication")
    assert endpoint.asked["down", 0] == 1


# -- Messages -------------------------------------------------------------------------------------------------------

CONFIG = {"format": {"type": "json_schema", "schema": SCHEMA}}


def test_a_message_holds_an_object_that_passed(messages):
    found = messages.messages.create(
        model="haiku", max_tokens=500, messages=asked({"object": {"n": "x"}}, good(8)), output_config=CONFIG
    )
    assert (found.content[0].text, found.stop_reason, found.usage.output_tokens) == ('{"n":8}', "end_turn", 40)


def test_a_streamed_message_is_accumulated_by_the_library(messages):
    with messages.messages.stream(
        model="haiku", max_tokens=500, messages=asked({"object": {"n": "x"}}, good(8)), output_config=CONFIG
    ) as stream:
        found = stream.get_final_message()
    assert (found.content[0].text, found.stop_reason) == ('{"n":8}', "end_turn")


def test_the_librarys_own_parsing_gets_its_type(messages):
    found = messages.messages.parse(
        model="haiku", max_tokens=500, messages=asked({"object": {"n": "x"}}, good(8)), output_format=Count
    )
    assert found.parsed_output == Count(n=8)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("choice", [{"type": "tool", "name": "count"}, {"type": "any"}])
def test_a_forced_tool_is_called_with_an_object_that_passed(messages, choice, streamed):
    wanted = {"model": "haiku", "max_tokens": 500, "messages": asked({"object": {"n": "x"}}, good(8))}
    wanted |= {"tools": [TOOL], "tool_choice": choice}
    if streamed:
        with messages.messages.stream(**wanted) as stream:
            found = stream.get_final_message()
    else:
        found = messages.messages.create(**wanted)
    assert (found.content[0].type, found.content[0].name, found.content[0].input) == ("tool_use", "count", {"n": 8})
    assert found.stop_reason == "tool_use"


def test_a_decline_stops_as_a_refusal(messages):
    say = {"tool": "DeclineOutput", "object": {"reason": "no figures"}}
    found = messages.messages.create(model="haiku", max_tokens=500, messages=asked(say), output_config=CONFIG)
    assert found.stop_reason == "refusal"
    assert "no figures" in found.content[0].text


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        ({"extra_body": {"temperature": 0.2}}, "BadRequestError", "temperature"),
        ({"extra_body": {"top_k": 3}}, "BadRequestError", "top_k"),
        ({"stop_sequences": ["x"]}, "BadRequestError", "stop_sequences"),
        ({"tools": [TOOL]}, "BadRequestError", "tools"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "BadRequestError", "thinking"),
        ({"model": "opus"}, "NotFoundError", "no model 'opus'"),
        ({"messages": [{"role": "user", "content": " "}]}, "BadRequestError", "messages"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {"type": 3}}}}, "BadRequestError", "schema"),
    ],
)  # fmt: skip
def test_a_message_that_cannot_be_honoured_is_refused_by_name(messages, endpoint, wanted, error, words):
    before = endpoint.asked.total()
    with pytest.raises(getattr(anthropic, error), match=words):
        messages.messages.create(**{"model": "haiku", "max_tokens": 500, "messages": asked(good()), **wanted})
    assert endpoint.asked.total() == before


@pytest.mark.parametrize("streamed", [False, True])
def test_no_object_is_an_error_of_the_library(messages, endpoint, streamed):
    say = [{"object": {"n": "x"}}] * 5
    name = f"never{streamed}"
    with pytest.raises(anthropic.UnprocessableEntityError, match="out_of_attempts"):
        messages.messages.create(
            model="haiku", max_tokens=500, messages=asked(*say, id=name), output_config=CONFIG, stream=streamed
        )
    assert endpoint.asked[name, 0] == 1


# -- leaving, waiting, tokens ---------------------------------------------------------------------------------------


def latest(server):
    return server.client.get("/v1/runs", params={"limit": 1}).json()["runs"][0]


@pytest.mark.parametrize("streamed", [False, True])
def test_the_run_of_a_client_that_leaves_is_cancelled(server, endpoint, streamed):
    name = f"left{streamed}"

    async def leave():
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
            wanted = client.chat.completions.create(
                model="haiku", messages=asked(good(), delay_s=60, id=name), response_format=FORMAT, stream=streamed
            )
            asking = asyncio.create_task(wanted)
            while not endpoint.asked[name, 0]:  # noqa: ASYNC110 -- another thread counts
                await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.wait([asking])

    asyncio.run(leave())
    assert server.ended(latest(server)["run_id"], within_s=5)["outcome"] == "cancelled"


def test_a_long_run_is_streamed_with_signs_of_life_and_may_fail_in_the_stream(endpoint, tmp_path):
    """The doors hold a stream back for a while; then it begins, and says something as often."""
    with Server(tmp_path, endpoint, "--hold", "0.2") as server:
        wanted = {"model": "haiku", "messages": asked(good(8), delay_s=0.9), "response_format": FORMAT, "stream": True}
        content = {**wanted, "response_format": FORMAT}
        with server.client.stream("POST", "/v1/chat/completions", json=content) as answer:
            said = list(answer.iter_lines())
        assert said.count(": still running") >= 2
        assert said[-2:] == ["data: [DONE]", ""]
        failing = asked({"status": 401}, delay_s=0.9)
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as chat:
            with pytest.raises(openai.APIError, match="scripted"):
                list(chat.chat.completions.create(**{**wanted, "messages": failing}))
            endless = asked(good(8), delay_s=60)
            chat.chat.completions.create(**{**wanted, "messages": endless}).close()
            assert server.ended(latest(server)["run_id"], within_s=5)["outcome"] == "cancelled"
        with (
            anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as messages,
            pytest.raises(anthropic.APIStatusError, match="scripted"),
            messages.messages.stream(model="haiku", max_tokens=9, messages=failing, output_config=CONFIG) as stream,
        ):
            stream.get_final_message()


def test_a_wrong_token_is_the_librarys_authentication_error(endpoint, tmp_path):
    made = subprocess.run(
        command("serve", "token", "create", "web"),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    with Server(tmp_path, endpoint) as server:
        good_one = {"api_key": made.stdout.strip(), "max_retries": 0}
        wanted = {"model": "haiku", "messages": asked(good(8))}
        with openai.OpenAI(base_url=f"{server.url}/v1", **good_one) as client:
            assert (
                client.chat.completions.create(**wanted, response_format=FORMAT).choices[0].message.content == '{"n":8}'
            )
        with (
            openai.OpenAI(base_url=f"{server.url}/v1", api_key="x") as client,
            pytest.raises(openai.AuthenticationError),
        ):
            client.chat.completions.create(**wanted)
        with anthropic.Anthropic(base_url=server.url, **good_one) as client:
            assert client.messages.create(**wanted, max_tokens=9, output_config=CONFIG).content[0].text == '{"n":8}'
        with (
            anthropic.Anthropic(base_url=server.url, api_key="x") as client,
            pytest.raises(anthropic.AuthenticationError),
        ):
            client.messages.create(**wanted, max_tokens=9)
