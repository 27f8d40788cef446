"""What a run is asked to do, as one value that is kept, and what comes of it under the operator's settings.

All doors (the server's own, the vendors') make an `Order`; nothing of a protocol is left in it.

Must not go in here: requests as they arrive (`server.bodies`, `server.chat_completions`, `server.messages`).
"""

from __future__ import annotations

import hashlib
from decimal import Decimal
from functools import lru_cache
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract, compile_contract
from lastcall.contract.expressions import cel_rules
from lastcall.contract.parse import parse_schema
from lastcall.errors import BadConfig, SchemaTooBig
from lastcall.nouns.ids import MessageId
from lastcall.nouns.messages import AssistantMessage, Message, TextBlock, UserMessage
from lastcall.nouns.profile import Profile
from lastcall.runtime.config import RunConfig
from lastcall.server.settings import ServerSettings

Number = TypeVar("Number", int, float, Decimal)

MOST_RULES: Final = 20
RULE_CHARACTERS: Final = 2_000
SUMMARY_CHARACTERS: Final = 200
ANY: Final = "*"
"""Among the operator's names of models: every other name."""


class Said(Struct, frozen=True):
    """One message before the prompt."""

    by_model: bool
    text: str


class Order(Struct, frozen=True, omit_defaults=True):
    """What a run is asked to do. Limits are the caller's own; `None` leaves them to the operator.

    `schema` is the JSON text of the contract's schema, `history` what was said before the prompt. `kept`: the run is
    worth going on with after the server went down (nobody waits for those of a vendor's door by then).
    """

    prompt: str
    schema: str | None = None
    model: str | None = None
    system: str = ""
    history: tuple[Said, ...] = ()
    tools: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    max_attempts: int | None = None
    max_turns: int | None = None
    max_budget_usd: Decimal | None = None
    max_budget_tokens: int | None = None
    max_repeats: int | None = None
    deadline_s: float | None = None
    max_tokens: int | None = None
    effort: str | None = None
    declines: bool = True
    salvages: bool = False
    strict_values: bool = False
    formats: bool = True
    partial: bool = False
    kept: bool = True


def written(order: Order) -> str:
    """The order as JSON, for keeping."""
    return msgspec.json.encode(order).decode()


def read_order(text: str) -> Order:
    """The order that was kept."""
    return msgspec.json.decode(text, type=Order)


def digest(order: Order) -> str:
    """What two requests with one idempotency key must have in common."""
    return hashlib.sha256(msgspec.json.encode(replace(order, partial=False))).hexdigest()


def summary(order: Order) -> str:
    """The beginning of the prompt on one line, for lists."""
    return " ".join(order.prompt[: 2 * SUMMARY_CHARACTERS].split())[:SUMMARY_CHARACTERS]


def history_of(order: Order) -> tuple[Message, ...]:
    """The messages before the prompt."""
    return tuple(
        AssistantMessage(MessageId(f"given_{number}"), (TextBlock(said.text),))
        if said.by_model
        else UserMessage((TextBlock(said.text),))
        for number, said in enumerate(order.history)
    )


# -- under the operator's settings ----------------------------------------------------------------------------------


def contract_of(order: Order, settings: ServerSettings, schema_bytes: int | None) -> Contract | None:
    """The contract of an order; `None` if it asks for prose. May take a second. Raises `UsageError`.

    `schema_bytes` bounds the schema (`None`: that was looked at before, when the run was taken).
    """
    if order.schema is None:
        if order.rules:
            raise BadConfig("there is no object to judge", hint="Add a schema.", where="rules")
        return None
    size = len(order.schema.encode())
    if schema_bytes is not None and size > schema_bytes:
        raise SchemaTooBig(f"the schema has {size} bytes, and {schema_bytes} are taken", where="schema")
    _demand_rules(order, settings)
    return _compiled(order.schema, order.rules, order.formats, order.strict_values)


@lru_cache(maxsize=64)
def _compiled(text: str, rules: tuple[str, ...], formats: bool, strict_values: bool) -> Contract:
    """The contract, kept for a while: the same one serves most runs, and it never changes."""
    schema = parse_schema(text, profile=Profile.NATIVE, where="schema")
    return compile_contract(
        schema,
        profile=Profile.NATIVE,
        assert_formats=formats,
        strict_values=strict_values,
        rules=cel_rules(rules, schema),
    )


def _demand_rules(order: Order, settings: ServerSettings) -> None:
    if order.rules and not settings.rules:
        hint = "Its operator may allow them with --allow-rules."
        raise BadConfig("this server takes no rules", hint=hint, where="rules")
    if len(order.rules) > MOST_RULES or any(len(rule) > RULE_CHARACTERS for rule in order.rules):
        raise BadConfig(
            f"at most {MOST_RULES} rules of {RULE_CHARACTERS} characters are taken", hint="Join them.", where="rules"
        )


def config_of(order: Order, settings: ServerSettings, contract: Contract | None, run_id: str) -> RunConfig:
    """How the run is made: the operator's configuration, narrowed by the order. Raises `BadConfig`."""
    base = settings.base
    if order.partial and base.redact is not None:
        hint = "Leave it away: this server keeps secrets out of what it shows, and half a secret has no form."
        raise BadConfig("pieces of replies cannot be had", hint=hint, where="partial")
    deadline_s = _least(order.deadline_s, base.deadline_s)
    budget = _least(order.max_budget_usd, base.max_budget_usd)
    return replace(
        base,
        contract=contract,
        model=_model(order, settings),
        tools=",".join(_tools(order, settings)),
        system_prompt="\n\n".join(text for text in (base.system_prompt, order.system) if text),
        max_attempts=_least(order.max_attempts, base.max_attempts) or base.max_attempts,
        max_turns=_least(order.max_turns, base.max_turns),
        max_repeats=_least(order.max_repeats, base.max_repeats),
        max_budget_usd=budget,
        max_budget_tokens=_least(order.max_budget_tokens, base.max_budget_tokens),
        budget_words="" if budget is None else str(budget),
        deadline_s=deadline_s,
        deadline_words="" if deadline_s is None else f"{deadline_s:g}s",
        max_tokens=_least(order.max_tokens, base.max_tokens),
        effort=order.effort or base.effort,
        declines=order.declines and base.declines,
        salvages=order.salvages,
        partial=order.partial,
        session_id=run_id,
        persist=True,
    )


def _least(wanted: Number | None, most: Number | None) -> Number | None:
    given = [limit for limit in (wanted, most) if limit is not None]
    return min(given) if given else None


def _model(order: Order, settings: ServerSettings) -> str | None:
    """The model that answers. Raises `BadConfig` for one that the operator did not name."""
    if order.model is None or order.model == settings.base.model:
        return settings.base.model
    model = settings.models.get(order.model) or settings.models.get(ANY)
    if model is None:
        known = ", ".join(sorted({*settings.models, *([settings.base.model] if settings.base.model else [])}))
        hint = f"It has: {known}." if known else "Leave the model away, or have its operator name it (--allow-model)."
        raise BadConfig(f"this server has no model {order.model!r}", hint=hint, where="model")
    return model


def _tools(order: Order, settings: ServerSettings) -> tuple[str, ...]:
    for name in order.tools:
        if name not in settings.tools:
            known = f"It allows: {', '.join(settings.tools)}." if settings.tools else "It allows none."
            raise BadConfig(f"this server does not allow the tool {name!r}", hint=known, where="tools")
    return tuple(dict.fromkeys(order.tools))
