"""Pages of PDFs, through `Read` as the model meets it."""

from __future__ import annotations

import zlib

import pytest

from lastcall.tools import pdf
from lastcall.tools.files import ReadFile
from lastcall.tools.permissions import Rule
from lastcall.tools.seen import Range

pytest.importorskip("pypdf")


def stream(content, extra=b""):
    return b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(content), extra, content)


def pdf_of(*contents, more=(), page=b""):
    """A PDF by hand: one page for each content stream; `more` are objects after them."""
    count = len(contents)
    kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, content in enumerate(contents):
        resources = b"/Resources << /Font << /F1 3 0 R >> %s >>" % page
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] %s /Contents %d 0 R >>" % (resources, 5 + 2 * n),
            content if content.startswith(b"<<") else stream(content),
        ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate([*objects, *more], 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(places) + 1
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
        % (size, table, size, len(out))
    )


def says(text):
    return b"BT /F1 12 Tf 10 100 Td (%s) Tj ET" % text


@pytest.fixture
def read(context, wait, tmp_path):
    def run(content, deny=(), **arguments):
        (tmp_path / "a.pdf").write_bytes(content)
        return wait(ReadFile().run, {"file_path": "a.pdf", **arguments}, context(deny=deny))

    return run


def test_pages_come_with_their_numbers(read):
    content = pdf_of(*(says(b"text %d" % n) for n in range(1, 6)))
    assert read(content).content == "\n\n".join(f"[page {n} of 5]\ntext {n}" for n in range(1, 6))
    assert (
        read(content, pages="2-3").content == "[page 2 of 5]\ntext 2\n\n[page 3 of 5]\ntext 3\n\n[Go on with pages 4-.]"
    )
    assert read(content, pages="5").content == "[page 5 of 5]\ntext 5"
    assert read(content, pages="4-99").failed
    assert read(content, pages="9").content.endswith("has 5 pages; there is no page 9.")
    assert "number or a range" in read(content, pages="some").content
    assert "forbids reading" in read(content, deny=[Rule("Read", "*.pdf")]).content


def test_pages_that_were_read_are_not_told_again(read, context, wait):
    read(pdf_of(says(b"one"), says(b"two")), pages="1")
    again = [wait(ReadFile().run, {"file_path": "a.pdf", "pages": pages}, context()).content for pages in ("1", "2")]
    assert "unchanged" in again[0]
    assert "two" in again[1]


def test_only_so_many_pages_are_shown_at_once(read):
    found = read(pdf_of(*(says(b"text %d" % n) for n in range(1, 24))))
    assert found.content.endswith("[page 20 of 23]\ntext 20\n\n[Go on with pages 21-.]")
    assert found.display["file"]["numPages"] == 23


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        (None, Range(1, 20)), ("3", Range(3, 1)), (" 2 - 4 ", Range(2, 3)), ("7-", Range(7, 20)), ("4-2", None), ("0", None),
        ("-3", None), ("", Range(1, 20)), ("1,2", None), ("1234567", None),
    ],
)  # fmt: skip
def test_pages_are_asked_for_in_words(text, pages):
    assert pdf.pages_asked_for(text) == pages


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.4\n",
        b"%PDF-1.4\n" + b"\0" * 3000,
        pdf_of(says(b"x"))[:300],
        pdf_of(says(b"x")).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
        pdf_of(says(b"x")).replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt << /Filter /Standard >>"),
    ],
    ids=["empty", "zeros", "torn", "cycle", "encrypted"],
)
def test_a_broken_file_is_a_failed_answer_that_names_it(read, content):
    found = read(content)
    assert found.failed
    assert "a.pdf is a PDF that gives no text" in found.content
    assert "Traceback" not in found.content


def test_a_page_without_text_is_said_to_have_none(read):
    assert read(pdf_of(b"0 0 100 100 re f")).content.endswith(
        "[There is no text on these pages; they may be pictures.]"
    )


def test_long_pages_are_cut(read):
    found = read(pdf_of(*(says(b"y" * 70_000) for _ in range(3))))
    assert len(found.content) < 101_000
    assert "Page 2 is cut" in found.content


@pytest.mark.slow
def test_a_bomb_costs_no_more_than_its_limits(read):
    bomb = zlib.compress(b"\0" * (300 << 20), 9)
    found = read(pdf_of(says(b"first"), stream(bomb, b"/Filter /FlateDecode ")))
    assert "[page 1 of 2]\nfirst" in found.content
    assert "Page 2 could not be read" in found.content


def test_a_file_that_takes_too_long_is_ended_and_what_was_read_is_shown(read, monkeypatch):
    monkeypatch.setattr(pdf, "READ_S", 1.0)
    body = b"BT /F1 12 Tf (z) Tj ET\n"
    found = read(pdf_of(says(b"first"), body * 400_000, says(b"third")))
    assert "[page 1 of 3]\nfirst" in found.content
    assert "Page 2 could not be read: it took too long." in found.content


def test_a_missing_library_and_a_file_that_is_too_large_are_told(read, monkeypatch):
    monkeypatch.setattr(pdf, "MAX_PDF_BYTES", 100)
    assert "up to 100 can be read" in read(pdf_of(says(b"x"))).content
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    assert "pip install 'lastcall[pdf]'" in read(pdf_of(says(b"x"))).content
