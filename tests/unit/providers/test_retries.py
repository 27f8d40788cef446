"""When a request is sent again, and after how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Failed, FailureKind
from lastcall.providers.retries import (
    LONGEST_DELAY_S,
    RETRY_AFTER_CAP_S,
    RULES,
    SPREAD,
    Course,
    Lost,
    RetryRules,
    read_retry_after,
)
from lastcall.wire.reply import NO_REPLY

NOW = 1_772_366_400.0  # 2026-03-01T12:00:00Z


def lost(kind: FailureKind = FailureKind.SERVER, status: int | None = 500, **choices: object) -> Lost:
    return Lost(Failed(kind, "d", status), **choices)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        (" 0.5 ", 0.5),
        ("0", 0.0),
        ("Sun, 01 Mar 2026 12:00:03 GMT", 3.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2026 13:00:03 +0100", 3.0),
        ("9999999999", 9999999999.0),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("Sun, 99 Mar 2026 12:00:03 GMT", None),
        ("Mon, 01 Jan 99999 00:00:00 GMT", None),
    ],
)
def test_a_retry_after_is_seconds_or_a_date_or_nothing(text: str, seconds: float | None) -> None:
    assert read_retry_after(text, now=NOW) == seconds


@given(st.text())
def test_no_retry_after_can_raise(text: str) -> None:
    seconds = read_retry_after(text, now=NOW)
    assert seconds is None or seconds >= 0


def delays(count: int, chance: float = 0.0, **choices: object) -> list[float]:
    course = Course(RULES[Profile.NATIVE], count)
    result = []
    while course.may_retry(lost(**choices)):  # type: ignore[arg-type]
        result.append(course.delay_s(lost(**choices), now=NOW, chance=chance))  # type: ignore[arg-type]
    return result


def test_waits_double_up_to_a_longest_one_and_are_spread_by_chance() -> None:
    assert delays(9) == [0.5, 1, 2, 4, 8, 16, 32, 32, 32]
    assert delays(2, chance=1.0) == [0.5 * (1 + SPREAD), 1.0 * (1 + SPREAD)]
    assert max(delays(200)) == LONGEST_DELAY_S


def test_what_the_service_asks_for_is_waited_for_to_the_letter_up_to_a_cap() -> None:
    assert delays(2, chance=1.0, retry_after="7") == [7.0, 7.0]
    assert delays(1, retry_after="9999999999") == [RETRY_AFTER_CAP_S]


def test_no_retries_means_none() -> None:
    assert delays(0) == []


@pytest.mark.parametrize(
    ("what", "native", "compat"),
    [
        (lost(FailureKind.OVERLOADED, 529), True, True),
        (lost(FailureKind.RATE_LIMIT, 429), True, True),
        (lost(FailureKind.NETWORK, None), True, True),
        (lost(FailureKind.TIMEOUT, None), True, True),
        (lost(FailureKind.BROKEN_STREAM, None, begun=True), True, True),
        (lost(FailureKind.BROKEN_STREAM, None, begun=True, blocks=1), True, False),
        (lost(FailureKind.OVERLOADED, None, begun=True, blocks=1), True, False),
        (lost(FailureKind.AUTHENTICATION, 401), False, True),
        (lost(FailureKind.AUTHENTICATION, 403), False, False),
        (lost(FailureKind.BAD_REQUEST, 400), False, False),
        (lost(FailureKind.BILLING, 429), False, False),
        (lost(FailureKind.TOO_LONG, 413), False, False),
        (lost(FailureKind.BAD_REQUEST, 400, should_retry=True), True, True),
        (lost(FailureKind.SERVER, 500, should_retry=False), False, False),
    ],
)  # fmt: skip
def test_the_profiles_retry_what_they_should(what: Lost, native: bool, compat: bool) -> None:
    assert Course(RULES[Profile.NATIVE], 3).may_retry(what) is native
    assert Course(RULES[Profile.COMPAT], 3).may_retry(what) is compat


def test_an_overloaded_model_gets_few_retries_in_a_row_where_another_stands_ready() -> None:
    course = Course(RetryRules(overloads=2), 10)
    overload = lost(FailureKind.OVERLOADED, 529)
    assert [course.may_retry(overload) for _ in range(3)] == [True, True, False]
    mixed = Course(RetryRules(overloads=2), 10)
    sequence = [overload, overload, lost(), overload, overload, overload]
    assert [mixed.may_retry(what) for what in sequence] == [True, True, True, True, True, False]


def test_a_stream_without_a_reply_is_asked_for_without_streaming() -> None:
    nothing = Lost(Failed(FailureKind.BROKEN_STREAM, "d", None, NO_REPLY))
    missing = lost(FailureKind.NOT_FOUND, 404)
    native, compat = Course(RULES[Profile.NATIVE], 3), Course(RULES[Profile.COMPAT], 3)
    assert native.may_go_plain(nothing)
    assert compat.may_go_plain(nothing)
    assert not native.may_go_plain(missing)
    assert compat.may_go_plain(missing)
    assert not compat.may_go_plain(lost())
