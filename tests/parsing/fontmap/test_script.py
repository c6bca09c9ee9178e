from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.parsing.fontmap.script import REPH, joined, logical, parted, visual

WORDS = [
    ("किन", "िकन"),
    ("वर्ष", "वष" + REPH),
    ("पार्श्व", "पाश्व" + REPH),
    ("निर्मित", "िनिम" + REPH + "त"),
    ("राष्ट्रिय", "रािष्ट्रय"),
    ("शक्ति", "शिक्त"),
    ("प्रति", "प्रित"),
    ("अर्थ", "अथ" + REPH),
    ("कर्तव्यं", "कत" + REPH + "व्यं"),
    ("वर्षौं", "वषौ" + REPH + "ं"),
    ("सर्वाङ्गीण", "सवा" + REPH + "ङ्गीण"),
    ("पढ़ि", "पिढ़"),
    ("गर्‍यो", "गर्‍यो"),
]


@pytest.mark.parametrize(("text", "drawn"), WORDS)
def test_pen_and_text_order_are_inverse(text: str, drawn: str) -> None:
    assert visual(text) == drawn
    assert logical(drawn) == text


def test_signs_drawn_in_another_order_are_put_right() -> None:
    assert logical("कंु") == "कुं"
    assert logical("िं" + "स") == "सिं"
    assert logical("इ" + REPH) == "ई"


def test_a_mark_without_a_letter_stays_visible() -> None:
    assert logical("ि") == "ि"
    assert logical(REPH) == "र्"


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("ओठ", "अाेठ"),
        ("औषधि", "अाैष्ािध"),
        ("फूल", "प\U000f0931ूल"),
        ("ऐन", "एेन"),
        ("गणेश", "गण्ाेश"),
        ("व्यक्ति", "व्यित्त\U000f0931"),
    ],
)
def test_legacy_fonts_draw_vowels_in_parts(text: str, drawn: str) -> None:
    assert parted(visual(text)) == drawn
    assert logical(drawn, whole=True) == text


def test_a_half_letter_and_its_stem_are_the_letter() -> None:
    assert joined("ग्ाण्ा") == "गण"


CLUSTERS = st.tuples(
    st.sampled_from(["", "र्"]),
    st.sampled_from(["क", "ख", "क्ष", "ट्र", "ष्ट्र", "स्व", "ङ्ग", "द्ध", "फ", "झ", "ण"]),
    st.sampled_from(["", "ि", "ी", "ु", "े", "ै", "ो", "ौ"]),
    st.sampled_from(["", "ं", "ँ", "ः"]),
)
VOWELS = st.tuples(st.sampled_from("अइउएआईऊऐओऔ"), st.sampled_from(["", "ं", "ँ"]))
SYLLABLES = st.one_of(CLUSTERS, VOWELS).map("".join)


@given(st.lists(SYLLABLES, min_size=1, max_size=5).map("".join))
def test_every_word_survives_the_pen(word: str) -> None:
    assert logical(visual(word)) == word
    assert logical(parted(visual(word)), whole=True) == word
