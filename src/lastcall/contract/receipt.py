"""Digests that tie an envelope to the contract, the object and the journal it came from.

A receipt is no signature: whoever can rewrite the envelope can rewrite it too. It shows that nothing was mixed up or cut
on the way, and with the journal that the object is the one that was accepted.

Must not go in here: files, envelopes (`wire.envelope`), the checking (`runtime.verifying`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from lastcall.contract import Contract
from lastcall.contract.json_text import JsonFault, read_json, write_json
from lastcall.nouns.result import JournalSeal, Receipt

MOST_BYTES = 1 << 28


def receipt_of(
    contract: Contract | None, object_text: str | None, journal: JournalSeal | None, version: str
) -> Receipt:
    """The receipt of a run."""
    return Receipt(
        version=version,
        contract=contract.digest if contract is not None else "",
        rules=rules_digest(contract.beside) if contract is not None else "",
        object=object_digest(object_text) if object_text is not None else "",
        journal=journal,
    )


def object_digest(text: str) -> str:
    """SHA-256 of an object as lastcall writes it: white space and the spelling of escapes do not count.

    `""` for what cannot be read.
    """
    read = read_json(text, numbers="exact", max_bytes=MOST_BYTES)
    if isinstance(read, JsonFault):
        return ""
    return digest(write_json(read.value, numbers="exact").encode("utf-8", "surrogatepass"))


def rules_digest(names: Iterable[str]) -> str:
    """SHA-256 of the names of rules and checks in their order, `""` where there are none."""
    listed = list(names)
    return digest(write_json([*listed], numbers="exact").encode("utf-8", "surrogatepass")) if listed else ""


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
