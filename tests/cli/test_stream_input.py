"""A client on stdin, natively: every message has one result, and no end is a success without an object."""

import json

from cli.support import SCHEMA, lastcall, script

GOOD, OTHER, BAD = ({"object": {"a": n}} for n in (3, 4, "three"))


def lines(*frames):
    return "".join((f if isinstance(f, str) else json.dumps(f)) + "\n" for f in frames)


def user(text):
    return {"type": "user", "message": {"role": "user", "content": text}}


def control(subtype, request_id="r1", **more):
    return {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **more}}


def drive(home, model, *frames, argv=(), schema=True, **env):
    contract = ("--json-schema", SCHEMA) if schema else ()
    formats = ("--input-format", "stream-json", "--output-format", "stream-json")
    return lastcall(
        home, "-p", *formats, "--model", model, "--tools", "", *contract, *argv, stdin=lines(*frames), **env
    )


def results(ran):
    return [f for f in ran.frames if f["type"] == "result"]


def answers(ran):
    return [f["response"] for f in ran.frames if f["type"] == "control_response"]


def test_each_message_has_its_result_and_the_code_is_that_of_the_last(tmp_path):
    ran = drive(tmp_path, script(tmp_path, GOOD, "no", "never"), user("one"), user("two"))
    assert [r["subtype"] for r in results(ran)] == ["success", "error_gave_up"]
    assert [r["is_error"] for r in results(ran)] == [False, True]
    assert "structured_output" not in results(ran)[1]
    assert ran.code == 11


def test_a_client_may_bring_the_contract_and_a_bad_one_is_refused(tmp_path):
    brought = control("initialize", jsonSchema=json.loads(SCHEMA))
    ran = drive(tmp_path, script(tmp_path, BAD, GOOD), brought, user("go"), schema=False)
    assert (ran.code, results(ran)[0]["structured_output"]) == (0, {"a": 3})
    refused = control("initialize", jsonSchema={"type": "banana"})
    ran = drive(tmp_path, script(tmp_path, "hi"), refused, schema=False)
    assert [a["subtype"] for a in answers(ran)] == ["error"]
    assert "banana" in answers(ran)[0]["error"] or "type" in answers(ran)[0]["error"]


def test_a_change_that_cannot_be_made_is_answered_so_and_nothing_changes(tmp_path):
    asked = (control("set_permission_mode", "r1", mode="wild"), control("frobnicate", "r2"), user("go"))
    ran = drive(tmp_path, script(tmp_path, GOOD), *asked)
    assert [a["subtype"] for a in answers(ran)] == ["error", "error"]
    assert "wild" in answers(ran)[0]["error"]
    assert (ran.code, results(ran)[0]["structured_output"]) == (0, {"a": 3})


def test_a_line_that_is_no_frame_ends_the_session_with_a_sentence(tmp_path):
    ran = drive(tmp_path, script(tmp_path, GOOD), "not json")
    assert ran.code == 2
    assert ran.err.startswith("lastcall: stdin: a line is no frame")
    ran = drive(tmp_path, script(tmp_path, GOOD), {"type": "user", "message": {"role": "assistant", "content": "x"}})
    assert ran.code == 2
    assert "role 'user'" in ran.err


def test_messages_are_shown_again_where_that_is_asked_for(tmp_path):
    ran = drive(tmp_path, script(tmp_path, GOOD), {**user("one"), "uuid": "u-1"}, argv=("--replay-user-messages",))
    (again,) = [f for f in ran.frames if f.get("isReplay")]
    assert (again["uuid"], again["message"]["content"]) == ("u-1", [{"type": "text", "text": "one"}])


def test_a_session_is_gone_on_with_from_an_earlier_message(tmp_path):
    first = drive(tmp_path, script(tmp_path, "hm", GOOD), user("one"))
    (said, *_) = [f for f in first.frames if f["type"] == "assistant"]
    session = results(first)[0]["session_id"]
    at = ("--resume", session, "--resume-session-at", said["uuid"])
    again = drive(tmp_path, script(tmp_path, OTHER), user("two"), argv=at)
    assert results(again)[0]["structured_output"] == {"a": 4}
    journal = next((tmp_path / "state").rglob(f"{session}.jsonl")).read_text()
    imported = next(line for line in journal.splitlines() if '"Imported"' in line)
    assert "hm" in imported
    assert "StructuredOutput" not in imported
    wrong = drive(tmp_path, script(tmp_path, OTHER), user("two"), argv=(*at[:-1], "nobody"))
    assert (wrong.code, results(wrong)[0]["lastcall"]["code"]) == (2, "bad_config")


def hook(point, command, **more):
    settings = {"hooks": {point: [{"hooks": [{"type": "command", "command": command}], **more}]}}
    return ("--settings", json.dumps(settings))


def once(home, model, *argv):
    argv = ("--model", model, "--tools", "", "--json-schema", SCHEMA, "--output-format", "json", *argv)
    return lastcall(home, "-p", "go", *argv)


def test_a_blocked_prompt_is_no_success(tmp_path):
    ran = once(tmp_path, script(tmp_path, GOOD), *hook("UserPromptSubmit", "echo forbidden >&2; exit 2"))
    frame = ran.frame
    assert (ran.code, frame["is_error"], frame["subtype"]) == (14, True, "error_prompt_blocked")
    assert frame["errors"] == ["A hook blocked the prompt: forbidden"]
    assert "structured_output" not in frame


def test_a_hook_that_ends_the_run_without_an_object_is_no_success(tmp_path):
    ran = once(
        tmp_path, script(tmp_path, "words"), *hook("Stop", """echo '{"continue":false,"stopReason":"enough"}'""")
    )
    assert (ran.code, ran.frame["subtype"], ran.frame["errors"]) == (
        14, "error_hook_stopped", ["A hook ended the run without an object: enough"],
    )  # fmt: skip


def test_what_a_hook_changes_is_judged_like_anything_else(tmp_path):
    changed = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"a": "by the hook"}}}
    ran = once(tmp_path, script(tmp_path, GOOD, GOOD, GOOD), *hook("PreToolUse", f"echo '{json.dumps(changed)}'"))
    assert ran.code == 12
    assert "structured_output" not in ran.frame


def test_an_object_that_stands_ends_the_run_whatever_a_stop_hook_says(tmp_path):
    ran = once(tmp_path, script(tmp_path, GOOD), *hook("Stop", "echo never >&2; exit 2"))
    assert (ran.code, ran.frame["structured_output"]) == (0, {"a": 3})


def test_a_stop_hook_keeps_a_run_without_an_object_going(tmp_path):
    once_only = "test -f ran || { touch ran; echo think again >&2; exit 2; }"
    ran = once(tmp_path, script(tmp_path, "words", GOOD), *hook("Stop", once_only))
    assert (ran.code, ran.frame["structured_output"]) == (0, {"a": 3})


def test_settings_that_cannot_be_read_are_refused_before_anything_is_sent(tmp_path):
    ran = once(tmp_path, script(tmp_path, GOOD), "--settings", '{"hooks":{"Sotp":[]}}')
    assert (ran.code, ran.frame["lastcall"]["code"]) == (2, "bad_config")
    assert "Sotp" in ran.err
