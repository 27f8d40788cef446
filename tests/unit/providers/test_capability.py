"""What deployments refuse, and for how long it is remembered."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from lastcall.nouns.request import Choice
from lastcall.nouns.result import Failed, FailureKind
from lastcall.nouns.schema import OutputSchema
from lastcall.nouns.tools import define
from lastcall.providers import Deployment
from lastcall.providers.capability import REMEMBERED_S, CapabilityMemory, refused_feature, used_features
from lastcall.wire.dialect import ANTHROPIC, OPENAI, Feature
from wire_tools import DECLINE, FINISH, READ, ask

ALL = frozenset(Feature)
HERE = Deployment("openai", "m", "http://u:SECRET@host:1/v1?key=SECRET", max_tokens=0)
NOW = 1_772_366_400.0


def refusal(detail: str, status: int = 400, kind: FailureKind = FailureKind.BAD_REQUEST) -> Failed:
    return Failed(kind, detail, status)


# the sentences are those of services and servers, as their documentation and issue trackers show them
@pytest.mark.parametrize(
    ("detail", "feature"),
    [
        ("grammar for strict tools exceeds the size limit", Feature.STRICT),
        ("tools.0.strict: Extra inputs are not permitted", Feature.STRICT),
        ("Invalid schema for function 'f': In context=(), 'additionalProperties' is required, strict", Feature.STRICT),
        ("stream_options: extra fields not permitted", Feature.STREAM_USAGE),
        ("Unknown field: max_completion_tokens", Feature.MAX_COMPLETION_TOKENS),
        ("'response_format.type' must be 'json_object' or 'text'", Feature.NATIVE_FORMAT),
        ("output_config.format: Extra inputs are not permitted", Feature.NATIVE_FORMAT),
        ("output_config: Extra inputs are not permitted", Feature.EFFORT),
        ("This model does not support the effort parameter.", Feature.EFFORT),
        ("messages.0.content.0.cache_control: Extra inputs are not permitted", Feature.CACHE_MARKS),
        ("adaptive thinking is not supported on this model", Feature.THINKING),
        ('"thinking.type.enabled" is not supported for this model', Feature.THINKING),
        ("deepseek-reasoner does not support this tool_choice", Feature.FORCED_CHOICE),
        ("registry.ollama.ai/library/gemma:2b does not support tools", Feature.TOOLS),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', Feature.TOOLS),
        ("tools param requires --jinja flag", Feature.TOOLS),
        ("No endpoints found that support tool use.", Feature.TOOLS),
        ("Tool calling is not supported with this model", Feature.TOOLS),
        ("System role not supported", Feature.SYSTEM_ROLE),
        ("Streaming is not supported for this model", Feature.STREAM),
    ],
)
def test_a_refusal_names_its_feature(detail: str, feature: Feature) -> None:
    assert refused_feature(refusal(detail), ALL) is feature
    assert refused_feature(refusal(detail), frozenset()) is None


@pytest.mark.parametrize(
    "failure",
    [
        refusal("bad thing"),
        refusal("tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"),
        refusal("messages.1: tool_use ids were found without tool_result blocks immediately after"),
        refusal("tool_choice is not supported", 500),
        refusal("thinking takes too long", 529),
        refusal("prompt is too long: strict limit", kind=FailureKind.TOO_LONG),
        Failed(FailureKind.NETWORK, "tools are not supported"),
    ],
)
def test_other_failures_refuse_nothing(failure: Failed) -> None:
    assert refused_feature(failure, ALL) is None


def test_a_request_uses_what_is_in_it_and_what_its_dialect_still_has() -> None:
    plain = used_features(ask(), HERE, OPENAI, stream=True)
    assert plain == {Feature.TOOLS, Feature.STREAM, Feature.STREAM_USAGE}
    strict = define("f", "d", {}, strict_schema={}, finishing=True)
    full = used_features(
        ask(tools=(strict, READ), choice=Choice.FINISH, system="s"), Deployment("a", "m"), ANTHROPIC, stream=False
    )
    assert full == {
        Feature.TOOLS, Feature.STRICT, Feature.FORCED_CHOICE, Feature.THINKING, Feature.EFFORT, Feature.CACHE_MARKS,
        Feature.SYSTEM_ROLE,
    }  # fmt: skip
    several = used_features(ask(tools=(FINISH, DECLINE), choice=Choice.FINISH), HERE, OPENAI, stream=False)
    assert several == {Feature.TOOLS, Feature.FORCED_ANY}
    native = used_features(ask(tools=(), native_format=OutputSchema("", "", {})), HERE, OPENAI, stream=False)
    assert native == {Feature.STRICT, Feature.NATIVE_FORMAT}
    narrowed = used_features(ask(tools=(strict,)), HERE, OPENAI.without(Feature.STRICT), stream=False)
    assert narrowed == {Feature.TOOLS}
    odd = define("f", "d", {"properties": {"a b": True}}, finishing=True)
    assert Feature.FREE_NAMES in used_features(ask(tools=(odd,)), HERE, OPENAI, stream=False)
    assert Feature.FREE_NAMES not in used_features(ask(tools=(odd,)), HERE, ANTHROPIC, stream=False)
    of_others = define("f", "d", {"properties": {"a b": True}})
    assert Feature.FREE_NAMES in used_features(ask(tools=(of_others,)), HERE, OPENAI, stream=False)


@pytest.mark.parametrize(
    "words",
    [
        "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
        "Invalid schema for function 'f': property names must match the pattern ^[a-z]+$",
        "tools[0].parameters.properties: key 'a b' contains invalid characters",
    ],
)
def test_names_that_a_service_does_not_take_are_known_by_its_words(words: str) -> None:
    assert refused_feature(refusal(words), frozenset({Feature.FREE_NAMES, Feature.STRICT})) is Feature.FREE_NAMES


def test_a_refusal_is_remembered_for_a_day_for_its_deployment_only(tmp_path: Path) -> None:
    CapabilityMemory(tmp_path).remember(HERE, Feature.STRICT, now=NOW)
    CapabilityMemory(tmp_path).remember(HERE, Feature.TOOLS, now=NOW + 10)
    later = CapabilityMemory(tmp_path)
    assert later.narrow(HERE, OPENAI, now=NOW + 20) == OPENAI.without(Feature.STRICT).without(Feature.TOOLS)
    assert later.narrow(HERE, OPENAI, now=NOW + REMEMBERED_S) == OPENAI.without(Feature.TOOLS)
    assert later.narrow(HERE, OPENAI, now=NOW + REMEMBERED_S + 10) == OPENAI
    assert later.narrow(HERE, OPENAI, now=NOW - 5) == OPENAI  # a clock that was set back
    assert later.narrow(Deployment("openai", "other", HERE.base_url), OPENAI, now=NOW) == OPENAI
    assert later.narrow(Deployment("openai", "m", "http://elsewhere/v1"), OPENAI, now=NOW) == OPENAI


def test_two_runs_do_not_forget_for_each_other_and_old_refusals_go(tmp_path: Path) -> None:
    one, two = CapabilityMemory(tmp_path), CapabilityMemory(tmp_path)
    assert one.narrow(HERE, OPENAI, now=NOW) == OPENAI
    two.remember(HERE, Feature.STRICT, now=NOW)
    one.remember(HERE, Feature.TOOLS, now=NOW + 5)
    told = json.loads((tmp_path / "capabilities.json").read_text())
    assert [set(times) for times in told["refused"].values()] == [{"strict", "tools"}]
    one.remember(HERE, Feature.EFFORT, now=NOW + REMEMBERED_S + 100)
    told = json.loads((tmp_path / "capabilities.json").read_text())
    assert [set(times) for times in told["refused"].values()] == [{"effort"}]


def test_the_file_is_its_owners_alone_and_holds_no_address_and_no_key(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "when needed"
    CapabilityMemory(folder).remember(HERE, Feature.STRICT, now=NOW)
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert not any(word in text for word in ("SECRET", "host", '"m"'))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"version":2,"refused":{}}', b'{"version":1}', b'{"version":1,"refused":[1]}',
     b'{"version":1,"refused":{"k":{"strict":"x"}}}', b"[" * 100_000, b"\xff\xfe"],
)  # fmt: skip
def test_a_damaged_file_is_ignored_and_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "capabilities.json").write_bytes(content)
    memory = CapabilityMemory(tmp_path)
    assert memory.narrow(HERE, OPENAI, now=NOW) == OPENAI
    memory.remember(HERE, Feature.STRICT, now=NOW)
    assert CapabilityMemory(tmp_path).narrow(HERE, OPENAI, now=NOW) == OPENAI.without(Feature.STRICT)


def test_unknown_features_of_another_version_are_ignored(tmp_path: Path) -> None:
    memory = CapabilityMemory(tmp_path)
    memory.remember(HERE, Feature.STRICT, now=NOW)
    file = tmp_path / "capabilities.json"
    file.write_text(file.read_text().replace("strict", "telepathy"))
    assert CapabilityMemory(tmp_path).narrow(HERE, OPENAI, now=NOW) == OPENAI


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    memory = CapabilityMemory(tmp_path / "file" / "below")
    memory.remember(HERE, Feature.STRICT, now=NOW)
    assert memory.narrow(HERE, OPENAI, now=NOW) == OPENAI.without(Feature.STRICT)


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "capabilities.json").mkdir()
    CapabilityMemory(tmp_path).remember(HERE, Feature.STRICT, now=NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["capabilities.json"]


def test_without_a_folder_only_this_process_remembers() -> None:
    memory = CapabilityMemory(None)
    memory.remember(HERE, Feature.STRICT, now=NOW)
    memory.remember(HERE, Feature.TOOLS, now=NOW)
    assert memory.narrow(HERE, OPENAI, now=NOW) == OPENAI.without(Feature.STRICT).without(Feature.TOOLS)
