"""What a model would choose if it were told nothing, so that it can be taken off what it chooses.

A small model has habits: of `"payments" | "login" | "search" | "email"` it rarely takes the last, whatever the text says.
The habit is measured once for each set of tools, with "N/A" where the text would be, and subtracted from the option's first
token in every reply (pointwise mutual information; no figure in it was fitted). That token begins a string almost nowhere
else, so nothing else changes. Only where options begin with different tokens; only strings at the top of a finishing tool's
input. The grammar still decides what can be chosen, the contract what passes.

Must not go in here: asking the engine (`.local_client`), when it is asked (`.local`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import msgspec
from msgspec import Struct

from lastcall.nouns.messages import TextBlock, UserMessage
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.tools import ToolDefinition
from lastcall.providers.local_cache import write_whole
from lastcall.providers.local_grammar import call_prefix
from lastcall.providers.local_prompt import prompt

NOTHING: Final = "N/A"
MOST_OPTIONS: Final = 50
_SUREST: Final = 4.0
"""The widest that a habit is, in natural logarithms. Beyond it the empty text has an answer (it is English), no habit."""
_RULE: Final = "2"
"""Part of every key: habits that were measured by another rule are measured again."""
_REMEMBERED: Final = 200

Bias = tuple[tuple[int, float], ...]
"""Tokens and what is added to their logits."""


class ChoiceField(Struct, frozen=True):
    """A property that is one of several strings."""

    name: str
    options: tuple[str, ...]


def choice_fields(tool: ToolDefinition) -> tuple[ChoiceField, ...]:
    """The properties of a tool's input that are a choice between strings."""
    properties = tool.input_schema.get("properties")
    found = []
    for name, shape in properties.items() if isinstance(properties, dict) else ():
        options = shape.get("enum") if isinstance(shape, dict) else None
        if isinstance(options, list) and 2 <= len(options) <= MOST_OPTIONS:
            texts = tuple(option for option in options if isinstance(option, str) and option)
            if len(texts) == len(options):
                found.append(ChoiceField(name, texts))
    return tuple(found)


def finishing_tool(request: ModelRequest) -> ToolDefinition | None:
    """The tool whose choices are looked at: the first finishing one."""
    return next((tool for tool in request.tools if tool.finishing), None)


def empty_request(request: ModelRequest) -> ModelRequest:
    """The same tools and the same words before them, and nothing to go by."""
    return ModelRequest(0, request.system, (UserMessage((TextBlock(NOTHING),)),), request.tools, choice=Choice.FINISH)


def habit_key(request: ModelRequest, weights: str) -> str:
    """What a habit depends on: the weights and every word of the empty request."""
    words = "\0".join([_RULE, weights, *(piece.text for piece in prompt(empty_request(request)))])
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


class HabitReader:
    """Follows an empty reply and notes how likely each option is where it could stand."""

    def __init__(self, tool: ToolDefinition, first_tokens: Mapping[str, tuple[int, ...]]) -> None:
        """`first_tokens`: for each field, the first token of each of its options."""
        self._prefix = call_prefix(tool.name)
        self._first = dict(first_tokens)
        self._text = ""
        self._bias: dict[int, list[float]] = {}

    @property
    def complete(self) -> bool:
        """Whether every field was seen, or the reply is none of the tool's."""
        return not self._first or not (self._text.startswith(self._prefix) or self._prefix.startswith(self._text))

    def hear(self, text: str, likely: Mapping[int, float]) -> None:
        """One token of the reply, with the log probabilities of the tokens that could have stood there."""
        for name, tokens in list(self._first.items()):
            if self._text.endswith(f'"{name}": "'):
                del self._first[name]
                self._note(tokens, likely)
        self._text += text

    def _note(self, tokens: Sequence[int], likely: Mapping[int, float]) -> None:
        known = [likely[token] for token in tokens if token in likely]
        if not known or len(set(tokens)) < len(tokens):
            return
        logs = [likely.get(token, min(known)) for token in tokens]
        if max(logs) - min(logs) > _SUREST:
            return
        middle = fmean(logs)
        for token, log in zip(tokens, logs, strict=True):
            self._bias.setdefault(token, []).append(middle - log)

    def bias(self) -> Bias:
        """What takes the habits off."""
        return tuple((token, round(fmean(values), 3)) for token, values in self._bias.items())


class HabitBook:
    """The habits that were measured on this machine, in one file beside the weights."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, Bias] | None = None

    def find(self, key: str) -> Bias | None:
        """A habit that was measured before. A file that cannot be read holds none."""
        if self._known is None:
            try:
                self._known = msgspec.json.decode(self._file.read_bytes(), type=dict[str, Bias])
            except (OSError, msgspec.MsgspecError):
                self._known = {}
        return self._known.get(key)

    def keep(self, key: str, bias: Bias) -> None:
        """Keeps a habit; one that cannot be written is measured again by the next process."""
        known = {**(self._known or {}), key: bias}
        self._known = dict(list(known.items())[-_REMEMBERED:])
        try:
            write_whole(self._file, msgspec.json.encode(self._known))
        except OSError:
            return
