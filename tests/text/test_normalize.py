from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_platform.text.normalize import search_key, stored_text

NEPALI = st.text(alphabet="कखगङञणनमयरसअएआािीुोेैौँंः़्\u200d\u200c०१२ :।\nAa", max_size=40)


@pytest.mark.parametrize(
    ("source", "stored"),
    [
        ("\ufeffनेपाल", "नेपाल"),
        ("गर्\u200dयो र श्रीमान्\u200cको", "गर्\u200dयो र श्रीमान्\u200cको"),
        ("ने\u200bपाल", "नेपाल"),
        ("क\u200b\u093cलम", "क\u093cलम"),
        ("\u0958लम", "क\u093cलम"),
        ("न\u093c", "\u0929"),
        ("एक\r\nदुई\rतीन\u2028चार\u2029पाँच\x0cछ\x85सात", "एक\nदुई\nतीन\nचार\nपाँच\nछ\nसात"),
        ("क\tख\x00\x07\x1fग\x9f", "क\tखग"),
        ("m² ½ H₂O ﬁ Ａ \u00a0", "m² ½ H₂O ﬁ Ａ \u00a0"),
        ("२०८१/०४/१५", "२०८१/०४/१५"),
        ("\ud83d\ude00 \ud83d", "😀 "),
    ],
)
def test_stored_text_removes_only_what_no_reader_sees(source: str, stored: str) -> None:
    assert stored_text(source) == stored


@given(st.text() | NEPALI)
@example("\ud83d\u200b\ude00")
def test_stored_text_is_idempotent_nfc_and_encodable(text: str) -> None:
    once = stored_text(text)
    assert stored_text(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once.encode().decode() == once
    assert not set(once) & set("\u200b\ufeff\r\x00")


@pytest.mark.parametrize(
    ("spellings", "key"),
    [
        (["गर्\u200dयो", "गऱ्यो", "गर्\u200cयो", "गर्यो"], "गर्यो"),
        (["\u0958लम", "क\u093cलम", "कलम"], "कलम"),
        (["सङ्घ", "संघ", "सँघ"], "संघ"),
        (["पञ्चायत", "पंचायत"], "पंचायत"),
        (["झण्डा", "झंडा"], "झंडा"),
        (["अन्त", "अंत"], "अंत"),
        (["सम्बन्ध", "संबन्ध", "सम्बंध"], "संबंध"),
        (["गाउँ", "गाउं"], "गाउं"),
        (["दुःख", "दु:ख", "दुख"], "दुख"),
        (["अन्तःकरण", "अन्त:करण"], "अंतकरण"),
        (["अाेखर", "ओखर"], "ओखर"),
        (["अाैषधि", "आैषधि", "औषधि"], "औषधि"),
        (["अाज", "आज"], "आज"),
        (["एेन", "ऐन"], "ऐन"),
        (["काेष", "कोष"], "कोष"),
        (["फाैज", "फौज"], "फौज"),
        (["२०८१", "2081", "２０８１", "২০৮১"], "2081"),
        (["Nepal", "NEPAL", "Ｎｅｐａｌ", "Ne\u00adpal"], "nepal"),
        (["क\u00a0ख", "क\u2009ख", "क ख"], "क ख"),
    ],
)
def test_spellings_of_one_word_have_one_key(spellings: list[str], key: str) -> None:
    assert {search_key(spelling) for spelling in spellings} == {key}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("जन्म", "जन्म"),  # not a stop of the nasal's class
        ("अन्न", "अन्न"),
        ("हुन्थ्यो", "हुन्थ्यो"),  # an ending that stemmers know
        ("ग्रन्थ", "ग्रंथ"),
        ("नाम:राम", "नाम:राम"),  # two words, not a visarga
        ("मिति:२०८१", "मिति:2081"),
        ("m² ½ H₂O", "m² ½ h₂o"),
    ],
)
def test_what_is_not_one_word_is_kept_apart(text: str, key: str) -> None:
    assert search_key(text) == key


@given(st.text() | NEPALI)
@example("ङ्\u093cघ")
@example("अ\u200dा")
@example("İıẞǰ")
def test_the_search_key_is_idempotent_and_ignores_what_storing_removes(text: str) -> None:
    key = search_key(text)
    assert search_key(key) == key
    assert search_key(stored_text(text)) == key
