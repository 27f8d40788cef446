"""The recorded runs of the reference against the command's own code in this process: quick, no socket, no subprocess.

`misses_in_process.json` lists each case that is not met with its reason; a listed miss that is met fails too. The same
cases against the real command and a real socket are in `test_recorded.py` (slow).
"""

import json
from collections import Counter
from pathlib import Path

import pytest
from in_process import load_case, observe
from score import facets

from lastcall.cli.exits import exit_code

HERE = Path(__file__).parent
GROUPS = (
    "keyword", "schema-arg", "message", "format", "coercion", "enforce", "giveup", "cap", "parallel", "input", "unicode",
    "large", "limit", "stop-reason", "surface",
)  # fmt: skip
MISSES = json.loads((HERE / "misses_in_process.json").read_text())


def cases(groups=GROUPS):
    return [p for g in groups for p in sorted((HERE / "cases" / g).glob("*.json"))]


def needs_a_pipe(case):
    """A list of lines on stdin is a dialogue with a running process."""
    return isinstance(case.get("stdin"), list) or case.get("prior")


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("group", GROUPS)
def test_compat_does_what_the_reference_did(group, tmp_path):
    wrong = {}
    for path in cases((group,)):
        case = load_case(path)
        if needs_a_pipe(case):
            continue
        root = tmp_path / path.stem
        root.mkdir()
        varies = set(case.get("varies", ()))
        seen = observe(case, root, "compat")
        want, got = (facets({k: v for k, v in o.items() if k not in varies}) for o in (case["observed"], seen))
        missed = sorted(k for k in want if want[k] != got.get(k))
        if bool(missed) != (name_of(path) in MISSES):
            wrong[name_of(path)] = {k: (want.get(k), got.get(k)) for k in missed} or "listed as a miss, but met"
    assert not wrong


def test_natively_status_code_and_content_always_agree(tmp_path):
    """Every scripted case of the corpus: exit 0 exactly with an object (or, without a contract, an answer)."""
    seen_codes = Counter()
    for path in cases():
        case = load_case(path)
        if needs_a_pipe(case):
            continue
        root = tmp_path / f"{path.parent.name}-{path.stem}"
        root.mkdir()
        argv = [a for a in case["argv"] if a != "--verbose"]
        case = {**case, "argv": [*argv, "--output-format", "json"]}
        seen = observe(case, root, "native")
        seen_codes[seen["exit_code"]] += 1
        check_envelope(name_of(path), argv, seen)
    assert set(seen_codes) >= {0, 2, 11, 12, 14, 15}, seen_codes


def check_envelope(name, argv, seen):
    code, text = seen["exit_code"], seen.get("stdout_text", "")
    if not text:
        assert code == 2, name
        return
    frame = json.loads(text)
    with_contract = "--json-schema" in argv
    assert frame["is_error"] == (code != 0), name
    assert (frame["subtype"] == "success") == (code == 0), name
    assert ("structured_output" in frame) == (code == 0 and with_contract), name
    assert ("errors" in frame) == (code != 0), name
    outcome = frame["lastcall"]["outcome"]
    assert (outcome == "answered") == (code == 0), name
    assert bool(frame["lastcall"].get("draft") is not None) <= (code != 0), name


def test_the_exit_codes_are_those_of_the_table():
    from lastcall.nouns.attachment import Attachment
    from lastcall.nouns.profile import Profile
    from lastcall.nouns.result import (
        Answered,
        Cancelled,
        Declined,
        Failed,
        FailureKind,
        GaveUp,
        Limit,
        OutOfAttempts,
        Retracted,
        Signal,
        Stopped,
    )  # fmt: skip

    table = [
        (Answered(Attachment("c", "m", "{}")), 0),
        (Answered(None, "hi"), 0),
        (Declined("no"), 10),
        (GaveUp("no"), 11),
        (OutOfAttempts(5), 12),
        (Retracted(1, 1, exhausted=True), 13),
        (Stopped(Limit.TURNS, "3"), 14),
        (Stopped(Limit.BUDGET, "1"), 14),
        (Stopped(Limit.DEADLINE, "9s"), 14),
        (Failed(FailureKind.AUTHENTICATION, ""), 15),
        (Failed(FailureKind.BAD_REQUEST, ""), 15),
        (Failed(FailureKind.NOT_FOUND, ""), 15),
        (Failed(FailureKind.OVERLOADED, ""), 16),
        (Failed(FailureKind.NETWORK, ""), 16),
        (Failed(FailureKind.BROKEN_STREAM, ""), 16),
        (Failed(FailureKind.INTERNAL, ""), 70),
        (Cancelled(Signal.INTERRUPT), 130),
        (Cancelled(Signal.TERMINATE), 143),
    ]
    assert [exit_code(outcome, Profile.NATIVE) for outcome, _ in table] == [code for _, code in table]
