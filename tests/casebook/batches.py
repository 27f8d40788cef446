"""A case that is a whole batch, against `lastcall batch` in this process, its models behind a real socket.

A row's number stands in its prompt, so that each row has a script of its own however the rows overlap. Every answer that
the service gives is kept, in order, with how many requests were under way when it came in.
"""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

from msgspec import Struct

from casebook.casebook import KEYS, MODELS, Endpoint, script_of
from lastcall.cli.subcommands import run_subcommand

_ROW = re.compile(r"row <(\w+)>")


class Asked(Struct, frozen=True):
    """A request as the service saw it: whose row, how many were under way with it, and whether it was refused."""

    row: str
    under_way: int
    refused: bool


class BatchSeen:
    """What a caller sees of a batch, and what its service saw."""

    def __init__(self, code: int, summary: Any, records: list[Any], asked: list[Asked], rows: list[str]) -> None:
        self.code = code
        self.summary = summary
        self.records = records
        self.asked = asked
        self.rows = rows


class RowService:
    """Answers each row by its own script; over `most` requests at a time it answers 429 instead."""

    def __init__(self, given: dict[str, Any], rows: dict[str, dict[str, Any]]) -> None:
        self.asked: list[Asked] = []
        self._scripts = {row: script_of({**told, "schema": given["schema"]}) for row, told in rows.items()}
        self._limit = given.get("rate_limit")
        self._lock = threading.Lock()
        self._under_way = 0
        self._full = threading.Event()

    def __call__(self, number: int, body: Any) -> dict[str, Any]:
        found = _ROW.search(json.dumps(body["messages"][0]))
        assert found is not None
        row = found.group(1)
        with self._lock:
            self._under_way += 1
            under_way = self._under_way
            refused = self._limit is not None and under_way > self._limit["max_in_flight"]
            self.asked.append(Asked(row, under_way, refused))
        if refused:
            self._full.set()
        elif self._limit is not None:
            self._full.wait(5)  # the first ones are answered when the limit was overrun once
        with self._lock:
            self._under_way -= 1
            if not refused:
                return self._scripts[row](number, body)
        told = self._limit["else"]
        error = {"type": "error", "error": {"type": "rate_limit_error", "message": "too many at once"}}
        headers = {"retry-after": told["retry-after"]}
        return {"http": {"status": told["status"], "headers": headers, "body": json.dumps(error)}}


def rows_of(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The script of each row, by its id."""
    if "batch" in given:
        return {row["id"]: row for row in given["batch"]}
    template = given["batch_template"]
    return {f"r{number}": template for number in range(1, template["count"] + 1)}


def play_batch(given: dict[str, Any], root: Path, capfd: Any, monkeypatch: Any) -> BatchSeen:
    """Run the batch that a case gives; `root` is a fresh directory."""
    rows = rows_of(given)
    service = RowService(given, rows)
    endpoint = Endpoint(service)
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "OPENAI_", "LASTCALL_", "CLAUDE_"))]:
        monkeypatch.delenv(name)
    environment = {**KEYS, "HOME": str(root), "LASTCALL_CACHE_DIR": str(root), "ANTHROPIC_BASE_URL": endpoint.url}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(root)
    (root / "rows.jsonl").write_text("".join(json.dumps({"id": row}) + "\n" for row in rows), "utf-8")
    words = ["rows.jsonl", "-o", "records.jsonl", "--prompt", "row <{{ id }}>", "--key", "id", "--json", "--quiet"]
    words += ["--json-schema", json.dumps(given["schema"]), "--model", MODELS[given["wire"]]]
    if "concurrency" in given:
        words += ["--concurrency", str(given["concurrency"])]
    for name, value in given.get("options", {}).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    try:
        code = run_subcommand("batch", words)
    finally:
        endpoint.close()
    records = [json.loads(line) for line in (root / "records.jsonl").read_text("utf-8").splitlines()]
    return BatchSeen(code, json.loads(capfd.readouterr().out), records, service.asked, list(rows))


# -- judging --------------------------------------------------------------------------------------------------------


def batch_faults(given: dict[str, Any], check: dict[str, Any], seen: BatchSeen) -> list[str]:
    """What is not as the check, and the case's words, say."""
    outcomes = [record["outcome"] for record in seen.records]
    ok = outcomes.count("answered")
    wrong = {
        "records": len(outcomes) != check.get("records", len(outcomes)),
        "ok": ok != check.get("ok", ok),
        "failed": len(outcomes) - ok != check.get("failed", len(outcomes) - ok),
        "exit_nonzero": (seen.code != 0) != check.get("exit_nonzero", seen.code != 0),
        "stops_early": bool(check.get("stops_early")) and not _stopped_early(given, seen),
        "the records contradict the summary": _contradicts(seen),
        "a record is of no row, or two are of one": _is_not_one_a_row(seen),
        "a failure without reason and attempts": any(
            r["outcome"] != "answered" and not (r["reason"] and (r["attempts"] or r["outcome"] != "out_of_attempts"))
            for r in seen.records
        ),
        "an object beside a failure": any((r["output"] is not None) != (r["outcome"] == "answered") for r in seen.records),
        "the rate limit was not kept to": "rate_limit" in given and not _gave_way(seen),
    }  # fmt: skip
    return [name for name, is_wrong in wrong.items() if is_wrong]


def _stopped_early(given: dict[str, Any], seen: BatchSeen) -> bool:
    """The rows that were tried are the limit and no more than could be under way; the rest are told to be left."""
    most = given["options"]["max_failures"] + 64
    tried = len({asked.row for asked in seen.asked})
    return seen.code == 14 and most < len(seen.rows) and len(seen.records) <= tried <= most and _left(seen) > 0


def _left(seen: BatchSeen) -> int:
    return len(seen.rows) - len(seen.records)


def _contradicts(seen: BatchSeen) -> bool:
    counted: dict[str, int] = {}
    for record in seen.records:
        counted[record["outcome"]] = counted.get(record["outcome"], 0) + 1
    told = seen.summary
    return told["outcomes_in_output"] != counted or told["without_record"] != _left(seen)


def _is_not_one_a_row(seen: BatchSeen) -> bool:
    keys = [record["key"] for record in seen.records]
    return len(set(keys)) != len(keys) or not set(keys) <= set(seen.rows)


def _gave_way(seen: BatchSeen) -> bool:
    """429s are no attempts and redo nothing, and fewer requests were under way after the first than before."""
    served = [asked.row for asked in seen.asked if not asked.refused]
    first = next((n for n, asked in enumerate(seen.asked) if asked.refused), None)
    if first is None or len(served) != len(set(served)):
        return False
    once = [len(record["attempts"]) == 1 for record in seen.records]
    later = [asked.under_way for asked in seen.asked[len(seen.asked) // 2 :]]
    return all(once) and max(later) < max(asked.under_way for asked in seen.asked)
