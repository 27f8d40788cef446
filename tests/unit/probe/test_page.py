"""The pages: every figure and every word is there, and words of a model stay words."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from lastcall.probe.comparing import compare
from lastcall.probe.endings import Ending
from lastcall.probe.page import comparison_page, probe_page
from lastcall.probe.sheet import Sheet
from lastcall.probe.trials import Reply, Said
from probe_tools import case, plan, trial

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\x00\x1b[31m"


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.words = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def sheet(model="m-1"):
    replies = (Reply(1, model, "tool_use", (Said("call", HOSTILE, "StructuredOutput"),)), Reply(2, lost="cut <off>"))
    return Sheet(
        plan(case("a", prompt=HOSTILE), case("b", family="type", conflicts=False, may_correct=True), model=model),
        (
            trial("a", 1, Ending.REPAIRED, attempts=3, replies=replies, reason=HOSTILE),
            trial("a", 2, Ending.GAVE_UP, attempts=0),
            trial("b", 1, Ending.FAILED, counted=False),
        ),
    )


def test_the_page_shows_the_counts_the_ledger_and_the_raw_replies():
    read = Reader(probe_page(sheet()))
    for words in (
        "How m-1 behaves", "trials", "1 of 2", "did not count", "conflicts, as it is", "Attempt 3: accepted",
        "/level: must be equal to one of the allowed values (enum)", "broke off: cut <off>", "StructuredOutput: </pre><script>",
        "seeds from 7", "no trial yet",
    ):  # fmt: skip
        assert words in read.text, words


def test_what_a_model_said_makes_no_element():
    tags = Reader(probe_page(sheet(HOSTILE))).tags
    assert [attrs for tag, attrs in tags if tag == "img" or any(key.startswith("on") for key in attrs)] == []
    assert [tag for tag, _ in tags].count("script") == [t for t, _ in Reader(probe_page(sheet())).tags].count("script")
    assert "\x00" not in probe_page(sheet(HOSTILE))
    assert "\x1b" not in probe_page(sheet(HOSTILE))


def test_the_page_loads_nothing():
    text = probe_page(sheet())
    assert "default-src 'none'" in Reader(text).tags[3][1].get("content", text)
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)


def test_a_probe_without_any_trial_has_a_page_too():
    assert "no trial yet" in Reader(probe_page(Sheet(plan(), ()))).text


def test_two_probes_stand_beside_each_other_with_their_names():
    read = Reader(comparison_page(compare(sheet("m-1"), sheet("m-2")), sheet("m-1").plan, sheet("m-2").plan))
    for words in ("m-1 and m-2", "A: m-1", "B: m-2", "How the trials ended", "1 of 2"):
        assert words in read.text, words
