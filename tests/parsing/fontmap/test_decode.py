from __future__ import annotations

import pytest

from rag_platform.parsing.fontmap.decode import Reading, decode
from rag_platform.parsing.fontmap.script import REPH


def gsub(*texts: str) -> list[Reading]:
    halves = frozenset("नत")
    return [
        Reading(text, "gsub", shows_halant=text.endswith("्") and text != "न्त्", halves=halves)
        for text in texts
    ]


def test_glyphs_become_a_word_in_the_order_of_the_text() -> None:
    decoded = decode(gsub("ि", "न", "म", REPH, "ा", "ण"))
    assert (decoded.text, decoded.sure) == ("निर्माण", True)


def test_a_halant_on_a_letter_with_a_half_form_was_asked_for() -> None:
    assert decode(gsub("मा", "न", "्", "को")).text == "मान्‌को"
    assert decode(gsub("ट", "्", "को")).text == "ट्को"
    assert decode(gsub("मा", "न", "्")).text == "मान्"


def test_legacy_runs_are_converted_as_a_whole_between_others() -> None:
    readings = [*gsub("क"), Reading("g", "legacy"), Reading("]", "legacy"), *gsub("ख")]
    assert decode(readings, lambda start, end: f"<{start}:{end}>").text == "क<1:3>ख"


def test_a_short_i_crosses_from_one_kind_of_evidence_to_another() -> None:
    assert decode([Reading("ि", "outline"), Reading("क", "learned", posterior=0.9)]).text == "कि"


def test_vowels_in_parts_are_joined_where_the_font_draws_them_so() -> None:
    parts = [Reading("अ", "learned", in_parts=True), Reading("ाे", "learned", in_parts=True)]
    assert decode(parts).text == "ओ"


@pytest.mark.parametrize(
    ("reading", "sure"),
    [
        (Reading("क", "gsub"), True),
        (Reading("क", ""), False),
        (Reading("क", "learned", posterior=0.69), False),
        (Reading("क", "learned", posterior=0.7, residual=0.3), True),
        (Reading("क", "learned", posterior=0.9, residual=0.31), False),
    ],
)
def test_a_word_is_as_sure_as_its_glyphs(reading: Reading, sure: bool) -> None:
    assert decode([Reading("म", "gsub"), reading]).sure is sure
