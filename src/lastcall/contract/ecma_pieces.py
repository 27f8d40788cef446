r"""Parts of a regular expression, written so that no engine can read them otherwise, and how they combine.

Every class and literal is spelled in code points. A piece that is simple enough to be searched by the standard library
without backtracking to speak of carries its text for it (`Piece.plain`).

Must not go in here: reading patterns (`ecma`), an engine (`patterns`).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, structs

Ranges = tuple[tuple[int, int], ...]

MAX_CODE: Final = 0x10FFFF
SURROGATES: Final = (0xD800, 0xDFFF)
SURROGATE_SHIFT: Final = 0x10F800 - 0xD800
"""Half pairs cannot reach the engine; pattern and text both show them as the last 2,048 private code points."""

_SHOWN: Final = "aA0x-_ ."
"""Characters to show for a class, the first that it holds."""
_KNOWN: Final = {
    "L": "a", "Letter": "a", "Lu": "A", "Uppercase_Letter": "A", "Ll": "a", "Lowercase_Letter": "a", "Alphabetic": "a",
    "N": "1", "Nd": "1", "Number": "1", "Decimal_Number": "1", "digit": "1", "P": "-", "Punctuation": "-", "S": "+",
    "Z": " ", "Zs": " ", "ASCII": "a", "Emoji": "\U0001f600", "Script=Latin": "a", "Script=Greek": "\u03b1",
    "Script=Cyrillic": "\u0436", "Script=Han": "\u4e2d", "Script=Hiragana": "\u3042", "Script=Katakana": "\u30ab",
}  # fmt: skip
_MANY: Final = 1_000_000

BOUNDARY: Final = "\x01b"
NOT_BOUNDARY: Final = "\x01B"
"""Marks in `Piece.engine`, for which the engine's two modes have different spellings."""


class Plain(Struct, frozen=True):
    """The same piece for the standard library's engine, and what it can cost there.

    `ways`: in how many ways it can match from one place, unbounded repetition not counted; `length`: the most characters
    it takes, unbounded repetition not counted; `unbounded`: how many unbounded repetitions it holds.
    """

    text: str
    ways: int = 1
    length: int = 0
    unbounded: int = 0
    one_char: bool = False


class Example(Struct, frozen=True):
    """A text that a piece takes, `before + unit * n + after`, for every `n` from 0 to `most`."""

    before: str
    unit: str = ""
    after: str = ""
    most: int = 0

    def text(self, length: int = 0) -> str:
        """The shortest of them with at least so many characters, as far as there is one."""
        missing = length - len(self.before) - len(self.after)
        count = -(-missing // len(self.unit)) if self.unit else 0
        return self.before + self.unit * max(0, min(count, self.most)) + self.after


class Piece(Struct, frozen=True):
    """One part of a pattern. `engine` is its text for the engine; `backtracks` says that a linear engine cannot do it.

    `example` is a text that it takes (look-around not considered), where one can be told.
    """

    engine: str
    plain: Plain | None = None
    backtracks: bool = False
    anchored: bool = False
    captures: tuple[int, ...] = ()
    quantifiable: bool | None = True
    example: Example | None = None
    zero_width: bool = False


# -- classes --------------------------------------------------------------------------------------------------------


class CharClass(Struct, frozen=True):
    r"""A set of characters: code point ranges, and properties as `\p{...}` texts."""

    ranges: Ranges
    properties: tuple[str, ...] = ()


def complement(ranges: Ranges) -> Ranges:
    """The code points outside."""
    out: list[tuple[int, int]] = []
    start = 0
    for low, high in merged(ranges):
        if low > start:
            out.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE:
        out.append((start, MAX_CODE))
    return tuple(out)


def merged(ranges: Ranges) -> Ranges:
    """Sorted, without overlaps."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)


def _engine_ranges(ranges: Ranges) -> str:
    first, last = SURROGATES
    out: list[tuple[int, int]] = []
    for low, high in ranges:
        if low < first:
            out.append((low, min(high, first - 1)))
        if high > last:
            out.append((max(low, last + 1), high))
        if high >= first and low <= last:
            out.append((max(low, first) + SURROGATE_SHIFT, min(high, last) + SURROGATE_SHIFT))
    return "".join(
        f"\\u{{{low:X}}}-\\u{{{high:X}}}" if high > low else f"\\u{{{low:X}}}" for low, high in merged(tuple(out))
    )


def class_piece(chars: CharClass, *, negated: bool = False) -> Piece:
    """One character of a set."""
    if not chars.properties:
        ranges = complement(chars.ranges) if negated else merged(chars.ranges)
        if not ranges:
            return Piece("[^\\u{0}-\\u{10FFFF}]", Plain("(?!)", one_char=True))
        shown = Example(next((c for c in _SHOWN if _holds(ranges, c)), chr(ranges[0][0])))
        text = "".join(_plain_range(low, high) for low, high in ranges)
        return Piece(f"[{_engine_ranges(ranges)}]", Plain(f"[{text}]", length=1, one_char=True), example=shown)
    known = None if negated or not chars.properties[0].startswith("\\p") else _KNOWN.get(chars.properties[0][3:-1])
    inside = _engine_ranges(merged(chars.ranges)) + "".join(chars.properties)
    return Piece(f"[{'^' if negated else ''}{inside}]", example=Example(known) if known else None)


def _holds(ranges: Ranges, char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in ranges)


def _plain_range(low: int, high: int) -> str:
    return f"\\U{low:08x}-\\U{high:08x}" if high > low else f"\\U{low:08x}"


def literal(code: int) -> Piece:
    """One code point."""
    shown = code + SURROGATE_SHIFT if SURROGATES[0] <= code <= SURROGATES[1] else code
    plain = Plain(f"\\U{code:08x}", length=1, one_char=True)
    return Piece(f"\\u{{{shown:X}}}", plain, example=Example(chr(code)))


# -- combining ------------------------------------------------------------------------------------------------------


def sequence(pieces: list[Piece]) -> Piece:
    """One after the other."""
    if len(pieces) == 1:
        return pieces[0]
    plain: Plain | None = Plain("")
    for piece in pieces:
        plain = None if plain is None or piece.plain is None else _after(plain, piece.plain)
    return Piece(
        "".join(piece.engine for piece in pieces) or "(?:)",
        plain,
        any(piece.backtracks for piece in pieces),
        bool(pieces) and pieces[0].anchored,
        tuple(index for piece in pieces for index in piece.captures),
        example=_joined([piece.example for piece in pieces]),
        zero_width=all(piece.zero_width for piece in pieces),
    )


def _joined(examples: list[Example | None]) -> Example | None:
    out: Example = Example("")
    for example in examples:
        if example is None:
            return None
        if out.unit:
            out = Example(out.before, out.unit, out.after + example.text(), out.most)
        else:
            out = Example(out.before + out.after + example.before, example.unit, example.after, example.most)
    return out


def _after(first: Plain, second: Plain) -> Plain:
    return Plain(
        first.text + second.text,
        min(first.ways * second.ways, _MANY),
        first.length + second.length,
        first.unbounded + second.unbounded,
    )


def choice(pieces: list[Piece]) -> Piece:
    """One of them."""
    if len(pieces) == 1:
        return pieces[0]
    plains = [piece.plain for piece in pieces if piece.plain is not None]
    plain = None
    if len(plains) == len(pieces):
        plain = Plain(
            "|".join(each.text for each in plains),
            sum(each.ways for each in plains),
            max(each.length for each in plains),
            sum(each.unbounded for each in plains),
        )
    return Piece(
        "|".join(piece.engine for piece in pieces),
        plain,
        any(piece.backtracks for piece in pieces),
        all(piece.anchored for piece in pieces),
        tuple(index for piece in pieces for index in piece.captures),
        example=next((piece.example for piece in pieces if piece.example), None),
        zero_width=all(piece.zero_width for piece in pieces),
    )


def repeated(piece: Piece, low: int, high: int | None, *, lazy: bool) -> Piece:
    """`low` to `high` times (`None`: without end)."""
    if piece.zero_width:  # it holds at a place or not, however often it is asked; the engine refuses to repeat it
        if low or piece.captures:  # captures are counted, so they stay
            return piece if low else structs.replace(piece, engine=f"(?:{piece.engine}|)", plain=None, anchored=False)
        return Piece("(?:)", example=Example(""), zero_width=True)
    count = f"{{{low},{'' if high is None else high}}}" + ("?" if lazy else "")
    plain = None
    if piece.plain is not None and (piece.plain.one_char or (piece.plain.unbounded == 0 and high is not None)):
        plain = _repeated_plain(piece.plain, low, high, count)
    engine, anchored = f"(?:{piece.engine}){count}", low > 0 and piece.anchored
    example = _repeated_example(piece.example, low, high)
    return Piece(engine, plain, piece.backtracks, anchored, piece.captures, example=example)


def _repeated_example(one: Example | None, low: int, high: int | None) -> Example | None:
    if one is None or low * len(one.text()) > _MANY:
        return None if low else Example("")
    most = _MANY if high is None else high - low
    if not most:
        return Example(one.text() * low)
    return Example(one.text() * low, one.text(), "", most)


def _repeated_plain(plain: Plain, low: int, high: int | None, count: str) -> Plain | None:
    most = low if high is None else high
    if most > 1 and plain.ways > 1:
        return None
    ways = plain.ways if low == high else plain.ways * (most - low + 1) + (0 if low else 1)
    return Plain(f"(?:{plain.text}){count}", ways, plain.length * most, int(high is None))
