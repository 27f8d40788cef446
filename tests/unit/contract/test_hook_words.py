"""What the model reads of hooks and interrupts. The compat sentences are the recorded ones."""

from __future__ import annotations

from lastcall.contract import hook_words as words
from lastcall.nouns.profile import Profile


def test_an_interrupt_says_whether_calls_were_running():
    assert words.interrupted(tools=False) == "[Request interrupted by user]"
    assert words.interrupted(tools=True) == "[Request interrupted by user for tool use]"


def test_a_stopped_call_is_told_as_rejected_in_compat_and_as_unknown_natively():
    told, shown = words.cancelled_call(Profile.COMPAT)
    assert told.startswith("The user doesn't want to proceed with this tool use.")
    assert shown == "User rejected tool use"
    told, shown = words.cancelled_call(Profile.NATIVE)
    assert "unknown whether it took effect" in told
    assert shown == f"Error: {told}"


def test_feedback_of_a_hook_is_passed_on():
    assert words.stop_feedback("look again", Profile.COMPAT) == "Stop hook feedback:\nlook again"
    assert words.stop_feedback("look again", Profile.NATIVE).endswith("look again")


def test_a_denial_is_the_hooks_reason():
    assert words.denied_by_hook("not yet", Profile.COMPAT) == "not yet"
    assert words.denied_by_hook("not yet", Profile.NATIVE).endswith("not yet")


def test_a_stop_hook_that_never_lets_go_is_named_with_its_words():
    assert words.stop_bound(3, "look again") == "a Stop hook kept the run from ending 3 times: look again"
