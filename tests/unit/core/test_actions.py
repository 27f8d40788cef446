"""What the driver must do."""

from __future__ import annotations

from lastcall.core.actions import RunHooks
from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.result import Attempt, VerdictKind
from machine_tools import finish


def test_a_question_names_the_call_or_the_attempt_that_it_is_about():
    assert RunHooks(HookPoint.STOP).call_id == ""
    assert RunHooks(HookPoint.BEFORE_CALL, finish("c1")).call_id == "c1"
    assert RunHooks(HookPoint.REJECTED, attempt=Attempt(1, "c2", "m", VerdictKind.REJECTED)).call_id == "c2"
