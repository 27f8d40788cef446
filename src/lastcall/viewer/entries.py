"""What a page shows of a session: plain values, ready to be JSON.

All words stand here already: the page in the browser lays them out and invents none. Texts of models and users are in the
fields that say so, and travel as text.

Must not go in here: making them from records (`viewer.story`).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from lastcall.viewer.layout import Line


class Tone(StrEnum):
    """How something went, as a colour. The word beside it says the same."""

    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    HELD = "held"
    CALM = "calm"


class Form(StrEnum):
    """How a part is laid out."""

    PROSE = "prose"
    CODE = "code"
    JSON = "json"
    CHANGES = "changes"
    POINTS = "points"


class Part(Struct, frozen=True, omit_defaults=True):
    """One piece of an entry's body.

    `text` for prose and code, `lines` for JSON and changes, `points` for a list. `at` is where in `text` reading stopped
    (characters). `left_out` counts what is not shown (`unit`).
    """

    form: Form
    label: str = ""
    text: str = ""
    lines: tuple[Line, ...] = ()
    points: tuple[str, ...] = ()
    at: int | None = None
    left_out: int = 0
    unit: str = ""


class Entry(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One row of the timeline. `place` is its row, and identifies it: a later entry of the same place replaces it.

    `kind` chooses the sign, `title` and `word` are lastcall's words, `name` and `summary` may be anybody's. `at` is
    seconds since the epoch, `took_ms` how long it took. `gone`: taken back by a fallback or a retry.
    """

    place: int
    kind: str
    run: int
    at: float
    turn: int = 0
    title: str = ""
    name: str = ""
    summary: str = ""
    word: str = ""
    tone: Tone = Tone.PLAIN
    took_ms: int | None = None
    facts: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    open: bool = False
    gone: bool = False
    pending: bool = False


class Dot(Struct, frozen=True, omit_defaults=True):
    """One attempt in the run's summary; `place` is its entry."""

    n: int
    word: str
    tone: Tone
    place: int


class Verdict(Struct, frozen=True, omit_defaults=True):
    """One rule or check, and what it said of which attempt."""

    name: str
    passed: bool
    message: str = ""
    took_ms: int = 0
    attempt: int = 0


class RunFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The summary of one run. `outcome` is empty while it goes on. `answer` is its object, text or best draft."""

    number: int
    prompt: str
    at: float
    ended_at: float | None = None
    outcome: str = ""
    word: str = "running"
    tone: Tone = Tone.CALM
    reason: str = ""
    models: tuple[str, ...] = ()
    turns: int = 0
    calls: int = 0
    attempts: tuple[Dot, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    answer: Part | None = None
    checks: tuple[Verdict, ...] = ()
    warnings: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()


class SessionFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Whose journal it is. `note` is what a reader has to know of the file (half a line at the end, damage)."""

    session_id: str
    title: str = ""
    model: str = ""
    profile: str = ""
    version: str = ""
    cwd: str = ""
    digest: str = ""
    rules: tuple[str, ...] = ()
    note: str = ""


class Keyword(Struct, frozen=True, omit_defaults=True):
    """One keyword of a schema: its value as text, whether the check here enforces it, and whose decoders do."""

    word: str
    value: str = ""
    checked: bool = False
    decoders: tuple[str, ...] = ()
    note: str = ""


class Node(Struct, frozen=True, omit_defaults=True):
    """One place of a schema, as a row of its tree."""

    path: str
    depth: int
    name: str
    role: str = ""
    type: str = ""
    required: bool = False
    description: str = ""
    keywords: tuple[Keyword, ...] = ()


class ContractFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A contract as a tree. `without` says for each kind of decoder that has no strict form why. `fault`: it is none."""

    title: str = ""
    dialect: str = ""
    digest: str = ""
    wrapped: bool = False
    nodes: tuple[Node, ...] = ()
    without: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    fault: str = ""


class Changes(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a page has to know anew: everything at first, then what changed. `live`: more may follow."""

    session: SessionFacts | None = None
    contract: ContractFacts | None = None
    runs: tuple[RunFacts, ...] = ()
    entries: tuple[Entry, ...] = ()
    live: bool = False


class Row(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One session in a list. `at` is when it was last written; `place` is its directory."""

    id: str
    at: float
    prompt: str = ""
    word: str = ""
    tone: Tone = Tone.PLAIN
    model: str = ""
    place: str = ""
    size_bytes: int = 0
    note: str = ""


class Listing(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Sessions, the latest first. `left_out` counts older ones that are not listed."""

    runs: tuple[Row, ...] = ()
    left_out: int = 0
