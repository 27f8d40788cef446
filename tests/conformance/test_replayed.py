"""Every recorded run, played by the command and then replayed from its journal, ends as it did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.core import records as r
from lastcall.journal.load import load
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import outcome_name
from lastcall.runtime.config import RunConfig
from lastcall.runtime.replay import replay
from lastcall.runtime.session import policy_of

CASES = Path(__file__).parent / "cases"
GROUPS = ("enforce", "fallback", "retraction", "parallel", "stop-reason", "giveup", "tools")


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("profile", list(Profile))
def test_a_replay_under_the_same_contract_ends_the_same(group, profile, tmp_path):
    from in_process import load_case, observe

    replayed = 0
    for path in sorted((CASES / group).glob("*.json")):
        case = load_case(path)
        if case.get("prior") or isinstance(case.get("stdin"), list) or "MAX_STRUCTURED_OUTPUT_RETRIES" in case["env"]:
            continue
        root = tmp_path / path.stem
        root.mkdir()
        observe(case, root, profile.value)
        for journal in root.rglob("*.jsonl"):
            records = load(str(journal)).records
            opened = next(x for x in records if isinstance(x, r.Opened))
            if any(isinstance(x, r.HooksAsked) for x in records):
                continue
            contract = None
            if opened.schema_text:
                contract = compile_contract(parse_schema(opened.schema_text, profile=profile), profile=profile)
            for run in replay(records, contract, policy_of(RunConfig(profile=profile, contract=contract))):
                assert run.same, (path.stem, run.unknown, outcome_name(run.before), run.now, json.dumps(case["argv"]))
                verdicts = [[a.verdict for a in attempts] for attempts in (run.attempts_before, run.attempts_now)]
                assert verdicts[0] == verdicts[1], path.stem
                replayed += 1
    assert replayed
