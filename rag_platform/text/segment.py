"""Where a text may be cut: between sentences, and between graphemes.

Positions only, in code points of the given text; how long a piece should be is the chunkers' business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import regex

from rag_platform.text.language import detect_language
from rag_platform.text.scripts import FULL_STOPS
from rag_platform.types import Span

__all__ = ["grapheme_boundaries", "is_grapheme_boundary", "sentences"]

# Clusters of older Unicode versions end after a halant, so they are joined where it binds the next letter.
# Halant with ZWNJ binds nothing: श्रीमान्‌को may be cut before को.
_AKSHARA = regex.compile(r"(?:\X(?<=\p{ccc=9}[\p{M}\u200d]*)(?=\p{L}))*\X")

_CLOSERS = r"""['")\]}’”»*_]*"""
_BOUNDARY = regex.compile(
    rf"""
      (?m:^(?P<line>[^\S\n]*(?:\|.*\||\#{{1,6}}\ .*)[^\S\n]*)$)     # a table row, a heading: alone
    | \n (?= [^\S\n]* (?:\n | (?:[-*•–]|\p{{Nd}}+[.)])\s) )         # a blank line; an item of a list
    | (?<! \p{{Nd}} (?=।\p{{Nd}}) )                                 # not in a date: २०८१।०४।१५
      (?: ॥\s*\p{{Nd}}+\s*॥ | [।॥]+ ) {_CLOSERS}                    # verses end with their number
    | (?<= \p{{Devanagari}}\ ? ) \| (?=\s|$)                        # a pipe typed as danda
    | [?!]+ (?! [\p{{Latin}}0-9=&/] ) {_CLOSERS}                    # not in an address: http://a.np/?q=1
    | (?<= [\p{{Latin}}0-9)\]%"'”’] ) (?P<stop> \.+ | … ) {_CLOSERS} (?=\s|$)
    """,
    regex.VERBOSE | regex.V1,
)

_INDIC_STOP = regex.compile(
    r"(?<=[[\p{Devanagari}\p{Telugu}]&&[\p{L}\p{M}]]) \.+ (?=\s|$)", regex.VERBOSE | regex.V1
)
_LAST_WORD = regex.compile(r"(?r)\S+")
_ABBREVIATION = regex.compile(
    r"(?i)[(\[\"'“‘]*(?:\p{L}|(?:\p{L}\.)+\p{L}|Mr|Mrs|Ms|Dr|Prof|Er|Hon|Rev|Gen|Col|Lt|Capt|Sgt|St|Jr|Sr|vs|etc|al|cf"
    r"|ca|viz|approx|dept|est|govt|nos|vol|ch|sec|art|figs?|eq|eds?|pp|paras?|cl|Pvt|Ltd|Inc|Co|Corp|N?Rs|Ph\.D|Jan|Feb"
    r"|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_SAMPLE = 1000
"""Characters on each side of a full stop that tell the language."""
_LOOK_BACK = 40
"""Characters before a full stop that decide about it: longer than any abbreviation."""


def grapheme_boundaries(text: str) -> list[int]:
    """Return every position where the text may be cut, its two ends included.

    Extended grapheme clusters, with Devanagari aksharas kept whole: no cut falls between a halant and the
    letter it joins, nor before a dependent sign, ZWJ or ZWNJ.

    >>> grapheme_boundaries("क्षत्रिय")
    [0, 3, 7, 8]
    """
    return [0, *(match.end() for match in _AKSHARA.finditer(text))]


def is_grapheme_boundary(text: str, position: int) -> bool:
    """Return whether the text may be cut at a position that follows a space, a mark or a letter.

    Looks at the neighbours alone, so it is cheap on a long text; inside a sequence of emoji, whose unity
    depends on its beginning, it may say True.
    """
    if position <= 0 or position >= len(text):
        return True
    return bool(_AKSHARA.match(text, position - 1).end() == position)


def sentences(text: str) -> list[Span]:
    """Return the sentences, trimmed, without what holds neither letter nor digit.

    They end with ``।``, ``॥``, ``?``, ``!``, a pipe typed as danda, a blank line, and with ``.`` after a
    Latin word; in Nepali text ``.`` abbreviates (रु. डा. वि.सं.) and ends nothing, in Marathi and Telugu it
    does both. A table row, a heading and an item of a list stand alone.

    >>> [text[s.start:s.end] for text in ["डा. राईले भने। Done. हो?"] for s in sentences(text)]
    ['डा. राईले भने।', 'Done.', 'हो?']
    """
    spans, start = [], 0
    for end in (*_cuts(text), len(text)):
        piece = text[start:end]
        body = piece.strip()
        if any(char.isalnum() for char in body):
            first = start + len(piece) - len(piece.lstrip())
            spans.append(Span(first, first + len(body)))
        start = end
    return spans


def _cuts(text: str) -> Iterator[int]:
    """Yield the positions between sentences, ascending."""
    stops = _indic_stops(text)
    for match in _BOUNDARY.finditer(text):
        while stops and stops[0] < match.end():
            yield stops.popleft()
        if match["line"] is not None:
            yield match.start()
        if match["stop"] is None or _is_full_stop(text, match.start(), match.end()):
            yield match.end()
    yield from stops


def _indic_stops(text: str) -> deque[int]:
    """Return the ends of full stops after Indic words, in a language that ends its sentences with them."""
    matches = list(_INDIC_STOP.finditer(text))
    if not matches:
        return deque()
    sample = text[max(0, matches[0].start() - _SAMPLE) : matches[0].end() + _SAMPLE]
    abbreviations = FULL_STOPS.get(detect_language(sample))
    if abbreviations is None:
        return deque()
    return deque(m.end() for m in matches if _word_before(text, m.start()) not in abbreviations.split())


def _word_before(text: str, position: int) -> str:
    word = _LAST_WORD.search(text[max(0, position - _LOOK_BACK) : position])
    return word[0] if word else ""


def _is_full_stop(text: str, dot: int, end: int) -> bool:
    """Return whether the ``.`` at ``dot`` after a Latin word or number ends a sentence."""
    before = text[max(0, dot - _LOOK_BACK) : dot]
    word = _LAST_WORD.search(before)
    after = text[end : end + _LOOK_BACK].lstrip()
    if word is None or not after:
        return True
    if regex.match(r"\p{Ll}", after):
        return False
    if not regex.search(r"\p{Latin}", word[0]):
        is_item_no = not before[: word.start()].rpartition("\n")[2].strip() and word[0].isdigit()
        return not is_item_no and not regex.match(r"[\W\d]*\p{Devanagari}", after)
    if word[0].lower() in {"no", "p"}:
        return not after[0].isdigit()
    return not _ABBREVIATION.fullmatch(word[0])
