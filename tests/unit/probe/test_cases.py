"""Cases and suites as values."""

from __future__ import annotations

from lastcall.probe.cases import AS_IT_IS, MAY_CORRECT, Suite, vary
from probe_tools import case


def test_a_case_says_whether_the_model_may_correct():
    strict = vary("enum", "{}", "Do it.", conflicts=True, may_correct=False)
    lax = vary("enum", "{}", "Do it.", conflicts=False, may_correct=True)
    assert (strict.name, strict.prompt) == ("enum/conflict/as-it-is", f"Do it.\n\n{AS_IT_IS}")
    assert (lax.name, lax.prompt) == ("enum/fits/may-correct", f"Do it.\n\n{MAY_CORRECT}")


def test_suites_that_ask_the_same_have_one_digest_and_others_another():
    one = Suite(name="a", cases=(case(),))
    assert Suite(name="b", cases=(case(),), trials=9).digest == one.digest
    assert Suite(name="a", cases=(case(prompt="Say the level!"),)).digest != one.digest


def test_families_stand_in_the_order_of_their_first_case():
    cases = (case("a", family="type"), case("b", family="enum"), case("c", family="type"))
    assert Suite(name="s", cases=cases).families == ("type", "enum")
