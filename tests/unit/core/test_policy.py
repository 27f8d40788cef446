"""The two profiles, as values."""

from __future__ import annotations

import pytest

from lastcall.core.policy import Policy, compat, native
from lastcall.nouns.profile import Profile


def test_the_native_profile_holds_forces_reserves_and_guards():
    assert native() == Policy(
        profile=Profile.NATIVE, max_attempts=5, max_turns=None, max_budget_usd=None, deadline_s=None, eager=False,
        takes_cut_calls=False, holds=True, forces=True, reserves=True, declines=True, cuts_repeats=True,
        guards_degenerate=True, continues=3, max_repeats=10, compacts=True, summarizes=True, stop_blocks=5, nudges_silence=False, joins_user_text=False,
    )  # fmt: skip


def test_the_compat_profile_does_none_of_it():
    assert compat() == Policy(
        profile=Profile.COMPAT, max_attempts=5, max_turns=None, max_budget_usd=None, deadline_s=None, eager=True,
        takes_cut_calls=True, holds=False, forces=False, reserves=False, declines=False, cuts_repeats=False,
        revises=False, guards_degenerate=False, continues=3, compacts=False, stop_blocks=None, nudges_silence=True, joins_user_text=True,
        max_repeats=None, stops_at_window=False,
    )  # fmt: skip


@pytest.mark.parametrize("profile", [native, compat])
def test_single_choices_are_replaced_and_unknown_ones_refused(profile):
    assert profile(max_attempts=2).max_attempts == 2
    with pytest.raises(TypeError):
        profile(max_atempts=2)
