"""A map learned from pairs of drawn words and their OCR: which string each glyph stands for.

Expectation maximisation over the ways to cut a word's string into one piece a glyph, each piece of 0 to 5
characters. Glyphs whose meaning is known stay as they are and hold the others in place. Strings are visual.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag_platform.parsing.fontmap.script import HALANT, RA, RAKAR, REPH, SHORT_I, is_consonant

__all__ = ["Example", "Learned", "choose_pages", "learn"]

_LENGTHS = (0.04, 0.72, 0.12, 0.05, 0.02, 0.01)
"""How often a glyph stands for so many characters, if nothing else is known of them."""
_HALF = re.compile(f"[\u0915-\u0939]\u093c?{HALANT}")
_CONJUNCT = re.compile(f"(?:[\u0915-\u0939]\u093c?{HALANT}){{1,2}}[\u0915-\u0939]{HALANT}?")
_TWO_CLUSTERS = re.compile("[\u0904-\u0939\u093e-\u094c][\u0904-\u0939]")
_LONGEST = len(_LENGTHS) - 1
_ROUNDS = 12
_FLOOR = 1e-6
_PRUNED = 2e-3
_MAX_GLYPHS = 30
_MIN_COUNT = 2.0
_MIN_WORDS = 3
_TRUSTED = 0.85
_MIN_AGREED = 6
_CLAIM = 2.0
_ENOUGH = 8
"""Times that a glyph should be seen in training."""

Key = tuple[str, int | str]
"""What makes two glyphs the same: a kind of name, and the name."""


@dataclass(frozen=True, slots=True)
class Example:
    """A drawn word: its glyphs, the visual string that OCR read, and how many times it was."""

    glyphs: tuple[Key, ...]
    text: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Learned:
    """What a glyph stands for.

    Attributes:
        text: Visual string.
        posterior: Its share of the glyph's expected counts.
        residual: Share of the glyph's words that the finished map spells otherwise than OCR.
        count: Expected count of the glyph.
    """

    text: str
    posterior: float
    residual: float
    count: float


_Table = dict[Key, dict[str, float]]


def learn(
    pairs: Iterable[tuple[tuple[Key, ...], str]],
    known: Mapping[Key, str],
    *,
    claims: Mapping[Key, str] | None = None,
) -> dict[Key, Learned]:
    """Learn the glyphs that are not known.

    Args:
        pairs: Glyphs of a word in drawn order, and its visual string.
        known: Strings of glyphs that other evidence gave; never changed.
        claims: What the text layer says of glyphs. Listened to only where it agrees with what was learned.
    """
    examples = [
        Example(glyphs, text, count)
        for (glyphs, text), count in Counter(pairs).items()
        if text and len(glyphs) <= _MAX_GLYPHS and len(text) <= _LONGEST * len(glyphs)
    ]
    table = _start(examples, known)
    for _ in range(_ROUNDS):
        table = _round(examples, table, known)
    found = _finished(examples, _expected(examples, table, known), known)
    trust = _trust(found, claims or {})
    if claims and trust >= _TRUSTED:
        return _with_claims(examples, table, known, claims, trust)
    return found


def _trust(found: Mapping[Key, Learned], claims: Mapping[Key, str]) -> float:
    """Return the share of well learned glyphs of which the layer says the same; 0 where they are few."""
    agreed = [
        found[glyph].text in _claimed(claim)
        for glyph, claim in claims.items()
        if glyph in found and found[glyph].count >= _MIN_WORDS and found[glyph].posterior > 0.6
    ]
    return sum(agreed) / len(agreed) if len(agreed) >= _MIN_AGREED else 0.0


def _claimed(claim: str) -> tuple[str, ...]:
    """Return the visual strings that a claim may mean, the likelier first: ra + halant is mostly a reph."""
    return (REPH, claim) if claim == RA + HALANT else (claim,)


def _with_claims(
    examples: Sequence[Example],
    table: _Table,
    known: Mapping[Key, str],
    claims: Mapping[Key, str],
    trust: float,
) -> dict[Key, Learned]:
    """Learn again with each claim counted like two more sightings, and take it for glyphs never seen."""
    for _ in range(_ROUNDS):
        counts = _expected(examples, table, known)
        _add_claims(counts, claims)
        table = {glyph: _shares(found) for glyph, found in counts.items()}
    counts = _expected(examples, table, known)
    _add_claims(counts, claims)
    unseen = {
        glyph: Learned(_claimed(claim)[0], trust, 0.0, 0.0)
        for glyph, claim in claims.items()
        if glyph not in counts and glyph not in known
    }
    return {**unseen, **_finished(examples, counts, known)}


def _add_claims(counts: Mapping[Key, dict[str, float]], claims: Mapping[Key, str]) -> None:
    for glyph, found in counts.items():
        for text in _claimed(claims[glyph]) if glyph in claims else ():
            found[text] = found.get(text, 0.0) + _CLAIM / len(_claimed(claims[glyph]))


def _start(examples: Sequence[Example], known: Mapping[Key, str]) -> _Table:
    """Guess from words with as many characters as glyphs; others lend their diagonal."""
    counts: defaultdict[Key, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for example in examples:
        n, length = len(example.glyphs), len(example.text)
        for at, glyph in enumerate(example.glyphs):
            if glyph in known:
                continue
            if n == length:
                counts[glyph][example.text[at]] += 2.0 * example.count
            centre = (at + 0.5) * length / n
            for size in range(_LONGEST + 1):
                for start in range(max(0, int(centre) - 2 - size), min(length - size, int(centre) + 2) + 1):
                    distance = abs(start + size / 2 - centre)
                    counts[glyph][example.text[start : start + size]] += (
                        0.2 * example.count * _likely(example.text[start : start + size]) * 0.4**distance
                    )
    return {glyph: _shares(found) for glyph, found in counts.items()}


def _shares(counts: Mapping[str, float]) -> dict[str, float]:
    total = sum(counts.values()) or 1.0
    return {text: count / total for text, count in counts.items() if count > _PRUNED * total}


def _round(examples: Sequence[Example], table: _Table, known: Mapping[Key, str]) -> _Table:
    counts = _expected(examples, table, known)
    return {glyph: _shares(found) for glyph, found in counts.items()}


def _expected(
    examples: Sequence[Example], table: _Table, known: Mapping[Key, str] | None = None
) -> dict[Key, dict[str, float]]:
    """Count how often each glyph stands for each string, over all ways to cut each word."""
    counts: dict[Key, dict[str, float]] = {glyph: {} for glyph in table}
    fixed: _Table = {glyph: {text: 1.0} for glyph, text in (known or {}).items()}
    for example in examples:
        shares = [table.get(glyph) or fixed.get(glyph, {}) for glyph in example.glyphs]
        for glyph, text, weight in _cuts(example, shares):
            if glyph in counts:
                counts[glyph][text] = counts[glyph].get(text, 0.0) + weight * example.count
    return counts


def _cuts(example: Example, shares: Sequence[Mapping[str, float]]) -> Iterable[tuple[Key, str, float]]:
    """Yield each glyph with each of its possible pieces and the weight of the cuts that have it."""
    text, n, length = example.text, len(example.glyphs), len(example.text)
    pieces = [_pieces(text, share) for share in shares]
    forward: list[dict[int, float]] = [{0: 1.0}]
    for at in range(n):
        reached: dict[int, float] = {}
        rest = (n - at - 1) * _LONGEST
        for place, weight in forward[at].items():
            for size, share in pieces[at][place]:
                to = place + size
                if length - to <= rest:
                    reached[to] = reached.get(to, 0.0) + weight * share
        forward.append(reached)
    total = forward[n].get(length, 0.0)
    if total <= 0.0:
        return
    backward: dict[int, float] = {length: 1.0}
    for at in range(n - 1, -1, -1):
        earlier: dict[int, float] = {}
        for place, weight in forward[at].items():
            for size, share in pieces[at][place]:
                after = backward.get(place + size)
                if after is None:
                    continue
                onward = share * after
                earlier[place] = earlier.get(place, 0.0) + onward
                piece = text[place : place + size]
                if piece in shares[at]:
                    yield example.glyphs[at], piece, weight * onward / total
        backward = earlier


@lru_cache(maxsize=65536)
def _likely(piece: str) -> float:
    """Return how likely a glyph is to stand for a string, by how fonts draw: half forms, a short i alone."""
    if piece == RAKAR or _HALF.fullmatch(piece):
        return 0.4
    if _CONJUNCT.fullmatch(piece):
        return 0.2
    torn = piece.startswith(HALANT) or _TWO_CLUSTERS.search(piece) is not None
    short_i_inside = len(piece) > 1 and SHORT_I in piece and any(map(is_consonant, piece))
    return _LENGTHS[len(piece)] * (0.1 if torn else 1.0) * (0.05 if short_i_inside else 1.0)


def _pieces(text: str, share: Mapping[str, float]) -> list[list[tuple[int, float]]]:
    """Return for each place of a word the lengths that a glyph may take there, and how likely they are."""
    length = len(text)
    return [
        [
            (
                size,
                _likely(text[place : place + size]) * max(share.get(text[place : place + size], 0.0), _FLOOR),
            )
            for size in range(min(_LONGEST, length - place) + 1)
        ]
        for place in range(length + 1)
    ]


def _finished(
    examples: Sequence[Example], counts: Mapping[Key, Mapping[str, float]], known: Mapping[Key, str]
) -> dict[Key, Learned]:
    best = {glyph: max(found, key=found.__getitem__) for glyph, found in counts.items() if found}
    strings = {**best, **known}
    words: Counter[Key] = Counter()
    wrong: Counter[Key] = Counter()
    for example in examples:
        spelt = "".join(strings.get(glyph, "") for glyph in example.glyphs)
        for glyph in set(example.glyphs):
            words[glyph] += example.count
            if spelt != example.text:
                wrong[glyph] += example.count
    learned: dict[Key, Learned] = {}
    for glyph, text in best.items():
        total = sum(counts[glyph].values())
        posterior = counts[glyph][text] / total if total >= _MIN_COUNT else min(0.5, total / _MIN_COUNT)
        residual = wrong[glyph] / words[glyph] if words[glyph] >= _MIN_WORDS else 0.0
        learned[glyph] = Learned(text, posterior, residual, total)
    return learned


def choose_pages(
    pages: Mapping[int, Mapping[Key, int]],
    unknown: Iterable[Key],
    *,
    at_most: int,
    at_least: int = 3,
    aim: float = 0.995,
) -> list[int]:
    """Choose the pages that show unknown glyphs best, each glyph some times, frequent ones first.

    Args:
        pages: How often each glyph is drawn on each page.
        unknown: Glyphs to learn.
        at_most: Number of pages.
        at_least: Number of pages, if there are so many, however much they show.
        aim: Share of the unknown ink after which more pages are not worth their OCR.
    """
    total: Counter[Key] = Counter()
    wanted = set(unknown)
    for counts in pages.values():
        total.update({glyph: n for glyph, n in counts.items() if glyph in wanted})
    seen: Counter[Key] = Counter()
    chosen: list[int] = []
    ink = sum(total.values()) or 1

    def gain(page: int) -> float:
        return sum(
            total[glyph] * (min(_ENOUGH, seen[glyph] + n) - min(_ENOUGH, seen[glyph])) / _ENOUGH
            for glyph, n in pages[page].items()
            if glyph in total and seen[glyph] < _ENOUGH
        )

    while len(chosen) < at_most:
        best = max((page for page in pages if page not in chosen), key=gain, default=None)
        if best is None or gain(best) <= 0:
            break
        chosen.append(best)
        seen.update({glyph: n for glyph, n in pages[best].items() if glyph in total})
        shown = sum(n for glyph, n in total.items() if seen[glyph] >= min(_ENOUGH, n))
        if len(chosen) >= at_least and shown >= aim * ink:
            break
    return chosen
