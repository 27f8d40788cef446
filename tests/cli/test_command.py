"""The command as its users meet it: argv and stdin in, stdout, stderr and exit code out."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from cli.support import COMMAND, SCHEMA, environment, lastcall, script
from lastcall.tools.leftovers import marked

GOOD = {"object": {"a": 3}}
BAD = {"object": {"a": "three"}}


def run(home, model, *more, **kwargs):
    return lastcall(home, "-p", "do it", "--model", model, "--tools", "", "--json-schema", SCHEMA, *more, **kwargs)


def test_text_shows_the_object_as_one_line_of_json_and_nothing_else(tmp_path):
    ran = run(tmp_path, script(tmp_path, BAD, GOOD))
    assert (ran.code, ran.text, ran.err) == (0, '{"a":3}\n', "")


def test_text_shows_nothing_on_failure_and_the_reason_on_stderr(tmp_path):
    ran = run(tmp_path, script(tmp_path, "no", "no"))
    assert (ran.code, ran.out) == (11, b"")
    assert ran.err.startswith("lastcall: gave_up: ")


def test_json_is_one_envelope_with_the_ledger_of_attempts(tmp_path):
    ran = run(tmp_path, script(tmp_path, BAD, GOOD), "--output-format", "json")
    frame = ran.frame
    assert (ran.code, frame["structured_output"], frame["subtype"]) == (0, {"a": 3}, "success")
    verdicts = [(a["n"], a["verdict"], [p["path"] for p in a["problems"]]) for a in frame["lastcall"]["attempts"]]
    assert verdicts == [(1, "rejected", ["/a"]), (2, "accepted", [])]


def test_stream_json_is_frames_and_the_last_is_the_result(tmp_path):
    ran = run(tmp_path, script(tmp_path, BAD, GOOD), "--output-format", "stream-json")
    kinds = [(f["type"], f.get("subtype")) for f in ran.frames]
    assert kinds[0] == ("system", "init")
    assert kinds[-1] == ("result", "success")
    assert sum(kind == "result" for kind, _ in kinds) == 1


@pytest.mark.parametrize(
    ("replies", "more", "code", "outcome"),
    [
        ([{"call": {"name": "DeclineOutput", "input": {"reason": "no data", "missing": ["the log"]}}}], [], 10, "declined"),
        (["no", "no"], [], 11, "gave_up"),
        ([{"object": {"a": "x"}}, {"object": {"a": "y"}}, {"object": {"a": "z"}}], ["--max-attempts", "3"], 12, "out_of_attempts"),
        ([BAD, BAD, BAD, BAD], [], 12, "out_of_attempts"),
        ([BAD], ["--max-turns", "1"], 14, "stopped"),
        ([{"status": 401, "error": {"type": "authentication_error", "message": "bad key"}}], [], 15, "failed"),
        ([{"status": 400, "error": {"type": "invalid_request_error", "message": "no"}}], [], 15, "failed"),
        ([{"status": 529, "error": {"type": "overloaded_error", "message": "busy"}}], [], 16, "failed"),
        ([{"drop": True}], [], 16, "failed"),
        ([{"content": [{"type": "text", "text": "I"}], "stop_reason": "refusal"}], [], 15, "failed"),
    ],
)  # fmt: skip
def test_every_ending_has_its_exit_code_and_its_envelope(tmp_path, replies, more, code, outcome):
    ran = run(tmp_path, script(tmp_path, *replies), "--output-format", "json", *more)
    frame = ran.frame
    assert (ran.code, frame["lastcall"]["outcome"]) == (code, outcome)
    assert frame["is_error"] is True
    assert frame["errors"]
    assert "structured_output" not in frame


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{'type': 'object'}", "quotes"),
        ('{"type": "objekt"}', "/type"),
        ("[]", "object"),
        ('{"type":"object","properties":{"k":{"$ref":"#/definitions/Missing"}}}', "#/definitions/Missing"),
        ('{"type":"object","properties":{"k":{"$ref":"https://example.com/s.json"}}}', "https://example.com/s.json"),
        ("@missing.json", "missing.json"),
        ("no.such.module:Type", "no.such.module"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_anything_is_sent(tmp_path, schema, words):
    ran = lastcall(
        tmp_path, "-p", "x", "--json-schema", schema, "--output-format", "json", "--model", script(tmp_path, GOOD)
    )
    assert ran.code == 2
    assert ran.frame["lastcall"]["outcome"] == "usage"
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-p", "x", "--jsonschema", "{}"], "Did you mean --json-schema?"),
        (["-p", "x", "--output-format", "yaml"], "Allowed choices are text, json, stream-json."),
        (["-p", "x", "--max-turns", "many"], "must be a number"),
        (["-p", "x", "--max-turns", "0"], "1 or more"),
        (["-p", "x", "--max-budget-usd", "-3"], "positive number"),
        (["-p", "x", "--deadline", "soon"], "90s, 5m or 1h"),
        (["-p", "x", "--max-attempts", "0"], "1 or more"),
        (["-p", "x", "--json-schema"], "argument missing"),
        (["-p", "x", "--plugin-dir", "p"], "lastcall does not have it"),
        (["-p", "x", "--model", "nobody"], "there is no model 'nobody'"),
        (["-p", "x", "--model", "haiku"], "ANTHROPIC_API_KEY"),
        (["-p", "x", "--model", "scripted:none.json"], "none.json"),
        (["-p", "x", "--profile", "other"], "native, compat"),
        (["-p", "x", "--resume", "00000000-0000-4000-8000-000000000000"], "No conversation found"),
        (["-p"], "Input must be provided"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_2(tmp_path, argv, words):
    ran = lastcall(tmp_path, *argv)
    assert (ran.code, ran.out) == (2, b"")
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_the_prompt_may_come_from_stdin_alone_or_after_the_argument(tmp_path):
    model = script(tmp_path, "fine")
    assert lastcall(tmp_path, "-p", "--model", model, stdin="what?").text == "fine\n"
    assert lastcall(tmp_path, "-p", "sum up", "--model", model, stdin="a text").text == "fine\n"


def test_the_schema_may_be_a_file_json_or_yaml_or_stdin_or_a_type(tmp_path):
    model = script(tmp_path, GOOD)
    (tmp_path / "s.json").write_bytes(b"\xef\xbb\xbf" + SCHEMA.encode().replace(b",", b",\r\n"))
    (tmp_path / "s.yaml").write_text("# a comment\ntype: object\nproperties: {a: {type: number}}\nrequired: [a]\n")
    (tmp_path / "shape.py").write_text("from dataclasses import dataclass\n@dataclass\nclass Shape:\n    a: int\n")
    for given, stdin in (("@s.json", None), ("@s.yaml", None), ("-", SCHEMA), ("shape:Shape", None)):
        ran = lastcall(tmp_path, "-p", "x", "--model", model, "--tools", "", "--json-schema", given, stdin=stdin)
        assert (ran.code, ran.text) == (0, '{"a":3}\n'), (given, ran.err)


def test_a_types_own_validators_are_part_of_the_contract(tmp_path):
    (tmp_path / "inv.py").write_text(
        "from pydantic import BaseModel, model_validator\n"
        "class Inv(BaseModel):\n"
        "    total: int\n    lines: list[int]\n"
        "    @model_validator(mode='after')\n"
        "    def adds_up(self):\n"
        "        if sum(self.lines) != self.total:\n            raise ValueError('the lines do not add up')\n"
        "        return self\n"
    )
    model = script(tmp_path, {"object": {"total": 3, "lines": [1, 1]}}, {"object": {"total": 2, "lines": [1, 1]}})
    ran = lastcall(
        tmp_path, "-p", "x", "--model", model, "--tools", "", "--json-schema", "inv:Inv", "--output-format", "json"
    )
    first = ran.frame["lastcall"]["attempts"][0]
    assert first["verdict"] == "rejected"
    assert "do not add up" in first["problems"][0]["message"]
    assert ran.frame["structured_output"] == {"total": 2, "lines": [1, 1]}


def test_roots_that_are_no_objects_are_wrapped_on_the_wire_and_unwrapped_in_the_result(tmp_path):
    model = script(tmp_path, {"object": {"value": [1, 2]}})
    ran = lastcall(
        tmp_path,
        "-p",
        "x",
        "--model",
        model,
        "--tools",
        "",
        "--json-schema",
        '{"type":"array","items":{"type":"integer"}}',
    )
    assert (ran.code, ran.text) == (0, "[1,2]\n")


def test_numbers_and_key_order_come_out_as_the_model_wrote_them(tmp_path):
    raw = '{"z":1,"a":0.1,"m":1e-7,"n":-0.0,"id":7305118826640930017,"price":1.10}'
    model = script(tmp_path, {"content": [{"type": "tool_use", "id": "t", "name": "StructuredOutput", "raw": raw}]})
    ran = lastcall(tmp_path, "-p", "x", "--model", model, "--tools", "", "--json-schema", '{"type":"object"}')
    assert ran.text == '{"z":1,"a":0.1,"m":1E-7,"n":-0.0,"id":7305118826640930017,"price":1.10}\n'


def test_stdout_is_utf8_in_any_locale(tmp_path):
    words = "a → b ✓ “q” 日"
    model = script(tmp_path, {"object": {"a": 1, "why": words}})
    for lang in ("C", "POSIX", "de_DE.ISO-8859-1"):
        ran = run(tmp_path, model, LC_ALL=lang, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert json.loads(ran.out.decode("utf-8"))["why"] == words


def test_a_report_is_the_envelope_in_a_private_file_whatever_stdout_shows(tmp_path):
    ran = run(tmp_path, script(tmp_path, GOOD), "--report", "r.json")
    report = tmp_path / "r.json"
    assert json.loads(report.read_text())["structured_output"] == {"a": 3}
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert ran.text == '{"a":3}\n'


def test_without_a_contract_the_answer_is_the_text(tmp_path):
    ran = lastcall(tmp_path, "-p", "hi", "--model", script(tmp_path, "hello"), "--output-format", "json")
    assert (ran.code, ran.frame["result"], ran.frame["lastcall"]["contract"]) == (0, "hello", None)


def test_the_module_is_the_command(tmp_path):
    ran = lastcall(tmp_path, "--version")
    assert ran.code == 0
    assert ran.text.endswith("(lastcall)\n")


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_the_run_at_once_with_its_envelope(tmp_path, output, number, code):
    model = script(tmp_path, {"content": [{"type": "text", "text": "hm"}], "end_delay_ms": 30_000})
    process = subprocess.Popen(
        [*COMMAND, "-p", "x", "--model", model, "--tools", "", "--json-schema", SCHEMA, "--output-format", output],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    wait_for_session(tmp_path)
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert time.monotonic() - began < 3
    assert b"Traceback" not in err
    if output == "text":
        assert out == b""
    else:
        last = json.loads(out.splitlines()[-1])
        assert (last["type"], last["is_error"], last["lastcall"]["outcome"]) == ("result", True, "cancelled")


def test_a_hangup_ends_the_command_of_a_tool_too(tmp_path):
    model = script(
        tmp_path, {"call": {"name": "Bash", "input": {"command": "touch began; sleep 60; touch ended"}}}, "x"
    )
    process = subprocess.Popen(
        [*COMMAND, "-p", "x", "--model", model, "--allowedTools", "Bash", "--output-format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path,
        env={**environment(tmp_path), "HUNG_UP": str(tmp_path)},
    )  # fmt: skip
    until = time.monotonic() + 15
    while not (tmp_path / "began").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, json.loads(out)["lastcall"]["outcome"]) == (129, "cancelled")
    assert [e["tool"] for e in json.loads(out)["lastcall"]["side_effects"]] == ["Bash"]
    assert list(marked(f"HUNG_UP={tmp_path}")) == []


def test_a_hangup_is_ignored_where_the_parent_ignores_it(tmp_path):
    model = script(tmp_path, {"content": [{"type": "text", "text": "hm"}], "end_delay_ms": 1_500})
    process = subprocess.Popen(
        ["nohup", *COMMAND, "-p", "x", "--model", model, "--tools", ""],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    wait_for_session(tmp_path)
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, b"hm\n")


def wait_for_session(home, timeout_s=15):
    """Until the run's first reply began: the journal says so."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        for path in (home / "state").rglob("*.jsonl"):
            if "ReplyBegan" in path.read_text():
                return
        time.sleep(0.02)
    raise AssertionError("the run did not begin")


def test_a_reader_that_goes_away_does_not_break_the_run(tmp_path):
    model = script(tmp_path, BAD, GOOD)
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [*COMMAND, "-p", "x", "--model", model, "--tools", "", "--json-schema", SCHEMA, "--output-format", "stream-json"],
        stdout=write, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    os.close(write)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err == b""


def test_importing_the_package_is_quick_and_loads_nothing_heavy(tmp_path):
    code = "import sys, lastcall; print([m for m in ('click','httpx2','anyio','asyncio','pydantic','rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(tmp_path)
    )
    assert done.stdout.strip() == "[]"


def test_a_signal_ends_even_a_validator_that_never_ends(tmp_path):
    (tmp_path / "loop.py").write_text(
        "from pydantic import BaseModel, field_validator\n"
        "class Loop(BaseModel):\n    a: int\n"
        "    @field_validator('a')\n    @classmethod\n"
        "    def never(cls, value):\n"
        "        open('begun', 'w').close()\n        while True: pass\n"
    )
    model = script(tmp_path, GOOD)
    process = subprocess.Popen(
        [*COMMAND, "-p", "x", "--model", model, "--tools", "", "--json-schema", "loop:Loop", "--output-format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    end = time.monotonic() + 20
    while not (tmp_path / "begun").exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, json.loads(out)["lastcall"]["outcome"]) == (130, "cancelled")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("output", ["text", "json"])
def test_an_object_that_cannot_be_written_is_no_success(tmp_path, output):
    model = script(tmp_path, GOOD)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "-p", "x", "--model", model, "--tools", "", "--json-schema", SCHEMA, "--output-format", output],
            stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path, env=environment(tmp_path), check=False,
        )  # fmt: skip
    assert done.returncode == 70
    assert b"stdout could not be written" in done.stderr


def test_what_a_types_module_prints_or_ends_is_not_the_result(tmp_path):
    (tmp_path / "loud.py").write_text(
        "from pydantic import BaseModel\nprint('noise')\nclass Loud(BaseModel):\n    a: int\n"
    )
    (tmp_path / "quits.py").write_text("import sys\nprint('noise')\nsys.exit(0)\n")
    model = script(tmp_path, GOOD)
    loud = lastcall(tmp_path, "-p", "x", "--model", model, "--tools", "", "--json-schema", "loud:Loud")
    assert (loud.code, loud.text) == (0, '{"a":3}\n')
    quits = lastcall(tmp_path, "-p", "x", "--model", model, "--tools", "", "--json-schema", "quits:X")
    assert (quits.code, quits.out) == (2, b"")


def test_a_long_integer_comes_out_whole_in_every_format(tmp_path):
    digits = "7" * 5000
    raw = {"content": [{"type": "tool_use", "id": "t", "name": "StructuredOutput", "raw": '{"a":' + digits + "}"}]}
    for more in ([], ["--output-format", "json"], ["--output-format", "stream-json"]):
        ran = run(tmp_path, script(tmp_path, raw), *more)
        assert ran.code == 0, ran.err
        assert digits in ran.text


def test_a_report_follows_links_and_replaces_no_device(tmp_path):
    model = script(tmp_path, GOOD)
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    assert run(tmp_path, model, "--report", "link.json").code == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["is_error"] is False
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run(tmp_path, model, "--report", "pipe").code == 0
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    os.close(reader)
    missing = run(tmp_path, model, "--report", "no/such/r.json")
    assert (missing.code, missing.out) == (2, b"")


def test_a_file_name_given_as_the_schema_is_recognised(tmp_path):
    (tmp_path / "s.json").write_text(SCHEMA)
    ran = lastcall(tmp_path, "-p", "x", "--json-schema", "s.json", "--model", script(tmp_path, GOOD))
    assert ran.code == 2
    assert "Write @s.json." in ran.err


def test_checks_do_not_get_the_providers_keys(tmp_path):
    ran = run(
        tmp_path,
        script(tmp_path, BAD, GOOD),
        "--check",
        "sh -c 'test -z \"$ANTHROPIC_API_KEY\"'",
        ANTHROPIC_API_KEY="sk-x",
    )
    assert (ran.code, ran.text) == (0, '{"a":3}\n')


def test_a_rule_about_a_tool_that_nobody_has_is_told_natively_only(tmp_path):
    flags = ["-p", "x", "--model", script(tmp_path, "y"), "--disallowedTools", "Bsah", "--allowedTools", "mcp__a__b"]
    native = lastcall(tmp_path, *flags)
    assert (native.code, native.text) == (0, "y\n")
    assert (
        "lastcall: --disallowedTools: there is no tool Bsah (did you mean Bash?); the rule changes nothing"
        in native.err
    )
    assert "no tool" not in lastcall(tmp_path, *flags, "--profile", "compat").err
