"""Parquet as output: made as a whole from the records, never appended to.

A Parquet file can be neither appended to nor cut at a torn end, so the checkpoint is a file of records beside it,
`OUTPUT.records.jsonl`; the Parquet file is a view of it, put in place whole whenever the command ends.

Must not go in here: reading Parquet (`batches.parquet_rows`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import msgspec

from lastcall.batches.parquet_rows import load_pyarrow
from lastcall.batches.stored import words_of
from lastcall.errors import BadConfig, JournalError

_AT_ONCE: Final = 1000
_TEXTS: Final = ("key", "outcome", "reason", "output", "attempts", "warnings", "model")
_JSON: Final = frozenset({"output", "attempts", "warnings"})
_TOKENS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def checkpoint_of(output: str) -> str:
    """Where the records of a Parquet output are."""
    return f"{output}.records.jsonl"


def demand_ours(output: str) -> None:
    """Refuses a Parquet file that has no records beside it: it is somebody else's, or nobody could go on with it.

    Raises `BadConfig`, `MissingExtra` where Parquet cannot be written at all.
    """
    load_pyarrow()
    if os.path.exists(output) and not os.path.exists(checkpoint_of(output)):  # noqa: PTH110
        said = f"the output is there already, but not the records it was made from ({checkpoint_of(output)})"
        raise BadConfig(said, hint="Name another file; nothing was changed.", where=output)


def write_parquet(lines: Iterable[bytes], output: str) -> int:
    """Write the records as one Parquet file in place of what was there; how many they are.

    Values of any shape (`output`, `attempts`, `warnings`) are columns of JSON text. Raises `JournalError`, `MissingExtra`.
    """
    parquet = load_pyarrow()
    import pyarrow as pa  # noqa: PLC0415 -- an extra

    fields = [(name, pa.string()) for name in _TEXTS] + [("row", pa.int64()), ("turns", pa.int64())]
    fields += [("duration_ms", pa.int64()), ("cost_usd", pa.float64())]
    fields += [(name, pa.int64()) for name in _TOKENS]
    fields += [(name, pa.string()) for name in ("prompt_digest", "contract_digest", "asked_model")]
    schema = pa.schema(fields)
    part = f"{output}.{os.getpid()}.part"
    count = 0
    try:
        with open(part, "xb", opener=_private) as file, parquet.ParquetWriter(file, schema) as writer:
            for some in _chunks(map(_columns, lines)):
                count += len(some)
                writer.write_table(pa.Table.from_pylist(some, schema))
        os.replace(part, output)  # noqa: PTH105 -- names are text here
    except (OSError, pa.ArrowException) as error:
        with suppress(OSError):
            os.unlink(part)  # noqa: PTH108
        why = words_of(error) if isinstance(error, OSError) else str(error)
        hint = f"The records are safe in {checkpoint_of(output)}; run the same command again."
        raise JournalError(f"the Parquet file cannot be written: {why}", hint=hint, where=output) from error
    return count


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _chunks(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while some := list(islice(rows, _AT_ONCE)):
        yield some


def _columns(line: bytes) -> dict[str, Any]:
    record = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    found: dict[str, Any] = {}
    for name in (*_TEXTS, "row", "turns", "duration_ms", "cost_usd"):
        raw = record.get(name)
        if name in _JSON:
            found[name] = None if raw is None or bytes(raw) == b"null" else bytes(raw).decode()
        else:
            found[name] = None if raw is None else msgspec.json.decode(raw)
    usage = msgspec.json.decode(record["usage"]) if "usage" in record else {}
    made_by = msgspec.json.decode(record["made_by"])
    cost = found["cost_usd"]
    return {
        **found,
        "cost_usd": None if cost is None else float(cost),
        **{name: usage.get(name) for name in _TOKENS},
        "prompt_digest": made_by["prompt"],
        "contract_digest": made_by["contract"],
        "asked_model": made_by["model"],
    }
