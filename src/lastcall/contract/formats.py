"""The formats of the JSON Schema specification, checked by their RFCs.

Dates, times, durations (RFC 3339), UUIDs (RFC 9562), IPv4 and JSON Pointers (RFC 6901) are small enough to be here;
addresses, host names, URIs and their templates (RFC 5321, 1123, 5890, 3986, 3987, 6570) are the engine's; `regex` is
ECMA-262's. Every check is linear in the text.

Must not go in here: whether formats are asserted at all (the contract's choice).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from lastcall.contract.engine import format_check
from lastcall.contract.patterns import BadPattern, compile_pattern

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[zZ]|([+-])([0-9]{2}):([0-9]{2}))")
_DURATION_TIME = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
_DURATION = re.compile(
    "P(?:[0-9]+W"
    "|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
    f"(?:{_DURATION_TIME})?|{_DURATION_TIME})"
)
_UUID = re.compile("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!\Z)|\Z)){4}")
_POINTER = re.compile("(?:/(?:[^~/]|~[01])*)*")
_RELATIVE_POINTER = re.compile("(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~[01])*)*)")
_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MINUTES_A_DAY: Final = 24 * 60


def check_format(name: str, value: str) -> bool | None:
    """Whether a string has the format; `None` for a format that the specification does not know."""
    check = _CHECKS.get(name)
    if check is not None:
        return check(value)
    return None if name not in _ENGINE_FORMATS else _engine_check(name)(value)


def is_known_format(name: str) -> bool:
    """Whether the specification has a format of this name."""
    return name in _CHECKS or name in _ENGINE_FORMATS


def _is_date(value: str) -> bool:
    match = _DATE.fullmatch(value)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + int(leap and month == 2)


def _is_time(value: str) -> bool:
    match = _TIME.fullmatch(value)
    if match is None:
        return False
    hour, minute, second = (int(match.group(index)) for index in (1, 2, 3))
    off_hour, off_minute = int(match.group(5) or 0), int(match.group(6) or 0)
    if hour > 23 or minute > 59 or second > 60 or off_hour > 23 or off_minute > 59:
        return False
    if second < 60:
        return True
    offset = (off_hour * 60 + off_minute) * (-1 if match.group(4) == "-" else 1)
    return (hour * 60 + minute - offset) % _MINUTES_A_DAY == _MINUTES_A_DAY - 1  # leap seconds end a day in UTC


def _is_date_time(value: str) -> bool:
    return value[10:11] in ("T", "t") and _is_date(value[:10]) and _is_time(value[11:])


def _is_regex(value: str) -> bool:
    try:
        compile_pattern(value)
    except BadPattern:
        return False
    return True


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


@cache
def _engine_check(name: str) -> Callable[[str], bool]:
    return format_check(name)


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_date_time,
    "duration": _matches(_DURATION),
    "uuid": _matches(_UUID),
    "ipv4": _matches(_IPV4),
    "json-pointer": _matches(_POINTER),
    "relative-json-pointer": _matches(_RELATIVE_POINTER),
    "regex": _is_regex,
}
_ENGINE_FORMATS: Final = frozenset({
    "email", "idn-email", "hostname", "idn-hostname", "ipv6", "uri", "uri-reference", "iri", "iri-reference",
    "uri-template",
})  # fmt: skip
