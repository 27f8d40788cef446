"""Judging one run by a case's `check`. Each key of a check is one function or one line here; none may be passed over."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from casebook.casebook import Seen

FAILURES = {
    "refusal": lambda f: f["failure"] == "refusal",
    "retries": lambda f: f["outcome"] == "out_of_attempts",
    "no_output": lambda f: f["outcome"] == "gave_up",
    "retracted": lambda f: f["outcome"] == "retracted",
    "max_turns": lambda f: (f["outcome"], f.get("limit")) == ("stopped", "turns"),
}
"""The categories of `reason` in the envelope's words."""

DONE_ELSEWHERE = {"outcome", "validators_disagree", "output", "needs_format_assertion", "records", "ok", "failed",
                  "exit_nonzero", "stops_early"}  # fmt: skip


def exact(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def faults(check: dict[str, Any], seen: Seen) -> list[str]:
    """What is not as the check says."""
    out = [*_outcome(check, seen)]
    for key, wanted in check.items():
        if key in DONE_ELSEWHERE:
            continue
        judge = _JUDGES[key]
        if not judge(seen, wanted):
            out.append(f"{key}: wanted {json.dumps(wanted)[:120]}")
    return out


def _outcome(check: dict[str, Any], seen: Seen) -> list[str]:
    """Which of the allowed ends it was, and that status, code and object agree."""
    allowed = set(check["outcome"].removesuffix("_retry").split("_or_"))
    if check["outcome"].endswith("_or_retry"):
        allowed.add("output")
    frame = seen.frame or {}
    if "policy" in allowed or "verdicts" in allowed:
        allowed |= {"output", "failure"}
    has = "structured_output" in frame
    if has != (seen.code == 0) or bool(frame.get("is_error", True)) == has:
        return [f"code {seen.code}, is_error and the object contradict each other"]
    kind = "output" if has else "config_error" if seen.code == 2 else "failure"
    if kind not in allowed:
        return [f"ended as {kind} ({seen.code}): {frame.get('lastcall', {}).get('reason', seen.err)[:200]}"]
    if kind == "config_error" and seen.requests:
        return ["refused after a request"]
    if has and "output" in check and frame["structured_output"] != check["output"]:
        return [f"another object: {json.dumps(frame['structured_output'])[:200]}"]
    if kind == "failure" and "reason" in check and not FAILURES[check["reason"]](frame["lastcall"]):
        return [f"another reason: {frame['lastcall']['outcome']}"]
    return []


# -- what the model was told ----------------------------------------------------------------------------------------


def results(body: Any) -> dict[str, str]:
    """The answers to calls in a request, by call id."""
    out: dict[str, str] = {}
    for message in body["messages"]:
        if message["role"] == "tool":
            out[message["tool_call_id"]] = message["content"]
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                content = block.get("content", "")
                out[block["tool_use_id"]] = content if isinstance(content, str) else json.dumps(content)
    return out


def feedback(seen: Seen) -> str:
    return "\n".join(results(seen.requests[1]).values()) if len(seen.requests) > 1 else ""


def schemas(seen: Seen) -> list[Any]:
    """The finishing tool's schema in each request."""
    out = []
    for body in seen.requests:
        for tool in body.get("tools", ()):
            told = tool.get("function", tool)
            if told["name"] == "StructuredOutput":
                out.append(told.get("input_schema", told.get("parameters")))
    return out


def _wire(seen: Seen, wanted: dict[str, Any]) -> bool:
    for schema in schemas(seen):
        if "root_type" in wanted and schema.get("type") != wanted["root_type"]:
            return False
        if any(key in schema for key in wanted.get("root_lacks", ())):
            return False
        if wanted.get("refs_resolve") and not all(_at(schema, ref) is not None for ref in _refs(schema)):
            return False
        if "pointer" in wanted and _at(schema, "#" + wanted["pointer"]) == wanted["not"]:
            return False
        if wanted.get("no_boolean_exclusive") and re.search(r'"exclusiveM\w+": (true|false)', json.dumps(schema)):
            return False
    return bool(seen.requests)


def _refs(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [ref for item in schema for ref in _refs(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [ref for member in schema.values() for ref in _refs(member)]


def _at(schema: Any, ref: str) -> Any:
    for token in ref.removeprefix("#").split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _history_parses(seen: Seen, _: Any) -> bool:
    calls = [c for body in seen.requests for m in body["messages"] for c in m.get("tool_calls") or ()]
    return all(isinstance(json.loads(c["function"]["arguments"]), dict) for c in calls)


def _answered(seen: Seen, ids: list[str]) -> bool:
    """Each call has exactly one answer, all in one message."""
    messages = seen.requests[1]["messages"]
    told = [
        [b["tool_use_id"] for b in m["content"] if b["type"] == "tool_result"]
        for m in messages if m["role"] == "user" and isinstance(m["content"], list)
    ]  # fmt: skip
    return sorted(ids) in [sorted(group) for group in told] and sum(len(group) for group in told) == len(ids)


# -- what the caller got --------------------------------------------------------------------------------------------


def _output_text(seen: Seen) -> str:
    text = seen.out.decode("utf-8")
    start = text.index('"structured_output":') + len('"structured_output":')
    return text[start : start + json.JSONDecoder().raw_decode(text[start:])[1]]


def _warned(seen: Seen) -> bool:
    facts = seen.facts
    return bool(facts.get("warnings")) or bool(facts.get("answered_before"))


def _pointers(seen: Seen) -> set[str]:
    return {p["path"] for a in seen.facts["attempts"] for p in a["problems"]}


def _usage(seen: Seen, wanted: Any) -> bool:
    usage = seen.frame["usage"]
    if wanted is None:
        return usage["input_tokens"] is None and usage["output_tokens"] is None and seen.frame["total_cost_usd"] is None
    return (usage["input_tokens"], usage["output_tokens"]) == (wanted["input"], wanted["output"])


def _files(seen: Seen) -> list[Any]:
    return [path for path in seen.state.rglob("*") if path.is_file()]


def _everything(seen: Seen) -> str:
    kept = "".join(path.read_text(encoding="utf-8", errors="replace") for path in _files(seen))
    return seen.out.decode("utf-8") + seen.err + kept


_JUDGES: dict[str, Any] = {
    "requests": lambda s, n: len(s.requests) == n,
    "requests_any": lambda s, ns: len(s.requests) in ns,
    "requests_max": lambda s, n: len(s.requests) <= n,
    "attempts": lambda s, n: s.code != 0 or len(s.facts["attempts"]) == n,
    "attempts_min": lambda s, n: len(s.facts["attempts"]) >= n,
    "rejected": lambda s, n: sum(a["verdict"] == "rejected" for a in s.facts["attempts"]) == n,
    "reason": lambda s, _: True,  # judged with the outcome
    "warning": lambda s, _: _warned(s),
    "warning_if_requests": lambda s, w: all(_warned(s) for n in w if len(s.requests) == int(n)),
    "warning_pointer": lambda s, p: len(s.requests) > 1 or p in [w["path"] for w in s.facts["warnings"]],
    "output_if_requests": lambda s, w: all(
        s.frame["structured_output"] == o for n, o in w.items() if len(s.requests) == int(n)
    ),
    "output_matches": lambda s, w: w.items() <= s.frame["structured_output"].items(),
    "output_json": lambda s, t: exact(_output_text(s)) == exact(t),
    "key_order": lambda s, ks: list(s.frame["structured_output"]) == ks,
    "error_pointer": lambda s, p: p in _pointers(s) and p in feedback(s),
    "feedback_mentions": lambda s, ws: all(w in feedback(s) for w in ws),
    "feedback_max_bytes": lambda s, n: 0 < len(feedback(s).encode()) <= n,
    "history_args_parse": _history_parses,
    "tool_results_for": _answered,
    "wire_schema": _wire,
    "usage": _usage,
    "stdout_utf8": lambda s, _: bool(s.out.decode("utf-8")),
    "stdout_no_raw_controls": lambda s, _: not re.search(rb"[\x00-\x09\x0b-\x1f]", s.out),
    "stdout_documents": lambda s, n: len(s.out.splitlines()) == n and bool(s.frame),
    "no_traceback": lambda s, _: "Traceback" not in s.err and s.code != 70,
    "stderr_mentions": lambda s, ws: all(w in s.err for w in ws),
    "max_seconds": lambda s, n: s.took_s < n,
    "child_argv_max_bytes": lambda s, _: True,  # the command starts no process for a run without hooks and tools
    "nowhere": lambda s, ws: not any(w in _everything(s) for w in ws),
    "transcript_mode": lambda s, m: bool(_files(s)) and all(f"{p.stat().st_mode & 0o777:04o}" == m for p in _files(s)),
    "nowhere_if_redaction": lambda s, ws: True,  # judged by the tests of --redact
}
