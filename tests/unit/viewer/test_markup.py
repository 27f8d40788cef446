from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.errors import LastcallBug
from lastcall.viewer.markup import Markup, escape, join, tag


class Read(HTMLParser):
    """What a reader of HTML makes of a text."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_data(self, text):
        self.text += text

    def handle_comment(self, text):
        raise AssertionError(f"a comment: {text}")


HOSTILE = st.text() | st.sampled_from(
    [
        "</td><script>alert(1)</script>",
        '" onclick="alert(1)',
        "' onload='x",
        "<!--",
        "-->",
        "<![CDATA[",
        "&lt;&#60;",
        "\x00<b>",
        "\ud800<i>",
    ]
)


@given(HOSTILE, HOSTILE)
def test_no_text_becomes_an_element_or_an_attribute(text, value):
    read = Read(tag("td", text, title=value).html)
    assert [(name, set(attributes)) for name, attributes in read.tags] == [("td", {"title"})]


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_printable_text_comes_back_as_it_was(text):
    read = Read(tag("td", text, title=text).html)
    assert read.text == text
    assert read.tags == [("td", {"title": text})]


def test_what_no_page_may_hold_becomes_the_replacement_character():
    assert escape("a\x00b\x1bc\ud800d\n\te") == "a\ufffdb\ufffdc\ufffdd\n\te"


def test_children_are_text_numbers_markup_and_lists_of_them():
    assert tag("p", "a<", 1, 2.5, None, [tag("b", "c"), ["d", tag("br")]]).html == "<p>a&lt;12.5<b>c</b>d<br></p>"
    assert join("&", Markup("<i></i>")) == Markup("&amp;<i></i>")


def test_attribute_names_may_hold_dashes_and_bare_names():
    html = tag(
        "svg", class_="a", aria_hidden="true", viewBox="0 0 1 1", stroke_width=2, hidden=True, title=None, open=False
    ).html
    assert html == '<svg class="a" aria-hidden="true" viewBox="0 0 1 1" stroke-width="2" hidden></svg>'


@pytest.mark.parametrize(
    "name", ["script", "STYLE", "iframe", "base", "meta", "form", "a b", "a>", "", "object", "embed", "link"]
)
def test_elements_that_run_or_load_are_refused(name):
    with pytest.raises(LastcallBug):
        tag(name)


@pytest.mark.parametrize("name", ["onclick", "ONLOAD", "style", "srcdoc", "formaction", "action", "a b", 'a"', "ping"])
def test_attributes_that_run_or_load_are_refused(name):
    with pytest.raises(LastcallBug):
        tag("p", **{name: "x"})


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:x",
        " javascript:x",
        "java\nscript:x",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example/x",
        "\x01javascript:x",
        "blob:x",
    ],
)
def test_links_that_run_something_are_refused(address):
    with pytest.raises(LastcallBug):
        tag("a", "x", href=address)


@pytest.mark.parametrize(
    "address", ["#main", "https://example.org/a?b#c", "http://example.org", "runs/1", "./a.html", "a.html#x", "?q=1"]
)
def test_links_that_lead_somewhere_are_taken(address):
    assert Read(tag("a", "x", href=address).html).tags == [("a", {"href": address})]
