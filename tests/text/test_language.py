from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.language import (
    Language,
    detect_language,
    is_function_word,
    romanized_score,
    script_shares,
)

EXPECTED = {
    "ne": [
        "नेपालको संविधान २०७२ सालमा जारी भयो।",
        "मिति 2081-04-15 को सूचना",
        "विश्व बैंक र एडीबी (ADB) ले सडक निर्माणका लागि दिने ऋण कति हो?",
        "बजेट",
        "शिक्षा नीति या योजना",
        "जल और जमिन",
    ],
    "en": [
        "What is the budget?",
        "How do I renew a passport at the district office?",
        "The ward office issues the certificate within three days.",
        "Kathmandu",
        "simple household example",
        "National Hurricane Center",
    ],
    "mixed": [
        "नागरिकता certificate कसरी लिने?",
        "नेपालको GDP growth rate 2024 कति हो?",
        "বাংলা certificate কীভাবে নেব",
    ],
    "hi": ["भारत की राजधानी क्या है?", "यह योजना किसानों के लिए है और इसमें बीज दिया जाता है।"],
    "mr": ["ही शाळा मुलांसाठी आहे आणि येथे पुस्तके मोफत आहेत.", "अर्ज कुठे आणि कसा करावा?"],
    "bn": ["বাংলা ভাষা আমার", "জমির কর কত?"],
    "te": ["పన్ను ఎంత?", "నీటి పన్నును ఏప్రిల్‌లో చెల్లించాలి."],
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
        "অসমৰ ভাষা অসমীয়া",
        "ქართული ენა",
        "g]kfnsf] ;+ljwfg @)&@ cg';f/ ;a} gful/sx? sf] clwsf/ ;'/lIft x'g]5 . To;df dtbfgsf] ljlw",
        "Die Würde des Menschen ist unantastbar und sie wird vom ganzen Volk geachtet",
    ],
}


@pytest.mark.parametrize(("language", "text"), [(k, text) for k, texts in EXPECTED.items() for text in texts])
def test_the_language_of_short_texts(language: str, text: str) -> None:
    assert detect_language(text) == language


ROMANIZED = """
ghar jagga kinda kati kar lagcha
mero aama ko nagarikta harayo, aba k garne?
school kahile khulcha
yo barsa dhan ko mulya kati tokyo sarkar le
lok sewa ko form kaha bharne
bijuli ko bill online tirna milcha?
sarpa le tokyo bhane turuntai k garnu parcha
Pokhara jane bus kati baje chutcha
hamro wada ko adhyaksha ko ho
license renew garna kati din lagcha hola
SEE ko result kahile aaucha?
pani na aayeko tin din bhayo kaslai bhanne
janma darta garne prakriya
bachha lai kun khop kahile lagaune
sahakari sanstha kasari darta garne
Everest chadhna kati paisa lagcha
dashain bidaa kati dinko hunchha
khetiko lagi anudan kasle paucha
budho manche ko bhatta kati cha
mobile harayo, sim kasari banda garne
tapai kaha basnuhuncha
gadi ko bluebook hareko cha
malai sarkari jagir khana man cha
ghaam lageko thiyo
""".strip().splitlines()
ENGLISH = """
How much land tax do I pay on a house?
what to do after a snake bite
SEE exam results date
Where do I renew my driving license?
population of Pokhara
Kathmandu Valley Development Authority
national park entry fee for tourists
Who is the chair of Tharu Commission?
Sagarmatha height
vaccination schedule for children
opening hours of the ward office
cost of climbing Everest
Ministry of Home Affairs
Is dual citizenship allowed?
loan interest rate
Rastra Bank monetary policy summary
How are members of the House elected?
Tell me about the Tihar festival in Nepal
bus from Gorkha to Manang
list the rights of Dalit people
water supply complaint number
old age allowance amount
income tax slab 2081
Prime Minister Oli speech
""".strip().splitlines()


def test_romanized_questions_are_told_from_english_ones() -> None:
    found = {text for text in ROMANIZED + ENGLISH if detect_language(text) == "romanized"}
    true = len(found & set(ROMANIZED))
    f1 = 2 * true / (len(found) + len(ROMANIZED))
    assert f1 >= 0.97, found ^ set(ROMANIZED)


def test_shares_count_letters_and_leave_signs_digits_and_spaces_out() -> None:
    # ने पा ल are three letters with two vowel signs; abc three more.
    assert script_shares("नेपाल abc 123 ।") == {"Devanagari": 0.5, "Latin": 0.5}
    assert script_shares("नेप ভাষা a") == {"Bengali": 0.4, "Devanagari": 0.4, "Latin": 0.2}
    assert script_shares("12 ।?") == {}


def test_function_words_outvote_endings() -> None:
    assert romanized_score(["kasari", "garne"]) == 2.0
    assert romanized_score(["what", "is"]) == -2.0
    assert romanized_score(["nation"]) == -0.5
    assert [is_function_word(word) for word in ("kasari", "which", "nagarikta")] == [True, True, False]


@given(st.text())
def test_every_text_has_a_language_and_shares_that_add_up(text: str) -> None:
    assert detect_language(text) in get_args(Language)
    shares = script_shares(text)
    assert not shares or sum(shares.values()) == pytest.approx(1.0)
