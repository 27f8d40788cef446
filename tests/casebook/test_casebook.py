"""Every case of the casebook, run and judged; what comes out otherwise is listed with its reason, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from casebook.batches import batch_faults, play_batch
from casebook.casebook import DATA, cases, play, runs_of
from casebook.checks import exact, faults
from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.contract.verdicts import Accepted, Rejected
from lastcall.contract.wrapping import WRAP
from lastcall.errors import BadSchema
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments

CASES = cases()
MISSES: dict[str, str] = json.loads((DATA / "misses.json").read_text())
BATCHES = [name for name, case in CASES.items() if case["check"]["outcome"] == "batch"]
MATRIX = [name for name, case in CASES.items() if case["check"]["outcome"] == "matrix"]


def found(name: str, root: Path) -> list[str]:
    """What is wrong with the case, in all its variants."""
    case = CASES[name]
    check = case["check"]
    out = _verdict_faults(case)
    if "events" in case["input"]:
        return faults(check, play(case["input"], root, "--fallback-model", "haiku", answer=_taken_back))
    if not case["input"].get("model_replies") and "cli" not in case["input"] and "cli_variants" not in case["input"]:
        return out
    for number, given in enumerate(runs_of(case)):
        seen = play(given, root / str(number))
        judged = _for_this_variant(check, given)
        out += [f"variant {number}: {fault}" for fault in faults(judged, seen)]
    return out


def _taken_back(number: int, body: Any) -> dict[str, Any]:
    """A first model whose whole call is withdrawn by a refusal in its own reply, and a second one that only talks."""
    usage = {"input_tokens": 120, "output_tokens": 40}
    if "haiku" in body["model"]:
        return {"content": [{"type": "text", "text": "cannot finish"}], "stop_reason": "end_turn", "usage": usage}
    call = {
        "type": "tool_use",
        "id": "toolu_a1",
        "name": "StructuredOutput",
        "input": {"verdict": "pass", "note": "from first model"},
    }
    return {"content": [call], "stop_reason": "refusal", "usage": usage}


def schema_text(case: dict[str, Any]) -> str:
    given = case["input"]
    return given.get("schema_json") or json.dumps(given["schema"])


def _for_this_variant(check: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """`{}` as a schema may be accepted with a warning, as the case's words say."""
    if given.get("schema_json") == "{}":
        return {"outcome": "config_error_or_failure"}
    if check["outcome"] == "policy":
        return {"outcome": "config_error_or_failure"}
    return check


def _verdict_faults(case: dict[str, Any]) -> list[str]:
    out: list[str] = []
    instances = case["input"].get("instances", ())
    if not instances:
        return out
    try:
        contract = compile_contract(parse_schema(schema_text(case), profile=Profile.NATIVE))
    except BadSchema as error:
        return [] if "config_error" in case["check"]["outcome"] else [f"refused: {error}"]
    for number, entry in enumerate(instances):
        text = entry.get("instance_json") or json.dumps(entry["instance"])
        verdict = contract.judge(Arguments(f'{{"{WRAP}":{text}}}' if contract.wrapped else text))
        passed = isinstance(verdict, Accepted)
        if entry["valid"] is not None and passed != entry["valid"]:
            out.append(f"instance {number}: {verdict}"[:300])
        if isinstance(verdict, Accepted) and exact(verdict.text) != exact(text):
            out.append(f"instance {number} was changed: {verdict.text[:200]}")
        if "pointer" in entry and not (
            isinstance(verdict, Rejected) and entry["pointer"] in [p.path for p in verdict.problems]
        ):
            out.append(f"instance {number}: not at {entry['pointer']}")
    return out


@pytest.mark.parametrize("name", [name for name in CASES if name not in {*MATRIX, *BATCHES}])
def test_what_people_reported_comes_out_as_it_should(name: str, tmp_path: Path) -> None:
    wrong = found(name, tmp_path)
    if name in MISSES:
        assert wrong, "listed as a miss, but it comes out as expected"
    else:
        assert not wrong


@pytest.mark.parametrize("name", BATCHES)
def test_what_people_reported_of_batches_comes_out_as_it_should(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, check = CASES[name]["input"], CASES[name]["check"]
    assert batch_faults(given, check, play_batch(given, tmp_path, capfd, monkeypatch)) == []


def test_every_miss_is_a_case_and_has_its_reason() -> None:
    assert set(MISSES) <= set(CASES)
    assert all(len(reason) > 20 for reason in MISSES.values())


# -- json on every exit path ------------------------------------------------------------------------------------------

USAGE = {"input_tokens": 1, "output_tokens": 1}
PROSE = {"content": [{"type": "text", "text": "no"}], "stop_reason": "end_turn", "usage": USAGE}


def called(value: Any, stop: str = "tool_use") -> dict[str, Any]:
    call = {"type": "tool_use", "id": "toolu_a1", "name": "StructuredOutput", "input": value}
    return {"content": [call], "stop_reason": stop, "usage": USAGE}


GOOD, BAD = {"verdict": "pass", "note": "n"}, {"verdict": "?"}
ERROR = {"http": {"status": 401, "headers": {}, "body": '{"error":{"type":"authentication_error","message":"no"}}'}}
PATHS: dict[str, tuple[Any, list[str], int]] = {
    "success": (called(GOOD), [], 0),
    "retries exhausted": (called(BAD), [], 12),
    "no call": (PROSE, [], 11),
    "refusal": ({**PROSE, "stop_reason": "refusal"}, [], 15),
    "truncated": (called(GOOD, "max_tokens"), [], 15),
    "max turns": (PROSE, ["--max-turns", "1"], 14),
    "api error": (ERROR, [], 15),
    "bad schema": (PROSE, ["--json-schema", "[]"], 2),
    "unknown option": (PROSE, ["--no-such-flag"], 2),
}


@pytest.mark.parametrize("row", PATHS)
def test_stdout_is_empty_or_one_envelope_with_the_same_keys_on_every_exit_path(row: str, tmp_path: Path) -> None:
    reply, argv, code = PATHS[row]
    given = {
        **CASES["json-on-every-exit-path"]["input"],
        "wire": "anthropic",
        "model_replies": [reply],
        "repeat_last": True,
    }
    seen = play(given, tmp_path, *argv)
    assert seen.code == code
    if row == "unknown option":
        assert seen.out == b""
        return
    frame = seen.frame
    assert {"type", "subtype", "is_error", "usage", "session_id", "lastcall"} <= set(frame)
    assert ("structured_output" in frame) == (row == "success")
    assert frame["is_error"] == (row != "success")


def test_all_rows_of_the_matrix_are_run() -> None:
    rows = set(CASES["json-on-every-exit-path"]["input"]["matrix"])
    assert rows - set(PATHS) == {"interrupt"}  # tests/cli runs the command with real signals
