from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.viewer.markup import tag
from lastcall.viewer.page import BLOCK_ID, asset, json_block, render_page

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    | st.sampled_from(["</script>", "<!--<script>", "]]>", "\u2028", "&lt;", "-->"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


class Read(HTMLParser):
    CDATA_CONTENT_ELEMENTS = ("script", "style")

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], None
        self.feed(html)
        self.close()

    def handle_starttag(self, name, attributes):
        self.open = [name, dict(attributes), ""]
        self.elements.append(self.open)

    def handle_endtag(self, name):
        self.open = None

    def handle_data(self, text):
        if self.open:
            self.open[2] += text

    def all(self, name):
        return [(attributes, text) for found, attributes, text in self.elements if found == name]


@settings(max_examples=40)
@given(json_values)
def test_values_cannot_end_their_block_and_come_back_as_they_were(value):
    read = Read(render_page("t", tag("p", "x"), values=value))
    [block] = [text for attributes, text in read.all("script") if attributes.get("id") == BLOCK_ID] or [None]
    if value is None:
        assert block is None
    else:
        assert json.loads(block) == value
        assert not re.search("[<>&\u2028\u2029]", json_block(value))
    assert len(read.all("script")) == 1 + (value is not None)


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else():
    read = Read(render_page("t", tag("p", "x"), values=1))
    [(attributes, style)] = read.all("style")
    assert attributes == {}
    [(_, script)] = [(a, t) for a, t in read.all("script") if "type" not in a]
    [policy] = [a["content"] for a, _ in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    digest = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in (("script", script), ("style", style))
    }
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest['script']}'",
        "style-src": f"'sha256-{digest['style']}'",
        "connect-src": "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


def test_only_a_page_that_is_served_may_ask_its_own_origin():
    assert "connect-src &#39;self&#39;" in render_page("t", tag("p"), connects=True)


def test_the_page_loads_nothing():
    html = render_page("t", tag("p"), values={})
    assert not re.search(r"\s(src|href)=\"(?!#)", html)
    assert "@import" not in html
    assert "url(" not in html


def test_the_title_is_text():
    [(_, text)] = Read(render_page("</title><script>x</script>", tag("p"))).all("title")
    assert text == "</title><script>x</script>"


@pytest.mark.parametrize("name", ["base.js", "base.css"])
def test_no_asset_can_end_its_own_element(name):
    assert "</" not in asset(name).lower().replace("</script", "</").replace("</style", "</")
    assert "<!--" not in asset(name)


def test_a_page_has_landmarks_and_a_way_past_the_head():
    read = Read(render_page("t", tag("h1", "x")))
    assert {"header", "main", "footer"} <= {name for name, _, _ in read.elements}
    assert read.all("a")[0][0] == {"href": "#main", "class": "skip"}
    assert read.all("main")[0][0]["id"] == "main"
    assert read.all("html")[0][0] == {"lang": "en"}
