from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from journals import Writer
from lastcall.viewer.entries import Changes, Listing, Row, RunFacts
from lastcall.viewer.page import asset
from lastcall.viewer.pages import Served, encode, event_of, live_page, session_page
from lastcall.viewer.story import Story
from lastcall.wire.journal import decode_line


def values_in(page):
    return json.loads(re.search(r'<script type="application/json" id="lastcall-values">(.*?)</script>', page)[1])


def test_a_sessions_page_holds_its_story_and_asks_for_nothing():
    story = Story("s1")
    for line in Writer().whole().split(b"\n")[:-1]:
        story.tell(decode_line(line))
    page = session_page(story.changes())
    values = values_in(page)
    assert values["source"] == {"kind": "embedded"}
    assert values["session"] == "s1"
    assert [entry["kind"] for entry in values["story"]["entries"]][:3] == ["prompt", "turn", "text"]
    assert "connect-src &#39;none&#39;" in page


def test_a_live_page_knows_where_to_ask_and_holds_no_secret():
    page = live_page(Served(base="/v1", bearer=True))
    assert values_in(page) == {
        "source": {"kind": "served", "base": "/v1", "bearer": True, "exports": False},
        "session": "",
    }
    assert "connect-src &#39;self&#39;" in page


@settings(max_examples=40)
@given(st.text())
def test_no_text_begins_another_event(text):
    event = event_of(Changes(runs=(RunFacts(number=1, prompt=text, at=0.0),)))
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    assert b"\n" not in event[:-2]
    assert b"\r" not in event
    assert json.loads(event[6:])["runs"][0]["prompt"] == text


def test_half_a_surrogate_pair_can_be_sent():
    assert json.loads(encode(Listing(runs=(Row(id="\ud800", at=0.0),))))["runs"][0]["id"] == "\ud800"


def test_scripts_make_no_markup_from_text():
    for name in ("base", "dom", "parts", "timeline", "run", "runs", "source", "app"):
        script = asset(f"{name}.js")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"on", script
        ), name
        assert "</" not in script, name
        assert "<!--" not in script, name
    assert "</" not in asset("run.css")
