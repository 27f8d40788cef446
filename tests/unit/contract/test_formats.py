"""Formats, by the examples and the rules of their RFCs."""

from __future__ import annotations

import time

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.contract.formats import check_format, is_known_format

YES: dict[str, list[str]] = {
    # RFC 3339, section 5.8 and the grammar of 5.6
    "date-time": ["1985-04-12T23:20:50.52Z", "1996-12-19T16:39:57-08:00", "1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00",
                  "1937-01-01T12:00:27.87+00:20", "1963-06-19t08:30:06.283185z", "0000-01-01T00:00:00Z"],
    "date": ["1963-06-19", "2020-02-29", "2000-02-29", "2020-12-31"],
    "time": ["08:30:06Z", "23:59:60Z", "23:59:60+00:00", "01:29:60+01:30", "15:59:60.123-08:00", "12:00:00.1234567890123Z",
             "00:00:00+23:59"],
    # RFC 3339, appendix A
    "duration": ["P4DT12H30M5S", "P4Y", "PT0S", "P0D", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W", "P1Y1M1D", "PT1H1M1S"],
    # RFC 5321 and 5322
    "email": ["joe.bloggs@example.com", "te~st@example.com", "joe@[127.0.0.1]", "joe@[IPv6:::1]", '"joe bloggs"@example.com'],
    "idn-email": ["실례@실례.테스트", "joe.bloggs@example.com"],
    # RFC 1123, 5890-5892
    "hostname": ["www.example.com", "xn--4gbwdl.xn--wgbh1c", "h0stn4me", "1host", "a" * 63 + ".com", "host-name"],
    "idn-hostname": ["실례.테스트", "example.com", "l·l"],
    # RFC 2673 and 4291
    "ipv4": ["192.168.0.1", "0.0.0.0", "255.255.255.255"],
    "ipv6": ["::1", "::", "2001:db8::8a2e:370:7334", "::192.168.0.1", "1:2:3:4:5:6:7:8"],
    # RFC 3986, section 1.1.2
    "uri": ["ftp://ftp.is.co.za/rfc/rfc1808.txt", "http://www.ietf.org/rfc/rfc2396.txt", "ldap://[2001:db8::7]/c=GB?objectClass?one",
            "mailto:John.Doe@example.com", "news:comp.infosystems.www.servers.unix", "tel:+1-816-555-1212",
            "telnet://192.0.2.16:80/", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2"],
    "uri-reference": ["/abc", "#frag", "", "abc", "//foo.bar/?baz=qux#quux"],
    "iri": ["http://ƒøø.ßår/?∂éœ=πîx#πîüx"],
    "iri-reference": ["âππ", "#ƒrägmênt"],
    # RFC 9562
    "uuid": ["2EB8AA08-AA98-11EA-B4AA-73B441D16380", "00000000-0000-0000-0000-000000000000"],
    # RFC 6901, section 5; relative: draft-handrews-relative-json-pointer
    "json-pointer": ["", "/foo", "/foo/0", "/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", '/k"l', "/ ", "/m~0n", "/é\n"],
    "relative-json-pointer": ["0", "1/0", "2/highly/nested/objects", "0#", "1#", "120/foo"],
    "regex": ["^a$", "([abc])+\\s+$", "(?<y>x)\\k<y>"],
    # RFC 6570, section 1.2
    "uri-template": ["http://example.com/~{username}/", "{+path,x}/here", "X{#hello}", "map?{x,y}", "{.who}", "{/list*}", "{;x:3}",
                     "{?query}", "plain"],
}  # fmt: skip

NO: dict[str, list[str]] = {
    "date-time": ["1990-02-31T15:59:59Z", "1998-12-31T23:58:60Z", "1998-12-31T22:59:60Z", "1990-12-31T15:59:59-24:00",
                  "06/19/1963 08:30:06 PST", "1963-06-19 08:30:06Z", "1963-06-19T08:30:06", "2013-350T01:01:01",
                  "1985-04-12T23:20:50.52Z\n", "1963-06-1৪T00:00:00Z", ""],
    "date": ["2021-02-29", "1900-02-29", "2020-13-01", "2020-00-10", "2020-04-31", "1963-6-19", "2020-01-01Z", "06/19/1963",
             "২০২০-০১-০১", "2020-01-00"],
    "time": ["24:00:00Z", "00:60:00Z", "00:00:61Z", "22:59:60Z", "08:30:06", "08:30:06 PST", "01:02:03+24:00", "01:02:03+00:60",
             "12:00:00.Z", "8:30:06Z", "23:59:60+01:00"],
    "duration": ["PT1D", "P", "P1YT", "PT", "P2D1Y", "P1D2H", "P1Y2W", "P1", "4DT12H30M5S", "P1Y2D", "PT1H1S", "P২Y", "P1D\n"],
    "email": ["2962", ".test@example.com", "test.@example.com", "te..st@example.com", "joe bloggs@example.com", "a@",
              "joe@[127.0.0.300]", "a@-b.c"],
    "idn-email": ["2962", "@example.com"],
    "hostname": ["-a-host-name", "not_a_valid_host_name", "a" * 64 + ".com", "", ".", "host-", "host name", "example.com\n"],
    "idn-hostname": ["〮실례.테스트", "a·l", "-> $1.00 <--", ""],
    "ipv4": ["127.0.0.0.1", "256.256.256.256", "127.0", "087.10.0.1", "127.0.0.1 ", "1২7.0.0.1", "127.0.0.1.", "1.2.3.", "0x7f.1.1.1"],
    "ipv6": ["12345::", "::abcef", "1:1:1:1:1:1:1:1:1", "::laptop", "fe80::a%eth1", "1::2::3", ":2:3:4:5:6:7:8", "127.0.0.1"],
    "uri": ["//foo.bar/", "/abc", "\\\\WINDOWS\\fileshare", "abc", "http:// shouldfail.com", ":// should fail", "http://x/<>",
            "bar,baz:foo", "http://[::1", "http://x/\ud800"],
    "uri-reference": ["\\\\WINDOWS\\fileshare", "#frag\\ment", "a b"],
    "iri": ["/abc", "\\\\W", "http://2001:0db8:85a3:0000:0000:8a2e:0370:7334"],
    "iri-reference": ["\\\\WINDOWS", "#ƒräg\\mênt"],
    "uuid": ["2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4ga-73b441d16380",
             "2eb8aa08-aa98-11ea-b4aa73b4-41d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"],
    "json-pointer": ["/foo/bar~", "#", "#/", "a", "/~0~", "/~-1", "0", "/foo~2"],
    "relative-json-pointer": ["/foo/bar", "-1/foo", "0##", "01/a", "01#", "", "+1/foo", "1/~2"],
    "regex": ["^(abc]", "(?i)a", "\\_"],
    "uri-template": ["http://example.com/dictionary/{term:1}/{term", "{a b}", "{}"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in YES.items() for value in values])
def test_what_has_the_format(name: str, value: str) -> None:
    assert check_format(name, value) is True


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in NO.items() for value in values])
def test_what_has_not(name: str, value: str) -> None:
    assert check_format(name, value) is False


def test_every_format_of_the_specification_is_known_and_no_other() -> None:
    assert all(is_known_format(name) for name in YES)
    assert len(YES) == 19
    assert check_format("color", "red") is None
    assert check_format("no-such-format", "") is None
    assert not is_known_format("zip")


@pytest.mark.parametrize("name", sorted(YES))
def test_no_value_takes_long(name: str) -> None:
    start = time.process_time()
    for unit in ("a", "1", ".", "/", "@", "%", "~", "{", "[", ":", "P1", "é", "xn--", "a.", "-", '"', "(", "1:"):
        assert check_format(name, unit * (100_000 // len(unit))) in (True, False)
    assert time.process_time() - start < 8


OURS = ["date", "time", "date-time", "duration", "uuid", "ipv4", "json-pointer", "relative-json-pointer"]
CHARS = st.sampled_from(list("0123456789TZtz:+-.PYMDWHS/~#ab\n ١"))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_small_slips_are_judged_as_another_checker_judges_them(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(OURS))
    text = list(data.draw(st.sampled_from(YES[name] + NO[name])))
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 1))] = data.draw(st.lists(CHARS, max_size=1))
    value = "".join(text)
    other = jsonschema_rs.validator_for({"format": name}, offline=True, validate_formats=True)
    assert check_format(name, value) is other.is_valid(value)
