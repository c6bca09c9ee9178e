"""What an answer puts otherwise than its source, and what it may not."""

from __future__ import annotations

import pytest
from answering_texts import hits, marked

from rag_platform.answering.citations import verify
from rag_platform.answering.wording import plainer

HITS = hits()
SAME = [
    (1, "मोटरसाइकलको दर्ता शुल्क रु. २,५०० हो।"),
    (1, "नवीकरण नगरेमा ५० प्रतिशत जरिवाना तिर्नुपर्छ।"),
    (2, "चालक अनुमतिपत्रका लागि न्यूनतम उमेर १८ वर्ष हो।"),
    (2, "अनुमतिपत्रको शुल्क १,५०० रुपैयाँ लाग्छ।"),
    (4, "महसुल हरेक महिनाको ७ गतेसम्म तिर्नुपर्छ।"),
    (7, "अस्पतालमा जम्मा ५० वटा शय्या उपलब्ध छन्।"),
    (9, "The permit costs Rs 3,000."),
]
OTHER = [
    (1, "मोटरसाइकलको दर्ता शुल्क रु. ३,५०० हो।"),
    (1, "नवीकरण नगरेमा ५० प्रतिशत जरिवाना तिर्नुपर्दैन।"),
    (2, "चालक अनुमतिपत्रका लागि न्यूनतम उमेर २१ वर्ष हो।"),
    (3, "समितिको अध्यक्षमा फूलमाया तामाङ छानिनुभयो।"),
    (7, "अस्पतालमा जम्मा ९ वटा शय्या उपलब्ध छन्।"),
    (9, "The permit costs 3,000 dollars."),
]


@pytest.mark.parametrize(("number", "sentence"), SAME)
def test_other_words_for_the_same_are_supported(number: int, sentence: str) -> None:
    assert verify(marked(sentence, number), HITS).unsupported == ()


@pytest.mark.parametrize(("number", "sentence"), OTHER)
def test_other_numbers_names_units_and_denials_are_not(number: int, sentence: str) -> None:
    assert verify(marked(sentence, number), HITS).unsupported


def test_words_of_the_source_and_denials_stay() -> None:
    assert plainer("शुल्क लाग्छ", "शुल्क लाग्छ") == "शुल्क लाग्छ"
    assert plainer("शुल्क लाग्दैन", "दस्तुर तिर्नुपर्छ") == "लाग्दैन"
