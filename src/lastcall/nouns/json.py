"""The type of a JSON value as lastcall holds it, and frozen JSON text.

Numbers: integers are `int` of any size; other numbers are `Decimal` (exact) in the native profile and `float` in compat.
A frozen dataclass does not freeze the dict inside it, so values that cross the core travel as `JsonText` and are handed
out as fresh copies.

Must not go in here: reading or writing rules (`wire.json`).
"""

from __future__ import annotations

from decimal import Decimal

JsonScalar = None | bool | int | float | Decimal | str
JsonValue = JsonScalar | list["JsonValue"] | dict[str, "JsonValue"]
JsonObject = dict[str, JsonValue]
