"""What enforces each keyword of a contract, as lines for people: behind `--explain` and `lastcall schema explain`.

Must not go in here: finding it out (`contract.explain`).
"""

from __future__ import annotations

from collections.abc import Sequence

from lastcall.contract import Contract
from lastcall.contract.explain import By, Enforcement, explain
from lastcall.nouns.schema import NotStrict

_WORDS = {
    By.CHECK: "the check here",
    By.STRICT: "the service's decoder",
    By.GRAMMAR: "the embedded model's grammar",
}
_NOTHING = "nothing"
_MAX_PATH = 60


def enforcements(contract: Contract, *, rules: str = "none", assert_formats: bool = True) -> tuple[Enforcement, ...]:
    """What enforces each keyword when the deployment's rules for strict schemas are `rules` (`none`: it has none)."""
    return explain(
        contract.schema,
        strict=None if rules == "none" else contract.strict(rules),
        decoder=By.GRAMMAR if rules == "grammar" else By.STRICT,
        wrapped=contract.wrapped,
        assert_formats=assert_formats,
        profile=contract.profile,
    )


def explain_lines(contract: Contract, *, rules: str = "none") -> list[str]:
    """The table, and why there is no strict form where there is none."""
    lines = table(enforcements(contract, rules=rules))
    strict = None if rules == "none" else contract.strict(rules)
    if isinstance(strict, NotStrict):
        place = f" at {strict.path}" if strict.path else ""
        lines.append(f"The decoder does not help: {strict.reason}{place}.")
    return lines


def table(found: Sequence[Enforcement]) -> list[str]:
    """One line a keyword: where, which, enforced by what."""
    rows = [(_place(item.path), item.keyword, _by(item)) for item in found]
    width = max((len(place) for place, _, _ in rows), default=0)
    word = max((len(keyword) for _, keyword, _ in rows), default=0)
    return [f"{place:<{width}}  {keyword:<{word}}  {by}" for place, keyword, by in rows]


def _place(path: str) -> str:
    shown = path or "(root)"
    return shown if len(shown) <= _MAX_PATH else f"…{shown[1 - _MAX_PATH :]}"


def _by(item: Enforcement) -> str:
    words = " and ".join(_WORDS[by] for by in item.by) or _NOTHING
    return f"{words} ({item.note})" if item.note else words
