"""One exception tree: whose fault it is, in one sentence."""

from __future__ import annotations

import inspect

import pytest

from lastcall import errors
from lastcall.errors import BadSchema, JournalError, LastcallBug, LastcallError, ProviderError, Refused, UsageError

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, LastcallError)]


def test_a_sentence_tells_where_what_and_what_to_do():
    assert str(UsageError("is wrong", hint="Mend it.", where="--flag")) == "--flag: is wrong. Mend it."
    assert str(UsageError("is wrong")) == "is wrong"
    assert UsageError("is wrong", hint="Mend it.").message == "is wrong"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_a_slug_and_says_what_it_means(kind):
    assert kind.code
    assert kind.code.islower()
    assert kind.__doc__


def test_slugs_name_one_error_each():
    codes = [kind.code for kind in KINDS]
    assert len(codes) == len(set(codes))


def test_whose_fault_it_is_is_the_type():
    assert issubclass(BadSchema, UsageError)
    assert issubclass(Refused, ProviderError)
    families = (UsageError, ProviderError, JournalError, LastcallBug)
    for kind in KINDS:
        assert sum(issubclass(kind, family) for family in families) <= 1


def test_a_provider_s_error_keeps_the_status():
    assert Refused("no", status=401).status == 401
    assert ProviderError("no").status is None
