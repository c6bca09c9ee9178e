"""Which words of a text are typed for a legacy font: the evidence of each, weighed in its context.

The evidence of a word is a log-likelihood ratio, from whether its conversion stands in the Nepali word list
and from the pairs of its letters; a word alone is weak (English "of" reads as या), so the likeliest course
through the whole text is taken, which rarely changes sides. Nothing is converted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

import regex

from rag_platform.text.legacy_assembly import convert_word
from rag_platform.text.legacy_tables import LEGACY_FONTS
from rag_platform.text.words import is_word

__all__ = ["Course", "Word", "candidates", "legacy_words", "weigh"]

_LINE = regex.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_WORD = regex.compile(r"\S+")
_DEVANAGARI_WORD = regex.compile("[\u0900-\u0963\u0971-\u097f\u200d]+")
_FOREIGN = regex.compile(r"[\p{L}\p{M}--\p{Latin}--[ªºˆ˜]]", regex.V1)
_OPAQUE = regex.compile(
    r"(?i)\w+://|www\.|\S+@[\w-]+\.\w|</?\w"
    r"|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|np|gov|edu|int|info|pdf|docx?|html?|jpe?g|png)\b"
)
_NUMBER = regex.compile(r"[\d.,:/()\[\]%+–—“”‘’-]*\d[\d.,:/()\[\]%+–—“”‘’-]*")
_DIGIT = regex.compile(r"([0-9])([.,]?)")
_LETTER = regex.compile(r"\p{Latin}")
_ACRONYM = regex.compile(r"[A-Z]{2,}s?(?:[-/]?\d+)?|[A-Z]-?\d+")
"""Half letters and vowels in a row to a legacy font: no word, but PDF, GPS, A4 and COVID-19."""

_MARKUP = regex.compile(r"([-=*_~#`.+:>])\1{2,}|\||[-:|]{3,}|-")
_LINE_MARKUP = regex.compile(r"#{1,6}|[-*+>]")
_OPENERS = regex.compile(r"""["'“‘(\[{*]+(?=\S)""")
_CLOSED = regex.compile(r"""["'”’)\]}*]+[.,;:?!।]*$""")
_CLOSERS = {'"': '"', "'": "'", "“": "”", "‘": "’", "(": ")", "[": "]", "{": "}", "*": "*"}
_PHRASE = 40
"""So many words on, a quote or bracket is no longer looked for."""

_MAX_WORD = 1_000
"""No word has so many characters: encoded data."""

_NEVER_FIRST = frozenset("\"'“‘[{")
"""Keys of signs: no word begins with them. But "(" is the digit ९ and "*" is ८."""

# Never in a well-formed word: a sign without its letter, a halant before a vowel, a half letter at the end
# (explicit halants are told apart by their key), and marks of a font that joined nothing.
_MALFORMED = regex.compile(
    "^[\u0900-\u0903\u093a-\u094d]|[\u093e-\u094c]{2}|\u094d[\u0904-\u0914\u0901-\u0903\u093e-\u094d]"
    "|[\u0904-\u0914][\u093e-\u094d]|\u094d\u200d?$"
)
_LEFT_OVER = regex.compile("[\u0904-\u094d][m{]|[m{][\u0904-\u0939]")
_GLUED = regex.compile("[\u0904-\u094d][०-९]")
"""Digits stand before letters (२०७२को), never after them."""

_KNOWN = (0.0, 0.0, 1.5, 3.0, 5.0, 7.0, 8.0, 9.0)
"""Evidence of a word of the list, by characters; none of 109,000 English words reads as one of five."""
_UNKNOWN = (0.0, 0.0, -1.5, -2.0, -2.5)
_MALFORMED_WEIGHT = -6.0
_PAIR_WEIGHT = 0.5
_MAX_FOR, _MAX_AGAINST = 4.0, -12.0
_ENGLISH_PAIRS = -5.0
"""No word typed for a legacy font has pairs of so little weight: what it would read as need not be asked."""

_NO_ENGLISH_PAIRS = -2.0
"""Against a font's name, an unknown or mistyped word counts only if its letters look English."""

_LONG_WORD = 4
"""Letters of a known word that is no accident. Shorter ones count together: "lot of" reads as two words."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text and its weight: above 0 speaks for a legacy font.

    Attributes:
        start: Where it begins, quotes and brackets around it left out.
        end: Where it ends.
        weight: Log-likelihood ratio.
        n_letters: Devanagari letters and signs that its conversion shows.
        known: Whether the conversion stands in the word list.
        opaque: Whether it is left alone whatever its neighbours are: addresses, numbers, other scripts.
        begins_line: Whether it is the first of its line.
    """

    start: int
    end: int
    weight: float
    n_letters: int
    known: bool
    opaque: bool = False
    begins_line: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """What it costs to change sides, in the units of the weights.

    Attributes:
        enter: From other text to legacy.
        leave: From legacy to other text.
        begins_legacy: Whether a text is legacy until something speaks against it.
        new_line: Factor on both costs at the beginning of a line.
        veto: A word of so little weight stays as it is even between legacy words: it is English there.
    """

    enter: float = 6.0
    leave: float = 3.0
    begins_legacy: bool = False
    new_line: float = 0.8
    veto: float = -7.0


def candidates(text: str, family: str, *, named: bool = False) -> list[Word]:
    """Return all words of a text, weighed one by one.

    Args:
        text: Any text.
        family: The layout in which the words are read.
        named: Whether a font's name says legacy; then doubt needs reasons, and single digits are labels.
    """
    return [word for line in _LINE.finditer(text) for word in _line_words(text, line, family, named)]


def legacy_words(found: Sequence[Word], course: Course) -> list[Word]:
    """Return those of a text's words that are typed for a legacy font, in order."""
    sides = _likeliest(found, course)
    chosen = [
        (i, word)
        for i, (word, legacy) in enumerate(zip(found, sides, strict=True))
        if legacy and not word.opaque and word.weight > course.veto
    ]
    if course.begins_legacy:
        return [word for _, word in chosen]
    return [word for run in _runs(chosen, found) if _is_nepali(run) for word in run]


@lru_cache(maxsize=100_000)
def weigh(word: str, family: str) -> tuple[float, int, bool]:
    """Return the weight of a word, the letters of its conversion, and whether those are known words."""
    pairs = _pair_weight(word)
    if pairs <= _ENGLISH_PAIRS:
        return max(_MAX_AGAINST, _at(_UNKNOWN, len(word)) + pairs), len(word), False
    converted = convert_word(word, family)
    parts = _DEVANAGARI_WORD.findall(converted)
    n_letters = sum(map(len, parts))
    if not n_letters or len(word) < 2 or not _LETTER.search(word):
        return 0.0, n_letters, False
    known = False
    if _GLUED.search(converted):
        weight = _MAX_AGAINST
    elif _LEFT_OVER.search(converted) or any(_is_malformed(part, word) for part in parts):
        weight = _MALFORMED_WEIGHT + min(0.0, pairs)
    elif n_letters > 1 and all(map(is_word, parts)):
        weight, known = _at(_KNOWN, max(map(len, parts))) + pairs, True
    else:
        weight = _at(_UNKNOWN, n_letters) + min(2.0, pairs)
    return max(_MAX_AGAINST, weight), n_letters, known


def _is_malformed(converted: str, word: str) -> bool:
    match = _MALFORMED.search(converted)
    return bool(match) and not (match.end() == len(converted) and "\\" in word)


def _at(weights: Sequence[float], n: int) -> float:
    return weights[min(n, len(weights) - 1)]


def _line_words(text: str, line: regex.Match[str], family: str, named: bool) -> list[Word]:
    """Return the words of one line."""
    spans = _unwrapped(text, [match.span() for match in _WORD.finditer(text, *line.span())], family)
    reads_digits = LEGACY_FONTS[family].glyphs["1"] == "१"
    words = []
    for i, (start, end) in enumerate(spans):
        word = text[start:end]
        opaque = _is_opaque(word) or (not named and _is_markup(word, first=i == 0))
        if not opaque and not reads_digits:
            following = text[spans[i + 1][0]] if i + 1 < len(spans) else ""
            opaque = _is_number(word) or _stays_digit(word, following, first=i == 0, named=named)
        weight, n_letters, known = (0.0, 0, False) if opaque else weigh(word, family)
        if named and _MAX_AGAINST < weight < 0.0 and _pair_weight(word) > _NO_ENGLISH_PAIRS:
            weight = 0.0
        words.append(Word(start, end, weight, n_letters, known, opaque, begins_line=i == 0))
    return words


@lru_cache(maxsize=100_000)
def _is_opaque(word: str) -> bool:
    foreign = len(word) > _MAX_WORD or (not word.isascii() and bool(_FOREIGN.search(word)))
    return foreign or bool(_OPAQUE.search(word) or _ACRONYM.fullmatch(word.rstrip(",.;:")))


def _is_markup(word: str, *, first: bool) -> bool:
    return bool(_MARKUP.fullmatch(word) or (first and _LINE_MARKUP.fullmatch(word)))


def _is_number(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word)) and sum(map(str.isdecimal, word)) > 1


def _stays_digit(word: str, following: str, *, first: bool, named: bool) -> bool:
    """Return whether a single digit is one, and not the letter that its key draws.

    A 5 is छ ("is") at the end of a clause, other single digits are letters only as labels in a named font.
    """
    digit = _DIGIT.fullmatch(word)
    if not digit or (named and digit[1] in "356789"):
        return False
    ends_clause = digit[2] or following in ("", ".", ",", "/", ";", "M")
    return digit[1] != "5" or first or not ends_clause


def _unwrapped(text: str, spans: list[tuple[int, int]], family: str) -> list[tuple[int, int]]:
    """Return the spans of a line's words without plain quotes, brackets and stars around words or phrases."""
    spans = list(spans)
    for i, (start, end) in enumerate(spans):
        openers = _OPENERS.match(text, start, end)
        for opener in openers[0] if openers and _LETTER.search(text, start, end) else "":
            closing = _closing(text, spans[i : i + _PHRASE], opener, family)
            if closing is None and opener not in _NEVER_FIRST:
                break
            spans[i] = spans[i][0] + 1, spans[i][1]
            if closing is not None:
                offset, position = closing
                spans[i + offset] = spans[i + offset][0], position
    return [(start, end) for start, end in spans if start < end]


def _closing(text: str, spans: Sequence[tuple[int, int]], opener: str, family: str) -> tuple[int, int] | None:
    """Return which of the words closes what the first one opens, and where.

    Quotes are keys of signs, too: one closes where the word is known without it or unknown with it.
    """
    for offset, (start, end) in enumerate(spans):
        if end - start > _MAX_WORD:
            return None
        closers = _CLOSED.search(text, start, end)
        position = text.rfind(_CLOSERS[opener], closers.start(), end) if closers else -1
        if position > start and (
            weigh(text[start:position], family)[2] or not weigh(text[start:end], family)[2]
        ):
            return offset, position
    return None


def _pair_weight(word: str) -> float:
    """Return the weight of the letter pairs, from word edge to word edge."""
    table = _letter_pairs()
    edged = f" {word.strip('.,;:!?()').lower()} "
    weight = _PAIR_WEIGHT * sum(table.get(first + second, 0.0) for first, second in pairwise(edged))
    return min(_MAX_FOR, max(_MAX_AGAINST, weight))


@cache
def _letter_pairs() -> dict[str, float]:
    """Return the table of letter_pairs.txt."""
    text = resources.files("rag_platform.text").joinpath("letter_pairs.txt").read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if not row.startswith("#")]
    letters = " abcdefghijklmnopqrstuvwxyz"
    return {
        a + b: (ord(code) - ord("I")) / 2
        for a, row in zip(letters, rows, strict=True)
        for b, code in zip(letters, row, strict=True)
    }


def _likeliest(words: Sequence[Word], course: Course) -> list[bool]:
    """Return for each word whether the likeliest course through the text is legacy there (Viterbi)."""
    other, legacy = (-course.leave, 0.0) if course.begins_legacy else (0.0, -course.enter)
    steps: list[tuple[bool, bool]] = []
    for word in words:
        factor = course.new_line if word.begins_line else 1.0
        leaves, enters = legacy - factor * course.leave, other - factor * course.enter
        steps.append((leaves > other, legacy >= enters))
        other, legacy = max(other, leaves), max(legacy, enters) + word.weight
    side, sides = legacy > other, []
    for left, stayed in reversed(steps):
        sides.append(side)
        side = stayed if side else left
    return sides[::-1]


def _runs(chosen: Sequence[tuple[int, Word]], words: Sequence[Word]) -> list[list[Word]]:
    """Group the chosen words: a run ends where other words with letters stand between."""
    runs: list[list[Word]] = []
    last = -2
    for i, word in chosen:
        if runs and all(words[j].opaque or not words[j].n_letters for j in range(last + 1, i)):
            runs[-1].append(word)
        else:
            runs.append([word])
        last = i
    return runs


def _is_nepali(run: Sequence[Word]) -> bool:
    """Whether a run is more than an accident: most of its words are Nepali, and those have letters enough."""
    weighty = [word for word in run if word.n_letters > 2 and word.weight]
    known = [word for word in weighty if word.known]
    if not known or 2 * len(known) < len(weighty):
        return False
    longest, total = max(word.n_letters for word in known), sum(word.n_letters for word in known)
    return longest >= _LONG_WORD or total >= 2 * _LONG_WORD
