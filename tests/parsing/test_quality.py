from __future__ import annotations

import pytest

from rag_platform.parsing.quality import n_letters, suspicion

LEGACY = "g]kfn ;/sf/ lzIff dGqfno gu/kflnsfsf] jflif{s ah]6 kfl/t ldlt @)*! j}zfv ! ut]"
NEPALI = "शिक्षा कार्यालयको सूचना: विद्यार्थीलाई छात्रवृत्ति वितरण गरिनेछ। मिति २०८१ फागुन १५ गते।"
ENGLISH = "The Act was made by the Parliament of Nepal for the protection of the rights of members."


def test_letters_are_counted_without_marks_and_digits() -> None:
    assert n_letters("सूचना १२ No. 7!") == 5


def test_legacy_bytes_are_told_by_their_words_whatever_their_font_is_called() -> None:
    assert suspicion(LEGACY, {"ABCDEF+Preeti": LEGACY}).startswith("legacy font Preeti")
    assert suspicion(NEPALI, {"ABCDEF+Preeti": NEPALI}) == ""
    assert suspicion(ENGLISH, {"ABCDEF+Preeti": ENGLISH}) == ""
    assert suspicion(LEGACY, {"Arial": LEGACY}).startswith("legacy font Arial")
    assert suspicion(ENGLISH, {"Arial": ENGLISH}) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("शɡक्षा कायµालयको सूचना वɟतरण", "foreign letters"),
        ("र\ufffdा\ufffdय एकता र सं\ufffdवधान", "foreign letters"),
        ("नेपालको स्ििन्त्रिा र सािवभौममकिा िथा अखण्डिा", "impossible sequences"),
        ("\x01\x02\x03 शि \x0b\x07\x0c", "control characters"),
    ],
)
def test_broken_layers_are_named(text: str, reason: str) -> None:
    assert reason in suspicion(text, {"Kalimati": text})


@pytest.mark.parametrize(
    "text", [NEPALI, ENGLISH, "गर्\u200dयो, ऱ्याङ्क, क़लम, दुःख, प्रा.डा. सीताऽपि ॐ", "café naïve Šumava", ""]
)
def test_good_text_is_not_suspected(text: str) -> None:
    assert suspicion(text, {"Kalimati": text}) == ""
