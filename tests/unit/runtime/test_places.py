"""Where things are kept, by the XDG base directory specification on Linux."""

from __future__ import annotations

import sys

import platformdirs
import pytest

from lastcall.runtime.places import cache_dir, state_dir


def test_lastcall_s_own_variables_come_first():
    environment = {"LASTCALL_STATE_DIR": "s", "LASTCALL_CACHE_DIR": "c", "XDG_STATE_HOME": "/x", "HOME": "/h"}
    assert (state_dir(environment), cache_dir(environment)) == ("s", "c")


@pytest.mark.skipif(sys.platform != "linux", reason="the specification is for Linux")
@pytest.mark.parametrize(
    ("environment", "state", "cache"),
    [
        ({"HOME": "/home/u"}, "/home/u/.local/state/lastcall", "/home/u/.cache/lastcall"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}, "/s/lastcall", "/c/lastcall"),
        (
            {"HOME": "/h", "XDG_STATE_HOME": "rel", "XDG_CACHE_HOME": ""},
            "/h/.local/state/lastcall",
            "/h/.cache/lastcall",
        ),
    ],
)
def test_the_specification_is_followed(environment, state, cache):
    assert (state_dir(environment), cache_dir(environment)) == (state, cache)


def test_the_library_says_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    environment = {"HOME": str(tmp_path)}
    assert state_dir(environment) == platformdirs.user_state_dir("lastcall", appauthor=False)
    assert cache_dir(environment) == platformdirs.user_cache_dir("lastcall", appauthor=False)


def test_other_systems_ask_the_library(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert state_dir({}) == platformdirs.user_state_dir("lastcall", appauthor=False)
    assert cache_dir({}) == platformdirs.user_cache_dir("lastcall", appauthor=False)
