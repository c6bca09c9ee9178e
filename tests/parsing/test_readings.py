from __future__ import annotations

from dataclasses import replace

from rag_platform.parsing.readings import (
    doubtful_stretches,
    in_place,
    nepali_stretches,
    with_dandas,
    with_latin,
    without_echoes,
)
from rag_platform.parsing.tesseract import Word


def word(text: str, left: int, confidence: float, *, width: int = 100, line: int = 1) -> Word:
    return Word(text, confidence, left, 100 * line, width, 40, 1, line)


def texts(words: list[Word]) -> list[str]:
    return [found.text for found in words]


def test_the_end_of_a_word_read_twice_is_dropped_and_neighbours_stay() -> None:
    whole = Word("पठाउनुहोस्", 90.0, 1047, 232, 252, 58, 1, 1)
    echo = replace(whole, text="नुहास्।", left=1178, top=249, width=139)
    other = replace(whole, text="सूचना", left=1178, top=249, width=139)

    assert texts(without_echoes([whole, echo])) == ["पठाउनुहोस्।"]
    assert texts(without_echoes([whole, other])) == ["पठाउनुहोस्", "सूचना"]
    assert len(without_echoes([whole, replace(echo, line=2)])) == 2


def test_real_latin_words_are_put_into_the_nepali_reading() -> None:
    nepali = [word("मिति:", 0, 74), word("१४००60)€", 200, 6), word("कर", 400, 75), word("पाठ", 600, 90)]
    both = [word("fafa:", 0, 78), word("ward6@example.org", 200, 46), word("TAX", 400, 93)]

    assert texts(with_latin(nepali, both)) == ["मिति:", "ward6@example.org", "TAX", "पाठ"]


def test_a_nepali_word_stays_where_its_reading_is_as_sure() -> None:
    assert texts(with_latin([word("मा", 0, 92)], [word("AT", 0, 93)])) == ["मा"]


def test_a_number_in_two_kinds_of_digits_is_doubtful() -> None:
    stretches = doubtful_stretches([word("ऐन", 0, 90), word("(५२8)", 120, 90), word("ऐन", 240, 90)])

    assert [texts(stretch) for stretch in stretches] == [["ऐन", "(५२8)", "ऐन"]]


def test_numbers_give_way_to_latin_words_only_when_these_are_sure() -> None:
    nepali = [word("910", 0, 93), word("१५", 200, 95)]
    both = [word("and", 0, 96), word("IS", 200, 85)]

    assert texts(with_latin(nepali, both)) == ["and", "१५"]


def test_capitals_that_pass_for_an_unsure_number_are_capitals() -> None:
    nepali = [word("(२३)", 0, 57), word("552", 200, 71), word("552", 400, 80)]
    both = [word("(NRB)", 0, 86), word("SSF", 200, 84), word("SSF", 400, 84)]

    assert texts(with_latin(nepali, both)) == ["(NRB)", "SSF", "552"]


def test_a_word_that_is_hardly_read_and_one_that_begins_with_a_danda_give_way() -> None:
    nepali = [word("(क),", 0, 30), word("।टा", 200, 86), word("॥निभए", 400, 12)]
    both = [word("(EPF),", 0, 72), word("ICT", 200, 71), word("fore", 400, 36)]

    assert texts(with_latin(nepali, both)) == ["(EPF),", "ICT", "॥निभए"]


def test_a_stroke_at_the_end_of_a_nepali_line_is_a_danda_close_to_its_word() -> None:
    ended = [word("फोन", 0, 90), word("01-42", 120, 90), word("|", 225, 60, width=8)]
    apart = [word("पाठ", 0, 90, line=2), word("।", 130, 90, width=8, line=2)]
    latin = [word("and", 0, 90, line=3), word("|", 105, 60, width=8, line=3)]

    assert texts(with_dandas(ended + apart + latin)) == ["फोन", "01-42।", "पाठ", "।", "and", "|"]
    assert with_dandas(ended)[-1].right == 233


def test_a_danda_is_not_taken_for_a_letter() -> None:
    assert texts(with_latin([word("पाठ", 0, 90), word("|", 105, 32)], [word("I", 105, 63)])) == ["पाठ", "|"]


def test_words_that_one_reading_splits_are_put_in_once() -> None:
    nepali = [word("011116", 0, 20, width=210)]
    both = [word("Online", 0, 96), word("form", 110, 96)]

    assert texts(with_latin(nepali, both)) == ["Online", "form"]


def test_a_danda_that_the_other_reading_takes_for_a_bar_stays() -> None:
    assert texts(with_latin([word("14//02।", 0, 27)], [word("MWSP/ICB|", 0, 76)])) == ["MWSP/ICB।"]


def test_words_of_other_lines_do_not_mix() -> None:
    assert texts(with_latin([word("011116", 0, 20)], [word("Online", 0, 96, line=2)])) == ["011116"]


def test_doubtful_stretches_reach_one_word_further() -> None:
    line = [word(text, 200 * at, 95) for at, text in enumerate(["यो", "कार्यालयको", "काम", "सुरु", "भयो।"])]
    line[2] = replace(line[2], confidence=30)
    sure = [word("पाठ", 0, 96, line=2)]
    foreign = [word("पाठ", 0, 96, line=3), word("१€", 200, 96, line=3)]

    stretches = doubtful_stretches([*line, *sure, *foreign])

    assert [texts(stretch) for stretch in stretches] == [["कार्यालयको", "काम", "सुरु"], ["पाठ", "१€"]]


def test_nepali_stretches_leave_out_sure_lines_and_latin_ones() -> None:
    unsure = [word("यो", 0, 95), word("फारम", 200, 80), word("form", 400, 96), word("page", 600, 96)]
    sure = [word("पाठ", 0, 96, line=2)]
    latin = [word("Office", 0, 40, line=3)]

    stretches = nepali_stretches([*unsure, *sure, *latin])

    assert [texts(stretch) for stretch in stretches] == [["यो", "फारम", "form"]]


def test_what_was_read_again_takes_its_place_in_the_line() -> None:
    both = [word("Form", 0, 96), word("Sata", 200, 70), word("मा", 400, 80), word("page", 600, 96)]
    again = [word("०१11", 0, 20), word("सडक", 200, 94), word("मा", 400, 95)]

    merged = in_place(both, [(both[:3], again)])

    assert texts(merged) == ["Form", "सडक", "मा", "page"]
    assert {(found.paragraph, found.line) for found in merged} == {(1, 1)}
    assert texts(in_place(both, [(both[:3], [])])) == texts(both)
