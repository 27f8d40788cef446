"""Models that behave in one way each, and trials written by hand, for the tests of the probe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal

from msgspec.structs import replace

from lastcall.core.events import ReplyEnded
from lastcall.nouns.attachment import Problem
from lastcall.nouns.ids import CallId
from lastcall.nouns.result import Attempt, VerdictKind
from lastcall.probe.cases import Case, Suite
from lastcall.probe.endings import Ending
from lastcall.probe.sheet import Plan
from lastcall.probe.trials import Trial
from lastcall.providers.lending import Lent
from lastcall.providers.scripted import scripted_provider
from lastcall.runtime.config import RunConfig

SCHEMA = (
    '{"type":"object","properties":{"level":{"enum":["low","high"]},"note":{"type":"string"}},'
    '"required":["level"],"additionalProperties":false}'
)
RIGHT = {"object": {"level": "low"}}
WRONG = {"object": {"level": "middling"}}
OTHER_WRONG = {"object": {"level": "medium"}}
DECLINE = {"call": {"name": "DeclineOutput", "input": {"reason": "there is no such level", "missing": []}}}
LONG = {
    "object": {
        "level": "middling",
        "note": "the second pump stopped shortly before nine, and its keeper says that water rose in both cellars until noon",
    }
}
HOLLOW = {"object": {"level": "low", "note": "N/A"}}

BEHAVIOURS = {
    Ending.ACCEPTED_FIRST: [RIGHT],
    Ending.REPAIRED: [WRONG, RIGHT],
    Ending.DEGENERATE: [LONG, HOLLOW, HOLLOW],
    Ending.DECLINED: [DECLINE],
    Ending.GAVE_UP: ["I would rather not."],
    Ending.EXHAUSTED: [WRONG, OTHER_WRONG],
    Ending.FAILED: [{"status": 401, "error": {"type": "authentication_error", "message": "no such key"}}],
}
"""What a model says that ends so."""


def case(name="level", **changes):
    made = Case(
        name=name, family="enum", prompt="Say the level.", schema_text=SCHEMA, conflicts=True, may_correct=False
    )
    return replace(made, **changes)


def plan(*cases, **changes):
    made = Plan(lastcall="0.1.0", suite="s", model="scripted", cases=cases or (case(),), trials=2, seed=7)
    return replace(made, **changes)


def suite(*cases):
    return Suite(name="s", cases=cases)


def config(**changes):
    return RunConfig(**({"tools": "", "persist": False, "partial": False} | changes))


class Dear(Lent):
    """A scripted model each of whose replies costs something (`None`: nobody knows what)."""

    def __init__(self, script, cost):
        super().__init__(scripted_provider(script))
        self.cost = cost
        self.closed = 0

    async def stream(self, request) -> AsyncIterator:
        async for event in super().stream(request):
            yield replace(event, cost_usd=self.cost) if isinstance(event, ReplyEnded) else event

    async def aclose(self):
        self.closed += 1


def trial(name="level", number=1, ending=Ending.ACCEPTED_FIRST, **changes):
    """A trial by hand: `attempts` is a number here, all but the last of them rejected by `enum`."""
    many = changes.pop("attempts", 1)
    rejected = Problem("/level", "enum", "must be equal to one of the allowed values")
    attempts = tuple(
        Attempt(n, CallId(f"c{n}"), "m", VerdictKind.REJECTED, (rejected,), draft='{"level":"no"}')
        for n in range(1, many)
    )
    last = Attempt(many, CallId(f"c{many}"), "m", VerdictKind.ACCEPTED, draft='{"level":"low"}')
    made = Trial(
        case=name,
        round=number,
        seed=6 + number,
        ending=ending,
        counted=True,
        outcome="answered",
        reason="The object passed the contract.",
        attempts=(*attempts, last) if many else (),
        object_text='{"level":"low"}',
        input_tokens=100,
        output_tokens=20,
        cost_usd=Decimal("0.01"),
        duration_ms=1500,
    )
    return replace(made, **changes)
