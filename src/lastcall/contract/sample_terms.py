"""What building a sample needs: choices that can be made anew, and two schemas as one.

Must not go in here: building values.
"""

from __future__ import annotations

from typing import Any, Final

MAX_CHOICES: Final = 200


class NoSample(Exception):  # noqa: N818 -- the end of one try
    """This way leads to no value."""


class Choices:
    """The choices of a try, in order, and the budget of all tries.

    `advance` changes the last choice that has another option, like an odometer.
    """

    def __init__(self, values: int) -> None:
        self._left = values
        self._made: list[list[int]] = []  # [option, number of options]
        self._next = 0

    @property
    def spent(self) -> bool:
        """Whether the budget of values is used up."""
        return self._left < 0

    def spend(self) -> None:
        """Takes one value from the budget. Raises `NoSample` when there is none left."""
        self._left -= 1
        if self._left < 0:
            raise NoSample

    def begin(self) -> None:
        """Starts a try."""
        self._next = 0

    def pick(self, options: int) -> int:
        """The option that is due here, of so many; the first one, the first time."""
        if options <= 1 or self._next >= MAX_CHOICES:
            return 0
        if self._next == len(self._made):
            self._made.append([0, options])
        self._next += 1
        option, known = self._made[self._next - 1]
        return option if option < options else known % options

    def advance(self) -> bool:
        """Goes on to the next combination; `False` when there is none."""
        del self._made[self._next :]
        while self._made:
            self._made[-1][0] += 1
            if self._made[-1][0] < self._made[-1][1]:
                return True
            self._made.pop()
        return False


_HIGHEST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_LOWEST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_BOTH: Final = (
    "items",
    "additionalProperties",
    "additionalItems",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
)


def combined(first: Any, second: Any) -> Any:
    """One schema for both, as far as it can be written down without `allOf`."""
    if first is True or second is True:
        return second if first is True else first
    if not isinstance(first, dict) or not isinstance(second, dict):
        return False
    out = dict(first)
    for word, value in second.items():
        out[word] = _both(word, out[word], value) if word in out else value
    return out


def _both(word: str, first: Any, second: Any) -> Any:  # noqa: PLR0911 -- a table of keywords
    if first == second:
        return first
    if word in ("properties", "patternProperties"):
        return {**first, **{k: combined(first[k], v) if k in first else v for k, v in second.items()}}
    if word == "required":
        return list(dict.fromkeys([*first, *second]))
    if word == "type":
        return _types(first, second)
    if word == "enum":
        return [value for value in first if value in second]
    if word in _HIGHEST:
        return max(first, second)
    if word in _LOWEST:
        return min(first, second)
    if word == "allOf":
        return [*first, *second]
    if word in _BOTH and not isinstance(first, list) and not isinstance(second, list):
        return combined(first, second)
    return second


def _types(first: Any, second: Any) -> Any:
    ours = first if isinstance(first, list) else [first]
    theirs = second if isinstance(second, list) else [second]
    common = [t for t in ours if t in theirs]
    if not common and "integer" in [*ours, *theirs] and "number" in [*ours, *theirs]:
        return "integer"
    if not common:
        raise NoSample
    return common if len(common) > 1 else common[0]
