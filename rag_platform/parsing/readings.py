"""Two readings of one picture put together: the Nepali one, and Latin words from one in both languages.

Works on words with boxes; runs nothing. Measured on eight pages that mix the scripts, in four fonts: true
Latin words have a confidence of 86 and more in all but 1 %, Nepali words taken for Latin ones ("AAT", "Weal")
at most 79.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

import regex

from rag_platform.parsing.tesseract import Word

__all__ = [
    "doubtful_stretches",
    "in_lines",
    "in_place",
    "mean_confidence",
    "nepali_stretches",
    "with_dandas",
    "with_latin",
    "without_echoes",
]

_SURE, _AHEAD = 80.0, 5.0
"""When a Latin word is believed where the Nepali reading has a Nepali word."""
_FAIRLY_SURE, _LONG_WAY_AHEAD = 70.0, 30.0
"""... or this far ahead of a reading that is hardly one."""
_NUMBER_SURE, _NUMBER_AHEAD = 90.0, 10.0
"""... where it has a number: capitals pass for digits in the Nepali reading (SSF for 552), at 53 to 74."""
_DEBRIS_SURE, _DEBRIS_LEAST, _FAR_AHEAD = 70.0, 40.0, 20.0
"""... where it has neither."""
_DOUBTFUL = 60.0
_ALL_SURE = 92.0
"""Stretches whose words all have more are not read in Nepali again: on mixed pages the second reading then
adds 25 to 51 % instead of 63 to 75 % of the time, at the same error."""
_CLOSE = 0.3
"""Gap before a danda, of the height of the word, that is none: spaces are wider."""
_TOUCHING = 12
"""Pixels by which the boxes of neighbouring words may overlap."""
_SHORTEST_ECHO, _ALIKE = 3, 0.6
_END_MARK = regex.compile("[।॥,;:.?!]$")
_LATIN, _DEVANAGARI = regex.compile(r"\p{Latin}"), regex.compile(r"\p{Devanagari}")
_OPENING = r"[\p{Ps}\p{Pi}\p{Pd}\"'‘’“”]*"
_LETTER = r"[\p{Devanagari}&&[\p{L}\p{M}]]"
_NEPALI_WORD = regex.compile(
    rf"{_OPENING}(?=[^\p{{P}}]){_LETTER}[{_LETTER}\u200c\u200d]*(?:\p{{Pd}}[{_LETTER}\u200c\u200d]+)*[\p{{P}}।]*",
    regex.V1,
)
_NUMBER = regex.compile(_OPENING + r"(?:[0-9]+(?:[.,:/-][0-9]+)*|[०-९]+(?:[.,:/-][०-९]+)*)[\p{P}।]*")
_MARKS = regex.compile(r"\p{P}+")
_ADDRESS = regex.compile(r"(?:https?://|www\.\s?)\S{4,}|\S+@\S+\.\S+")
_TWO_SCRIPTS = regex.compile("[0-9][०-९]|[०-९][0-9]")
_STROKES = frozenset({"I", "l", "|"})
"""What a danda is taken for."""
_FOREIGN = regex.compile(r"[^\p{Devanagari}\p{N}\p{P}\u200c\u200d]")


def in_lines(words: Sequence[Word]) -> list[list[Word]]:
    """Group words by their printed line."""
    lines: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        lines.setdefault((word.paragraph, word.line), []).append(word)
    return list(lines.values())


def mean_confidence(words: Sequence[Word]) -> float:
    """Return the mean confidence of words, each by its length; 0 for none."""
    n_characters = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / n_characters if n_characters else 0.0


def doubtful_stretches(words: Sequence[Word]) -> list[list[Word]]:
    """Return the stretches of lines of a Nepali reading that may hold Latin words.

    With one word on either side: short Latin words pass for numbers of which the reading is sure.
    """
    return _stretches(words, _is_doubtful)


def nepali_stretches(words: Sequence[Word]) -> list[list[Word]]:
    """Return the stretches of a reading in both languages that hold Nepali, sure ones left out."""
    stretches = _stretches(words, lambda word: _DEVANAGARI.search(word.text) is not None)
    return [stretch for stretch in stretches if any(word.confidence < _ALL_SURE for word in stretch)]


def _stretches(words: Sequence[Word], wanted: Callable[[Word], bool]) -> list[list[Word]]:
    stretches = []
    for line in in_lines(words):
        found = [at for at, word in enumerate(line) if wanted(word)]
        if found:
            stretches.append(line[max(0, found[0] - 1) : found[-1] + 2])
    return stretches


def _is_doubtful(word: Word) -> bool:
    odd = _FOREIGN.search(word.text) or _TWO_SCRIPTS.search(word.text)
    return word.confidence < _DOUBTFUL or odd is not None


def with_latin(nepali: Sequence[Word], both: Sequence[Word]) -> list[Word]:
    """Return the Nepali reading with the real Latin words of the other one in it."""
    merged: list[Word] = []
    used: set[int] = set()
    for line in in_lines(nepali):
        beside = [word for word in both if id(word) not in used and _level(word, line)]
        for mine, others in _places(line, beside):
            if mine and others and _is_latin(mine, others):
                used.update(map(id, others))
                merged.extend(_in_place_of(mine, others))
            else:
                merged.extend(mine)
    return merged


def in_place(both: Sequence[Word], again: Sequence[tuple[Sequence[Word], Sequence[Word]]]) -> list[Word]:
    """Return a reading in both languages with some stretches replaced by their Nepali reading.

    Args:
        both: The reading.
        again: Stretches of its lines, each with what was read there in Nepali alone.
    """
    instead: dict[int, list[Word]] = {}
    for stretch, nepali in again:
        if nepali:
            first = stretch[0]
            mine = [replace(word, paragraph=first.paragraph, line=first.line) for word in nepali]
            instead.update((id(word), []) for word in stretch)
            instead[id(first)] = with_latin(mine, stretch)
    return [word for old in both for word in instead.get(id(old), [old])]


def _is_latin(nepali: Sequence[Word], others: Sequence[Word]) -> bool:
    """Say whether what stands at one place are the other reading's Latin words."""
    if not any(_LATIN.search(word.text) for word in others):
        return False
    here, there = mean_confidence(nepali), mean_confidence(others)
    texts = [word.text for word in nepali if not _MARKS.fullmatch(word.text) and word.text not in _STROKES]
    if texts and all(map(_NEPALI_WORD.fullmatch, texts)):
        certain, fairly = there >= _SURE, there >= _FAIRLY_SURE
        return (certain and there >= here + _AHEAD) or (fairly and there >= here + _LONG_WAY_AHEAD)
    if _ADDRESS.search(" ".join(word.text for word in others)):
        return True
    if texts and all(map(_NUMBER.fullmatch, texts)):
        return there >= _NUMBER_SURE or (there >= _SURE and there >= here + _NUMBER_AHEAD)
    if not texts and all(word.text in _STROKES for word in others):
        return False
    return there >= _DEBRIS_SURE or (there >= _DEBRIS_LEAST and there >= here + _FAR_AHEAD)


def _in_place_of(nepali: Sequence[Word], others: Sequence[Word]) -> Iterator[Word]:
    """Yield the other reading's words as words of the Nepali line; a danda stays one."""
    for word in others:
        is_bar = word is others[-1] and word.text.endswith("|") and nepali[-1].text.endswith("।")
        text = f"{word.text[:-1]}।" if is_bar else word.text
        yield replace(word, text=text, paragraph=nepali[0].paragraph, line=nepali[0].line)


def with_dandas(words: Sequence[Word]) -> list[Word]:
    """Return words with the strokes that end Nepali lines as dandas, close to the word that they end."""
    ended: list[Word] = []
    for line in in_lines(words):
        *before, last = line
        if before and any(_DEVANAGARI.search(word.text) for word in before):
            if last.text == "|" or regex.search(r"[\p{L}\p{M}\p{N}]\|$", last.text):
                last = replace(last, text=f"{last.text[:-1]}।")
            close = last.left - before[-1].right <= _CLOSE * before[-1].height
            if last.text == "।" and close and not _END_MARK.search(before[-1].text):
                joined = before.pop()
                width = last.right - joined.left
                last = replace(joined, text=f"{joined.text}।", width=width)
        ended += [*before, last]
    return ended


def _level(word: Word, line: Sequence[Word]) -> bool:
    top, bottom = min(other.top for other in line), max(other.bottom for other in line)
    return min(bottom, word.bottom) - max(top, word.top) > 0.5 * min(bottom - top, word.height)


def _places(line: Sequence[Word], beside: Sequence[Word]) -> Iterator[tuple[list[Word], list[Word]]]:
    """Yield what both readings have at each place of a line, from left to right."""
    mine: list[Word] = []
    others: list[Word] = []
    end = 0
    marked = [(word, True) for word in line] + [(word, False) for word in beside]
    for word, is_mine in sorted(marked, key=lambda item: (item[0].left, not item[1])):
        if (mine or others) and word.left >= end - min(_TOUCHING, word.width // 3):
            yield mine, others
            mine, others, end = [], [], 0
        (mine if is_mine else others).append(word)
        end = max(end, word.right)
    if mine or others:
        yield mine, others


def without_echoes(words: Sequence[Word]) -> list[Word]:
    """Drop what Tesseract reads twice: the end of a word once more, over the word itself.

    Boxes alone do not tell: those of different words overlap, too.
    """
    kept: list[Word] = []
    for word in words:
        before = kept[-1] if kept else None
        if before is None or not _echoes(before, word):
            kept.append(word)
        elif (end := _END_MARK.search(word.text)) and not _END_MARK.search(before.text):
            kept[-1] = replace(before, text=before.text + end[0])
    return kept


def _echoes(before: Word, word: Word) -> bool:
    one, other = _END_MARK.sub("", before.text), _END_MARK.sub("", word.text)
    if (before.paragraph, before.line) != (word.paragraph, word.line) or len(other) < _SHORTEST_ECHO:
        return False
    alike = SequenceMatcher(None, one[-len(other) :], other, autojunk=False).ratio()
    return alike >= _ALIKE and _over(word, before)


def _over(one: Word, other: Word) -> bool:
    """Say whether both stand on the same spot of the picture."""
    wide = min(one.right, other.right) - max(one.left, other.left)
    high = min(one.bottom, other.bottom) - max(one.top, other.top)
    return wide > 0.5 * min(one.width, other.width) and high > 0.5 * min(one.height, other.height)
