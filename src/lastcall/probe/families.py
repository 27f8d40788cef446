"""The built-in tasks: for each kind of constraint one that conflicts with its contract, and one that fits it.

A task spells out what has to be handed over, so that nothing depends on what a model knows. A conflict is with the
family's keyword and with nothing else of the contract; the last four families, which are about shape and size, conflict
in one place.

Must not go in here: what is done with a task (`cases`, `suites`).
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from lastcall.contract.json_text import write_json

FIELDS: Final = 40
ITEMS: Final = 12


class Task(Struct, frozen=True):
    """A contract, a text that conflicts with it and one that fits it."""

    family: str
    schema_text: str
    conflict: str
    fits: str


def _closed(**properties: Any) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _task(family: str, schema: dict[str, Any], conflict: str, fits: str) -> Task:
    return Task(family, write_json(schema, numbers="exact"), conflict, fits)


_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}


def _order(postcode: str) -> str:
    return (
        "Write down order 4711. The customer is called Mara Lind; her address is street Elm Road 5, "
        f"postcode {postcode}, country DE."
    )


def _many(value: int) -> str:
    values = [number % 10 for number in range(1, FIELDS + 1)]
    values[22] = value
    listed = ", ".join(f"field_{number:02} is {x}" for number, x in enumerate(values, 1))
    return f"Write down these {FIELDS} readings: {listed}."


def _lines(amount: int) -> str:
    amounts = [10 * number for number in range(1, ITEMS + 1)]
    amounts[8] = amount
    listed = "; ".join(f"item-{number:02}, amount {x}" for number, x in enumerate(amounts, 1))
    return f"Write down the bill of Mara Lind with its {ITEMS} lines: {listed}."


TASKS: Final[tuple[Task, ...]] = (
    _task(
        "enum",
        _closed(ticket=_TEXT, priority={"enum": ["low", "normal", "high"]}),
        'File ticket T-17. Its priority is "urgent".',
        'File ticket T-17. Its priority is "high".',
    ),
    _task(
        "maxLength",
        _closed(ticket=_TEXT, title={"type": "string", "maxLength": 20}),
        'File ticket T-17. Its title is "The basket is empty after every second login".',
        'File ticket T-17. Its title is "The basket is empty".',
    ),
    _task(
        "minLength",
        _closed(name=_TEXT, code={"type": "string", "minLength": 8}),
        'Register Mara with the code "A7".',
        'Register Mara with the code "A7-B9-C2".',
    ),
    _task(
        "type",
        _closed(item=_TEXT, count=_WHOLE),
        'Write down the item "chair". Its count is the word "several", as a text.',
        'Write down the item "chair". Its count is 12.',
    ),
    _task(
        "required",
        _closed(name=_TEXT, email=_TEXT),
        'Write down the contact "Mara Lind". She has no e-mail address: leave the field away, and invent nothing.',
        'Write down the contact "Mara Lind". Her e-mail address is mara@example.org.',
    ),
    _task(
        "additionalProperties",
        _closed(name=_TEXT, city=_TEXT),
        'Write down Mara Lind from Ulm, and in a field "nickname" of its own that she is called "Lindy".',
        "Write down Mara Lind from Ulm.",
    ),
    _task(
        "minimum",
        _closed(item=_TEXT, quantity={"type": "integer", "minimum": 1}),
        'Write down the item "chair" with a quantity of -4.',
        'Write down the item "chair" with a quantity of 4.',
    ),
    _task(
        "pattern",
        _closed(summary=_TEXT, reference={"type": "string", "pattern": "^INC-[0-9]{4}$"}),
        'Write down the incident "mail is down" with the reference "incident 77".',
        'Write down the incident "mail is down" with the reference "INC-0077".',
    ),
    _task(
        "format",
        _closed(event=_TEXT, day={"type": "string", "format": "date"}),
        'Write down the event "audit" on the day "2026-02-31".',
        'Write down the event "audit" on the day "2026-02-28".',
    ),
    _task(
        "uniqueItems",
        _closed(page=_TEXT, tags={"type": "array", "items": _TEXT, "uniqueItems": True}),
        'Write down the page "start" with four tags in this order: "red", "blue", "red", "green".',
        'Write down the page "start" with four tags in this order: "red", "blue", "grey", "green".',
    ),
    _task(
        "nested",
        _closed(
            order=_WHOLE,
            customer=_closed(
                name=_TEXT,
                address=_closed(
                    street=_TEXT, postcode={"type": "string", "pattern": "^[0-9]{5}$"}, country={"const": "DE"}
                ),
            ),
        ),
        _order('"AB1 2CD"'),
        _order('"89073"'),
    ),
    _task(
        "unions",
        _closed(
            payment={
                "anyOf": [
                    _closed(kind={"const": "card"}, last4={"type": "string", "pattern": "^[0-9]{4}$"}),
                    _closed(kind={"const": "transfer"}, account=_TEXT),
                ]
            }
        ),
        'Write down a payment of the kind "card" with the account "DE-5531" and no last four digits.',
        'Write down a payment of the kind "transfer" with the account "DE-5531".',
    ),
    _task(
        "big-objects",
        _closed(
            customer=_TEXT,
            lines={
                "type": "array",
                "minItems": ITEMS,
                "items": _closed(item=_TEXT, amount={"type": "integer", "minimum": 0}),
            },
        ),
        _lines(-90),
        _lines(90),
    ),
    _task(
        "many-fields",
        _closed(
            **{f"field_{number:02}": {"type": "integer", "minimum": 0, "maximum": 9} for number in range(1, FIELDS + 1)}
        ),
        _many(15),
        _many(3),
    ),
)
"""One task a family, in the order in which they are shown."""

FAMILIES: Final = tuple(task.family for task in TASKS)
