"""Calls as the model made them, and objects as servers send them."""

from decimal import Decimal

import msgspec
import pytest

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments, ToolCall, Unreadable, UnreadableCause
from lastcall.wire.json import (
    LIMITS,
    CallLimits,
    clean_text,
    encode_value,
    join_surrogates,
    object_of,
    objects_of,
    raw_text,
    read_call,
    read_object,
    sendable_arguments,
    text_of,
    whole_of,
)

CALL, MESSAGE = CallId("c1"), MessageId("m1")


def read(raw: object, **limits: object) -> ToolCall:
    return read_call(CALL, MESSAGE, "StructuredOutput", raw, limits=CallLimits(**limits))  # type: ignore[arg-type]


# -- arguments ------------------------------------------------------------------------------------------------------


def test_a_readable_text_is_kept_to_the_letter() -> None:
    text = ' {"row_id":7305118826640930017, "a":1.10,"m":1e-7,"n":-0.0} '
    call = read(text)
    assert call == ToolCall(CALL, MESSAGE, "StructuredOutput", Arguments(text))


def test_a_call_says_when_its_id_was_made_here() -> None:
    assert read_call(CALL, MESSAGE, "x", "{}", made_id=True).made_id


def test_repeated_keys_are_noted_not_refused() -> None:
    call = read('{"verdict":"fail","in":{"a":1,"a":2},"verdict":"pass"}')
    assert isinstance(call.arguments, Arguments)
    assert set(call.arguments.duplicates) == {"/verdict", "/in/a"}


def test_a_string_that_spells_an_object_stays_a_string() -> None:
    call = read('"{\\"verdict\\": \\"pass\\"}"')
    assert call.arguments == Arguments('"{\\"verdict\\": \\"pass\\"}"')


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", UnreadableCause.EMPTY),
        ("  \n", UnreadableCause.EMPTY),
        ('{"notes":"half a sent', UnreadableCause.TRUNCATED),
        ('{"score": NaN}', UnreadableCause.NOT_A_NUMBER),
        ('{"score": -Infinity}', UnreadableCause.NOT_A_NUMBER),
        ('```json\n{"verdict":"pass"}\n```', UnreadableCause.FENCED),
        ('{"a":1} done', UnreadableCause.TRAILING_TEXT),
        ('{"note":"the "retry" flag"}', UnreadableCause.UNESCAPED_QUOTE),
        ('{"note":"a\nb"}', UnreadableCause.RAW_CONTROL),
        ('{"note":"C:\\dir"}', UnreadableCause.BAD_ESCAPE),
        ('{"x":' + "[" * 100_000 + "]" * 100_000 + "}", UnreadableCause.TOO_DEEP),
    ],
)
def test_what_cannot_be_read_is_kept_with_its_cause(text: str, cause: UnreadableCause) -> None:
    arguments = read(text).arguments
    assert isinstance(arguments, Unreadable)
    assert arguments.cause is cause
    assert arguments.length == len(text)
    assert text.startswith(arguments.text)
    assert arguments.message


def test_a_document_two_hundred_levels_deep_is_readable() -> None:
    assert isinstance(read('{"next":' * 201 + "1" + "}" * 201).arguments, Arguments)


def test_the_references_numbers_are_doubles() -> None:
    assert LIMITS[Profile.COMPAT].numbers == "doubles"
    assert LIMITS[Profile.NATIVE].numbers == "exact"


def test_the_place_where_reading_stopped_is_told() -> None:
    arguments = read('{"a": 1,\n "b": NaN}').arguments
    assert isinstance(arguments, Unreadable)
    assert (arguments.line, arguments.column, arguments.offset) == (2, 7, 15)


def test_an_unreadable_text_is_kept_up_to_its_budget() -> None:
    arguments = read("x" * 1000, kept_chars=10).arguments
    assert isinstance(arguments, Unreadable)
    assert (arguments.text, arguments.length) == ("x" * 10, 1000)


def test_a_number_too_large_for_a_double_is_readable_only_as_doubles() -> None:
    assert isinstance(read('{"score": 1e999}').arguments, Unreadable)
    assert isinstance(read('{"score": 1e999}', numbers="doubles").arguments, Arguments)


def test_a_value_in_the_place_of_text_is_written_exactly() -> None:
    raw = {"z": 1, "a": [Decimal("1.10"), 10**30, None, True], "t": "ä\u2028"}
    text = '{"z":1,"a":[1.10,1000000000000000000000000000000,null,true],"t":"ä\u2028"}'
    assert read(raw).arguments == Arguments(text)
    assert read([1]).arguments == Arguments("[1]")
    assert read(None).arguments == Arguments("null")


def test_halves_of_a_pair_that_came_apart_are_joined() -> None:
    assert read('{"t":"\ud83d\ude80"}').arguments == Arguments('{"t":"🚀"}')


def test_a_lone_half_becomes_the_escape_that_means_the_same() -> None:
    call = read('{"t":"x\ud83d"}')
    assert call.arguments == Arguments('{"t":"x\\ud83d"}')
    assert isinstance(call.arguments, Arguments)
    call.arguments.text.encode()


# -- text -----------------------------------------------------------------------------------------------------------


def test_text_of_a_model_can_always_be_written() -> None:
    assert clean_text("plain é") == "plain é"
    assert clean_text("\ud83d\ude80 \ud83d!") == "🚀 \ufffd!"
    assert join_surrogates("\ude80\ud83d") == "\ude80\ud83d"


# -- what goes back -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_written", [True, False])
def test_readable_objects_go_back_as_they_came(as_written: bool) -> None:
    assert sendable_arguments(read(' {"a":1.0}'), as_written=as_written) == ' {"a":1.0}'


def test_unreadable_text_goes_back_inside_the_references_object() -> None:
    # recorded: group input, raw-newline
    text = '{"severity":"high","title":"Data\nlost","count":3}'
    expected = '{"__unparsedToolInput":{"raw":"{\\"severity\\":\\"high\\",\\"title\\":\\"Data\\nlost\\",\\"count\\":3}","len":49}}'
    assert sendable_arguments(read(text), as_written=True) == expected


def test_values_that_are_no_object_go_back_wrapped_or_as_the_reference_sends_them() -> None:
    assert sendable_arguments(read("[1,2]"), as_written=True) == "[1,2]"
    assert sendable_arguments(read("[1,2]"), as_written=False) == '{"__unparsedToolInput":{"raw":"[1,2]","len":5}}'


def test_escaped_halves_of_pairs_do_not_go_back_because_services_refuse_them() -> None:
    text = '{"a":"\\ud83d\\ude80","b":"\\ud83d x","c":"\\uDE80","d":"\\\\ud800","e":"\\u00e9\\n"}'
    expected = '{"a":"\\ud83d\\ude80","b":"\\ufffd x","c":"\\ufffd","d":"\\\\ud800","e":"\\u00e9\\n"}'
    assert sendable_arguments(read(text), as_written=False) == expected
    assert sendable_arguments(read(text), as_written=True) == text


def test_values_are_encoded_exactly_whatever_they_hold() -> None:
    assert encode_value({"a": Decimal("1.10"), "b": 10**30}) == b'{"a":1.10,"b":1000000000000000000000000000000}'
    assert encode_value({"t": "\ud800"}) == b'{"t":"\\ud800"}'


# -- objects of servers ---------------------------------------------------------------------------------------------


def test_an_object_is_read_whatever_bytes_it_is_made_of() -> None:
    assert read_object(b'{"a":1}') == {"a": 1}
    assert read_object(b'\xef\xbb\xbf{"a":1}') == {"a": 1}
    assert read_object(b'{"a":"\\ud83d"}') == {"a": "\ud83d"}
    assert read_object(b'{"a":"\xed\xa0\xbd"}') == {"a": "\ud83d"}
    assert read_object(b'{"a":"\xff"}') == {"a": "\ufffd"}
    deep = read_object(b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}")
    assert deep is not None


@pytest.mark.parametrize("data", [b"", b"<html>", b"[1]", b"null", b'{"a":', b'{"a":' + b"[" * 50_000])
def test_anything_else_is_no_object(data: bytes) -> None:
    assert read_object(data) is None


def test_views_take_only_what_has_the_right_type() -> None:
    members = {"s": "x", "n": 3, "b": True, "neg": -1, "f": 1.5, "o": {"a": 1}, "l": [{"a": 1}, 2, None], "z": None}
    assert [text_of(members, key) for key in ("s", "n", "z", "none")] == ["x", "", "", ""]
    assert [whole_of(members, key) for key in ("n", "b", "neg", "f", "s", "none")] == [3, None, None, None, None, None]
    assert [object_of(members, key) for key in ("o", "l", "none")] == [{"a": 1}, {}, {}]
    assert [objects_of(members, key) for key in ("l", "o", "none")] == [[{"a": 1}], [], []]


def test_a_part_of_a_body_keeps_its_exact_text():
    part = msgspec.json.decode(b'{"a":  {"n": 1.50, "t": "\\u00e9\xc3\xa9"}}', type=dict[str, msgspec.Raw])["a"]
    assert raw_text(part) == '{"n": 1.50, "t": "\\u00e9\u00e9"}'
