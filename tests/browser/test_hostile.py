"""Whatever a model, a tool or a user wrote is text."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from journals import Writer, place
from lastcall.core import records as r
from lastcall.nouns.hooks import HookPoint, HookVerdict
from lastcall.nouns.messages import OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.result import (
    Attempt,
    CheckVerdict,
    Declined,
    Failed,
    FailureKind,
    RunWarning,
    Usage,
    VerdictKind,
)
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause

PAYLOADS = {
    "element": "<img src=x onerror=pwned()>",
    "end of script": "</script><script>pwned()</script>",
    "comment": "<!--<script>--><script>pwned()</script>",
    "attribute": "\"'><svg/onload=pwned()>",
    "address": "javascript:pwned()",
    "template": "{{constructor.constructor('pwned()')()}}${pwned()}",
    "style": "</style><style>*{background:url(http://127.0.0.1:9/x)}</style>",
    "events": '\n\ndata: {"entries":[]}\n\nid: 1\r\n',
    "key": "__proto__",
}


def hostile(bad):
    """A session with the text in every field that anybody but lastcall fills."""
    schema = {
        "title": bad, "description": bad, "type": "object", "properties": {bad: {"description": bad, "enum": [bad]}},
        "required": [bad], bad: bad, "$defs": {bad: {"type": "string", "default": bad}},
    }  # fmt: skip
    w = Writer("s1", model=bad, cwd=bad, schema=schema)
    draft = {bad: bad, "a": [bad, {bad: None}]}
    w.opened()
    lines = [
        w.step(r.Opened("s1", bad, "native", bad, bad, w.at, bad, json.dumps(schema), (bad, bad))),
        w.prompt(bad),
        w.reply(TextBlock(bad), ThinkingBlock(bad), OpaqueBlock(bad, {bad: bad}), w.call(bad, {bad: bad}), stop=bad),
        w.step(r.ToolStarted("c1", bad, False)),
        w.step(r.CallAnswered(ToolResult("c1", ResultKind.FAILED, bad, True)), r.Asked(2)),
        w.step(r.RetryNoted(2, 1, 3, 10, Failed(FailureKind.OVERLOADED, bad))),
        w.step(r.FallbackNoted(2, bad, bad, bad, "u", ("m1",))),
        w.step(r.FeatureDropped(2, bad, bad), r.HooksHeard(HookPoint.STOP, "", HookVerdict((bad,), context=(bad,), halt=bad))),
        w.step(r.Nudged(r.NudgeKind.ENFORCE, bad), r.Noted((bad,)), r.Warned(RunWarning(bad, bad, bad))),
        w.rejected(draft, ("/a", bad, bad), (f"/{bad}", "enum", bad, {"allowedValues": [bad], "got": bad}), (bad, bad, bad)),
        w.rejected({**draft, "b": bad}, ("", "additionalProperties", bad, {"additionalProperty": bad})),
        w.step(
            r.BlockSaid(3, "m9", ToolCall("c9", "m9", bad, Unreadable(bad, UnreadableCause.SYNTAX, bad, 1, 2, 1, len(bad))), "u"),
            r.Attempted(Attempt(9, "c9", bad, VerdictKind.UNREADABLE, (), bad)),
            r.Checked("c9", (CheckVerdict(bad, False, bad, 1, "c9"),), False),
        ),
        w.step(r.DeclineHeard("c9", bad, (bad,), True), r.RequestLost(3, Failed(FailureKind.NETWORK, bad), "u", usage=Usage())),
        w.step(r.Ended(Declined(bad, (bad,)))),
    ]  # fmt: skip
    return b"".join(lines)


def check(page, bad):
    page.keyboard.press("o")
    page.wait_for_timeout(150)
    assert page.evaluate("window.hit") is None
    assert (
        page.evaluate(
            "document.querySelectorAll('img, iframe, object, embed, base, svg, [onload], [onerror], main style, main script').length"
        )
        == 0
    )
    assert page.evaluate("document.scripts.length") == page.scripts
    assert page.evaluate("[...document.querySelectorAll('a')].every(a => a.protocol !== 'javascript:')")
    return page.locator("main").inner_text()


@pytest.fixture
def armed(tab):
    tab.add_init_script("window.pwned = () => { window.hit = true; }")
    return tab


@pytest.mark.parametrize("name", PAYLOADS)
def test_no_text_of_a_run_becomes_anything_but_text(armed, show, name):
    bad = PAYLOADS[name]
    page = show(hostile(bad))
    page.scripts = 2  # the values, and lastcall's own
    text = check(page, bad)
    assert text.count(bad.strip().split("\n")[0]) > 20
    page.evaluate("location.hash = '#/run/s1/contract'")
    page.wait_for_timeout(100)
    check(page, bad)
    assert len(page.watched.requests) == 1


def test_nor_does_one_that_is_served_and_listed(armed, served, state):
    bad = "".join(PAYLOADS.values())
    place(state, "s1", hostile(bad))
    armed.scripts = 2
    armed.goto(served)
    expect(armed.locator(".run-link")).to_have_count(1)
    check(armed, bad)
    armed.goto(f"{served}#/run/s1")
    expect(armed.locator(".k-end")).to_have_count(1)
    check(armed, bad)
    assert {url.split("/")[2] for url in armed.watched.requests} == {served.split("/")[2]}


def test_signs_that_steer_the_direction_of_writing_are_shown_by_their_names(show):
    page = show(Writer().whole("pay \u202eelbisrever\u202c now\x1b[2J \u2066x\u2069"))
    assert (
        page.locator(".prompt").inner_text()
        == "pay \u27e8U+202E\u27e9elbisrever\u27e8U+202C\u27e9 now\u27e8U+001B\u27e9[2J \u27e8U+2066\u27e9x\u27e8U+2069\u27e9"
    )


def test_the_pages_own_policy_refuses_markup_from_text_even_from_its_own_script(show):
    page = show(Writer().whole())
    words = page.evaluate(
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'taken'; } catch (error) { return String(error); } })()"
    )
    assert words.startswith("TypeError")
    page.evaluate("const s = document.createElement('style'); s.append('body{display:none}'); document.head.append(s);")
    assert page.evaluate("getComputedStyle(document.body).display") != "none"
    page.watched.errors.clear()  # the browser tells of both


def test_another_origin_cannot_read_or_frame_the_served_page(armed, served, three_sessions, tmp_path):
    outside = tmp_path / "evil.html"
    outside.write_text(f"<iframe id=f src='{served}'></iframe>", "utf-8")
    armed.goto(outside.as_uri())
    armed.wait_for_timeout(300)
    assert armed.frames[1].evaluate("document.body.innerText").find("Runs") == -1
    assert armed.evaluate(f"fetch('{served}stories').then(() => 'read', () => 'refused')") == "refused"
    armed.watched.errors.clear()


@pytest.mark.parametrize("key", ["__proto__", "constructor", "toString", ""])
def test_ids_that_are_names_of_the_language_harm_nothing(show, key):
    w = Writer()
    content = (
        w.opened()
        + w.prompt(key)
        + w.tool(key, {key: {key: key}}, key)
        + w.accepted({"ticket": "INC-0001", "customers": 1, key: key})
    )
    page = show(content)
    assert page.locator("h1").inner_text() == "The object passed the contract."
