"""`Read`, as the model meets it."""

from __future__ import annotations

import base64
import json
import os
from decimal import Decimal

import anyio
import pytest

from lastcall.nouns.ids import CallId
from lastcall.tools import Output, PathSubject
from lastcall.tools.files import MAX_IMAGE_BYTES, ReadFile, image_type
from lastcall.tools.permissions import Rule

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


@pytest.fixture
def read(context, wait):
    def run(path, context_=None, **arguments):
        return wait(ReadFile().run, {"file_path": str(path), **arguments}, context_ or context())

    return run


# -- the reference's recorded answers (conformance: parallel/good-read, coercion/other-tool, cap/other-tools-do-not-count)


def test_a_text_file_comes_with_numbered_lines_as_recorded(read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("hello\n")
    assert read(path) == Output(
        "1\thello\n2\t",
        display={
            "type": "text",
            "file": {"filePath": str(path), "content": "hello\n", "numLines": 2, "startLine": 1, "totalLines": 2},
        },
        capped=True,
    )


def test_a_limit_shows_so_many_lines_as_recorded(read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("hello\nthere\n")
    found = read(path, limit=1)
    assert found.content == "1\thello"
    assert found.display["file"] == {
        "filePath": str(path),
        "content": "hello",
        "numLines": 1,
        "startLine": 1,
        "totalLines": 3,
    }


def test_an_unchanged_file_is_not_sent_twice_as_recorded(read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("hello\n")
    read(path)
    expected = Output(
        "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
        display={"type": "file_unchanged", "file": {"filePath": str(path)}},
    )
    assert read(path) == read(path) == expected


def test_a_missing_file_is_told_as_recorded(read, context, compat, tmp_path):
    (tmp_path / "nine.txt").write_text("similar names are told natively only")
    text = f"File does not exist. Note: your current working directory is {os.path.realpath(tmp_path)}."
    assert read(tmp_path / "none.txt", context(profile=compat)) == Output(text, failed=True, display=f"Error: {text}")


# -- what the memory of read files promises


def test_a_changed_file_is_sent_again(read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    read(path)
    path.write_text("three")
    assert read(path).content == "1\tthree"


def test_another_range_is_sent(read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree")
    read(path)
    assert read(path, offset=2, limit=1).content == "2\ttwo"
    assert read(path, offset=2, limit=1).content.startswith("Wasted call")
    assert read(path, offset=0).content.startswith("Wasted call"), "line 0 and line 1 are the same beginning"


def test_a_link_to_a_file_that_was_read_is_the_same_file(read, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").symlink_to("a.txt")
    read(tmp_path / "a.txt")
    assert read(tmp_path / "b.txt").content.startswith("Wasted call")


def test_a_retracted_answer_is_not_referred_to(read, context, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    inside = context(call_id=CallId("gone"))
    read("a.txt", inside)
    inside.seen.forget_call(CallId("other"))
    assert read("a.txt", inside).content.startswith("Wasted call")
    inside.seen.forget_call(CallId("gone"))
    assert read("a.txt", inside).content == "1\tone"
    inside.seen.forget_file(os.path.realpath(tmp_path / "a.txt"))
    assert read("a.txt", inside).content == "1\tone"
    inside.seen.clear()
    assert read("a.txt", inside).content == "1\tone"


def test_a_failed_read_is_not_remembered(read, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\0")
    assert read("a.bin").failed
    assert read("a.bin").failed


# -- notes


def test_a_long_file_says_where_to_go_on(read, tmp_path):
    (tmp_path / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 10_001)))
    found = read("long.txt")
    lines = found.content.split("\n")
    assert lines[0] == "1\tline 1"
    assert lines[1_999] == "2000\tline 2000"
    assert lines[2_000:] == ["", "[Lines 1 to 2,000 of 10,001. Go on with offset 2001.]"]
    assert read("long.txt", offset=10_000, limit=5).content == "10000\tline 10000\n10001\t"


def test_encodings_are_told(read, tmp_path):
    (tmp_path / "old.txt").write_bytes(b"caf\xe9")
    assert read("old.txt").content == "1\tcafé\n\n[The file is not valid UTF-8; it is shown as Latin-1.]"


def test_an_empty_file_says_so(read, tmp_path):
    (tmp_path / "empty").touch()
    found = read("empty")
    assert found.content == "The file exists and is empty."
    assert not found.failed
    assert found.display["file"]["content"] == ""


def test_an_offset_after_the_end_says_how_long_the_file_is(read, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo")
    assert read("a.txt", offset=9).content == "The file has only 2 lines; there is no line 9."


@pytest.mark.parametrize("size", [1 << 24, pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_a_huge_file_is_read_in_ranges(read, tmp_path, size):
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"first " * 2_000 + b"\n")
        file.seek(size)
        file.write(b"\nlast")
    with (tmp_path / "huge").open("rb+") as file:
        file.seek(1 << 20)
        file.write(b"\nmiddle\n")
    assert read("huge", offset=3, limit=1).content == "3\tmiddle"


def test_numbers_written_as_decimals_are_taken(read, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")
    assert read("a.txt", offset=Decimal("2.0"), limit=1.0).content == "2\ttwo"


# -- refusals


def test_similar_names_are_suggested_natively(read, tmp_path):
    for name in ["Report.md", "report-2024.md", "README.txt", "zebra"]:
        (tmp_path / name).touch()
    here = os.path.realpath(tmp_path)
    assert read("report.md").content.endswith(f"Did you mean {here}/Report.md or {here}/report-2024.md?")
    assert read("README.md").content.endswith(f"Did you mean {here}/README.txt?")
    assert read("quite-different").content.endswith(f"directory is {here}.")


def test_the_end_of_a_wrong_absolute_path_is_found_in_the_workspace(read, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("pass")
    found = read("/app/src/a.py")
    assert found.failed
    assert found.content.endswith(f"Did you mean {os.path.realpath(tmp_path)}/src/a.py?")


def test_a_path_outside_is_refused_without_a_suggestion(read):
    found = read("/etc/passwd")
    assert found.failed
    assert found.content.startswith("/etc/passwd is outside of the workspace.")
    assert "Did you mean" not in found.content
    assert found.display == f"Error: {found.content}"


def test_a_fifo_does_not_block(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = read("pipe")
    assert found.failed
    assert "FIFO" in found.content


def test_a_directory_and_a_binary_file_are_told_apart(read, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.bin").write_bytes(b"a\0b")
    assert "is a directory" in read("sub").content
    assert (
        read("b.bin").content
        == f"{os.path.realpath(tmp_path)}/b.bin cannot be shown as text: it is a binary file of 3 bytes."
    )


def test_a_deny_rule_holds_whatever_link_leads_to_the_file(read, context, tmp_path):
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "harmless.txt").symlink_to(".env")
    found = read("harmless.txt", context(deny=[Rule("Read", ".env")]))
    assert found.failed
    assert "KEY" not in found.content


# -- images


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (PNG[:16], "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"GIF87a", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", ""),
        (b"", ""),
        (b"\x89PN", ""),
    ],
)
def test_images_are_known_by_their_first_bytes(head, kind):
    assert image_type(head) == kind


def test_an_image_goes_to_models_that_take_images(read, context, tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    found = read("a.png", context(images=True))
    assert found.blocks
    assert json.loads(found.content) == [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
        }
    ]
    assert found.display["file"]["originalSize"] == len(PNG)


def test_an_image_is_refused_for_models_that_do_not(read, tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    found = read("a.png")
    assert found.failed
    assert "this model does not take images" in found.content


def test_an_image_that_services_refuse_is_not_sent(read, context, tmp_path):
    (tmp_path / "big.png").write_bytes(PNG + b"\0" * MAX_IMAGE_BYTES)
    found = read("big.png", context(images=True))
    assert found.failed
    assert f"{MAX_IMAGE_BYTES:,}" in found.content


# -- behaviour in the event loop


def test_a_cancelled_read_of_a_huge_file_stops(context, tmp_path):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
        file.seek(0)
        file.write(b"x" * 10_000 + b"\n")

    async def main():
        with anyio.move_on_after(0.2) as scope:
            await ReadFile().run({"file_path": "huge", "offset": 3}, context())
        return scope.cancelled_caught

    assert anyio.run(main)


def test_the_definition_tells_the_model_what_the_tool_takes():
    definition = ReadFile().definition
    assert definition.name == "Read"
    assert definition.read_only
    assert definition.input_schema["required"] == ["file_path"]
    assert set(definition.input_schema["properties"]) == {"file_path", "offset", "limit", "pages"}
    assert ReadFile().subject({"file_path": "x"}) == PathSubject("x")
