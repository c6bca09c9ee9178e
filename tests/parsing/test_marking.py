"""Where a span stands on a page, from made-up words with boxes."""

from __future__ import annotations

from rag_platform.parsing.marking import Mark, PlacedText, boxes_of, marks


def _line(y: float, *words: str) -> list[PlacedText]:
    """Return words of a tenth of the page each, on a line a hundredth high."""
    return [PlacedText(word, (0.1 * at, y, 0.1 * at + 0.09, y + 0.01)) for at, word in enumerate(words, 1)]


def test_each_word_of_the_text_gets_the_box_of_its_printed_word() -> None:
    words = [*_line(0.1, "कर", "कार्यालय", "बिहान"), *_line(0.12, "दश", "बजे", "खुल्छ।")]
    found = marks("कर कार्यालय बिहान दश बजे खुल्छ।", words)
    assert [mark.boxes for mark in found] == [(word.box,) for word in words]
    assert (found[1].start, found[1].end) == (3, 11)


def test_a_span_is_one_box_a_line() -> None:
    words = [*_line(0.1, "कर", "कार्यालय", "बिहान"), *_line(0.12, "दश", "बजे", "खुल्छ।")]
    found = marks("कर कार्यालय बिहान दश बजे खुल्छ।", words)
    assert boxes_of(found, 3, 20) == ((0.2, 0.1, 0.39, 0.11), (0.1, 0.12, 0.19, 0.13))


def test_running_lines_that_the_text_leaves_out_move_nothing() -> None:
    words = [*_line(0.02, "नेपाल", "राजपत्र"), *_line(0.1, "धारा", "मर्मत", "हुन्छ")]
    assert [mark.boxes for mark in marks("धारा मर्मत हुन्छ", words)] == [(w.box,) for w in words[2:]]


def test_words_that_the_page_spells_otherwise_are_found_between_their_neighbours() -> None:
    words = _line(0.1, "नगर", "k|d'v", "sfof{no", "बिहान")
    assert [mark.boxes for mark in marks("नगर प्रमुख कार्यालय बिहान", words)] == [(w.box,) for w in words]


def test_words_that_may_be_others_get_no_box() -> None:
    words = _line(0.1, "नगर", "k|d'v", "बिहान")
    found = marks("नगर प्रमुख कार्यालय बिहान", words)
    assert [bool(mark.boxes) for mark in found] == [True, False, False, True]
    assert boxes_of(found, 0, 25) is None


def test_a_word_divided_at_a_line_end_has_two_boxes() -> None:
    words = [*_line(0.1, "the", "Coopera-"), *_line(0.12, "tive", "Organization")]
    found = marks("the Cooperative Organization", words)
    assert found[1].boxes == (words[1].box, words[2].box)


def test_another_text_has_no_place_on_the_page() -> None:
    found = marks("बिहान दश बजे खुल्छ", _line(0.1, "Boil", "water", "for", "one", "minute"))
    assert [mark.boxes for mark in found] == [(), (), (), ()]
    assert boxes_of(found, 0, 18) is None


def test_columns_do_not_grow_into_each_other() -> None:
    beside = [Mark(0, 2, ((0.1, 0.1, 0.4, 0.11),)), Mark(3, 5, ((0.6, 0.1, 0.9, 0.11),))]
    assert boxes_of(beside, 0, 5) == ((0.1, 0.1, 0.4, 0.11), (0.6, 0.1, 0.9, 0.11))
