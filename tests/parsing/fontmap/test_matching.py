from __future__ import annotations

from rag_platform.parsing.fontmap.matching import OcrWord, Pair, pairs
from rag_platform.parsing.fontmap.trace import Box, TracedLine, TracedWord


def word(glyph: int, start: float, end: float, baseline: float = 100) -> TracedWord:
    return TracedWord([glyph], start, end, baseline, 10, 0, glyph)


def read(text: str, start: float, end: float, baseline: float = 100) -> tuple[OcrWord, Box]:
    box = (start, baseline - 7, end, baseline + 1)
    return OcrWord(text, *box), box


def found(lines: list[TracedLine], ocr: list[tuple[OcrWord, Box]]) -> list[tuple[tuple[int, ...], str]]:
    return [(pair.glyphs, pair.text) for pair in pairs(lines, ocr)]


def test_words_between_the_same_edges_are_pairs() -> None:
    lines = [TracedLine([word(1, 10, 40), word(2, 45, 80)])]
    assert found(lines, [read("नेपाल", 11, 39), read("सरकार", 46, 79)]) == [((1,), "नेपाल"), ((2,), "सरकार")]


def test_a_word_that_ocr_split_or_glued_is_still_matched() -> None:
    lines = [TracedLine([word(1, 10, 80), word(2, 85, 110), word(3, 113, 140)])]
    ocr = [read("नेपाल", 11, 44), read("सरकार", 46, 79), read("कोसाथ", 86, 139)]
    assert found(lines, ocr) == [((1,), "नेपाल"), ((2, 3), "कोसाथ")] or found(lines, ocr) == [
        ((1,), "नेपालसरकार"),
        ((2, 3), "कोसाथ"),
    ]


def test_words_whose_edges_differ_are_left_out() -> None:
    assert found([TracedLine([word(1, 10, 80)])], [read("नेपाल", 11, 60)]) == []


def test_each_ocr_word_belongs_to_the_nearest_line() -> None:
    lines = [TracedLine([word(1, 10, 40, 100)]), TracedLine([word(2, 10, 40, 112)])]
    assert found(lines, [read("तल", 10, 40, 112), read("माथि", 10, 40, 100)]) == [
        ((2,), "तल"),
        ((1,), "माथि"),
    ]


def test_ocr_far_from_any_line_is_left_out() -> None:
    assert found([TracedLine([word(1, 10, 40)])], [read("छाप", 10, 40, 140)]) == []


def test_a_pair_is_as_sure_as_its_least_sure_word() -> None:
    box = (10.0, 93.0, 40.0, 101.0)
    doubted = OcrWord("नेपाल", *box, confidence=0.4)
    (pair,) = pairs([TracedLine([word(1, 10, 40)])], [(doubted, box)])
    assert pair == Pair((word(1, 10, 40),), "नेपाल", 0.4)
