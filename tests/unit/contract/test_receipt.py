"""Digests of what a result came from. The expected values are those of `sha256sum`."""

import hashlib

from lastcall.contract import compile_contract
from lastcall.contract.cel import cel_rule
from lastcall.contract.parse import parse_schema
from lastcall.contract.receipt import digest, object_digest, receipt_of, rules_digest
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import JournalSeal, Receipt

SCHEMA = '{"type":"object"}'


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_bytes():
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_white_space_and_escapes_do_not_count_digits_do():
    assert (
        object_digest('{ "a" : 1.50, "b": "\\u00e4" }')
        == object_digest('{"a":1.50,"b":"ä"}')
        == sha('{"a":1.50,"b":"ä"}')
    )
    assert object_digest('{"a":1.5}') != object_digest('{"a":1.50}')
    assert object_digest("{") == ""


def test_rules_by_their_names_in_order():
    assert rules_digest([]) == ""
    assert rules_digest(["a", "b"]) == sha('["a","b"]')


def test_the_receipt_of_a_run():
    contract = compile_contract(parse_schema(SCHEMA, profile=Profile.NATIVE), rules=[cel_rule("true")])
    seal = JournalSeal("00", 3)
    assert receipt_of(contract, '{"a":1}', seal, "9.9") == Receipt(
        "9.9", sha(SCHEMA), sha('["true"]'), sha('{"a":1}'), seal
    )
    assert receipt_of(None, None, None, "9.9") == Receipt("9.9", "", "", "", None)
