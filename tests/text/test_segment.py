from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.segment import grapheme_boundaries, is_grapheme_boundary, sentences

TEXTS = st.text() | st.text(alphabet="कषत्रनािे्ं़\u200d\u200c।॥?!.|। \n१२aB\"'-#", max_size=60)


def cut(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Dandas with and without space, doubled, typed as a pipe.
        (
            "घाम लाग्यो। पानी पर्‍यो | हावा चल्यो ।चिसो भयो॥ दिन छोटियो। । रात लामो भयो।।",
            ["घाम लाग्यो।", "पानी पर्‍यो |", "हावा चल्यो ।", "चिसो भयो॥", "दिन छोटियो।", "रात लामो भयो।।"],
        ),
        # A full stop abbreviates in Devanagari.
        (
            "डा. राईले रु. ५० तिरे। वि.सं. २०८१ मा १.२ करोड भयो।",
            ["डा. राईले रु. ५० तिरे।", "वि.सं. २०८१ मा १.२ करोड भयो।"],
        ),
        ("मिति २०८१।०४।१५ मा बैठक बस्यो। निर्णय भयो।", ["मिति २०८१।०४।१५ मा बैठक बस्यो।", "निर्णय भयो।"]),
        ('"के हो?" उनले सोधे! कति?अनि', ['"के हो?"', "उनले सोधे!", "कति?", "अनि"]),
        ("विद्या धन हो ॥ १ ॥ ज्ञान बल हो ॥२॥", ["विद्या धन हो ॥ १ ॥", "ज्ञान बल हो ॥२॥"]),
        # Latin full stops.
        (
            "It grew by 3.14 percent. Dr. Smith of the U.S. office signed on 12.04.2024. He left, e.g. today",
            [
                "It grew by 3.14 percent.",
                "Dr. Smith of the U.S. office signed on 12.04.2024.",
                "He left, e.g. today",
            ],
        ),
        ("See No. 5 below. Is it no. No. It is.", ["See No. 5 below.", "Is it no.", "No.", "It is."]),
        (
            "J. K. Rai came... Then he left (at noon.) Good",
            ["J. K. Rai came...", "Then he left (at noon.)", "Good"],
        ),
        ("Open http://a.np/?q=1 now! Done.", ["Open http://a.np/?q=1 now!", "Done."]),
        ("यो 5. दफा हो। GDP. त्यो बढ्यो।", ["यो 5. दफा हो।", "GDP.", "त्यो बढ्यो।"]),
        # Full stops of Marathi and Telugu; Bangla and Hindi have dandas.
        (
            "शहर मोठे आहे. तेथे डॉ. पाटील राहतात. त्यांनी रु. ५० दिले आणि ते गेले.",
            ["शहर मोठे आहे.", "तेथे डॉ. पाटील राहतात.", "त्यांनी रु. ५० दिले आणि ते गेले."],
        ),
        (
            "నగరం పెద్దది. డా. రావు అక్కడ ఉంటారు. పన్ను ౫౦. అంతే",
            ["నగరం పెద్దది.", "డా. రావు అక్కడ ఉంటారు.", "పన్ను ౫౦. అంతే"],
        ),
        ("নদী বড়। জল কম। কর কত?", ["নদী বড়।", "জল কম।", "কর কত?"]),
        # Structure: blank lines, headings, lists, table rows.
        (
            "# सूचना\nपहिलो हरफ\nदोस्रो हरफ।\n\nअर्को अनुच्छेद\n- बुँदा एक\n- बुँदा दुई\n१. क्रम",
            ["# सूचना", "पहिलो हरफ\nदोस्रो हरफ।", "अर्को अनुच्छेद", "- बुँदा एक", "- बुँदा दुई", "१. क्रम"],
        ),
        ("तालिका:\n| नाम | रकम। |\n|---|---|\n| राम | १.५ |", ["तालिका:", "| नाम | रकम। |", "| राम | १.५ |"]),
        ("हो! |तालिका|कोष|", ["हो!", "|तालिका|कोष|"]),
        ("", []),
        (" ।\n॥ ... ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@given(TEXTS)
def test_sentences_are_trimmed_ordered_and_miss_no_letter(text: str) -> None:
    spans = sentences(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(text[span.start : span.end].strip() == text[span.start : span.end] for span in spans)
    outside = set(range(len(text))) - {at for span in spans for at in range(span.start, span.end)}
    assert not any(text[at].isalnum() for at in outside)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("क्षत्रिय", ["क्ष", "त्रि", "य"]),
        ("राष्ट्रिय", ["रा", "ष्ट्रि", "य"]),
        ("गर्\u200dयो", ["ग", "र्\u200dयो"]),
        ("श्रीमान्\u200cको", ["श्री", "मा", "न्\u200c", "को"]),
        ("क\u093cलम हिँड्", ["क\u093c", "ल", "म", " ", "हिँ", "ड्"]),
        ("a\u0301b👨\u200d👩\u200d👧", ["a\u0301", "b", "👨\u200d👩\u200d👧"]),
        ("", []),
    ],
)
def test_graphemes_keep_aksharas_whole(text: str, parts: list[str]) -> None:
    assert [text[a:b] for a, b in pairwise(grapheme_boundaries(text))] == parts


@given(st.text(alphabet="कषरयािे्ँ़\u200d\u200c a\n", max_size=30))
def test_no_boundary_binds_its_neighbours(text: str) -> None:
    for at in grapheme_boundaries(text)[1:-1]:
        before, after = text[at - 1], text[at]
        if before != "\n":
            assert after not in "ािे्ँ़\u200d\u200c"
        assert not (before == "्" and after in "कषरय")
        assert is_grapheme_boundary(text, at)
