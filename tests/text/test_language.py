from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.language import detect_language, romanized_score, script_shares

EXPECTED = {
    "ne": [
        "नेपालको संविधान २०७२ सालमा जारी भयो।",
        "मिति 2081-04-15 को सूचना",
        "विश्व बैंक र एडीबी (ADB) ले सडक निर्माणका लागि दिने ऋण कति हो?",
        "बजेट",
    ],
    "en": [
        "What is the budget?",
        "How do I renew a passport at the district office?",
        "The ward office issues the certificate within three days.",
        "Kathmandu",
        "simple household example",
        "National Hurricane Center",
    ],
    "mixed": ["नागरिकता certificate कसरी लिने?", "नेपालको GDP growth rate 2024 कति हो?"],
    "romanized": [
        "nagarikta certificate kasari line?",
        "mero passport kahile aaucha",
        "bidhyalaya bharna ko lagi ke ke chahinxa?",
        "nepal ko rastriya bhasa kun ho",
        "khop lagaune thau kaha cha",
        "aayakar kati tirnu parcha ra kasle tircha?",
        "bidyarthi harule chhatrabritti kasari paune",
    ],
    "unknown": [
        "",
        "१२३ 456 ...",
        "বাংলা ভাষা আমার",
        "g]kfnsf] ;+ljwfg @)&@ cg';f/ ;a} gful/sx? sf] clwsf/ ;'/lIft x'g]5 . To;df dtbfgsf] ljlw",
        "Die Würde des Menschen ist unantastbar und sie wird vom ganzen Volk geachtet",
    ],
}


@pytest.mark.parametrize(("language", "text"), [(k, text) for k, texts in EXPECTED.items() for text in texts])
def test_the_language_of_short_texts(language: str, text: str) -> None:
    assert detect_language(text) == language


def test_shares_count_letters_and_leave_signs_digits_and_spaces_out() -> None:
    # ने पा ल are three letters with two vowel signs; abc three more.
    assert script_shares("नेपाल abc 123 ।") == {"Devanagari": 0.5, "Latin": 0.5}
    assert script_shares("नेप ভাষা a") == {"Bengali": 0.4, "Devanagari": 0.4, "Latin": 0.2}
    assert script_shares("12 ।?") == {}


def test_function_words_outvote_endings() -> None:
    assert romanized_score(["kasari", "garne"]) == 2.0
    assert romanized_score(["what", "is"]) == -2.0
    assert romanized_score(["nation"]) == -0.5


@given(st.text())
def test_every_text_has_a_language_and_shares_that_add_up(text: str) -> None:
    assert detect_language(text) in {"ne", "en", "mixed", "romanized", "unknown"}
    shares = script_shares(text)
    assert not shares or sum(shares.values()) == pytest.approx(1.0)
