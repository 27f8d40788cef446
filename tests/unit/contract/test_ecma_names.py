"""Names of Unicode properties: every name of the engine's that ECMA-262 allows, and no other."""

from __future__ import annotations

import jsonschema_rs
import pytest

from lastcall.contract.ecma_names import BINARY, GENERAL

NOT_THE_ENGINES = {"Surrogate", "Cs", "Changes_When_NFKC_Casefolded", "CWKCF"}
"""Half pairs are ours (`ecma`); the fourth property is refused as not supported."""


@pytest.mark.parametrize("name", sorted((GENERAL | BINARY) - NOT_THE_ENGINES))
def test_the_engine_knows_every_name(name: str) -> None:
    jsonschema_rs.validator_for({"pattern": f"\\p{{{name}}}"}, offline=True)


def test_long_and_short_names_are_both_there() -> None:
    assert {"Uppercase_Letter", "Lu", "digit", "Nd", "punct"} <= GENERAL
    assert {"ASCII_Hex_Digit", "AHex", "Emoji", "space", "White_Space"} <= BINARY
    assert not {"Greek", "greek", "IsL", "L&", "Other_Alphabetic", "RGI_Emoji"} & (GENERAL | BINARY)
