from __future__ import annotations

import pytest

from rag_platform.audit.dirt import foreign_runs, pieces, typed_for_legacy_font


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("नेपाल सरकारले रावɈष्टिय योजना ल्यायो।", ["रावɈष्टिय"]),
        ("यो ऐन (सन् 2015) को café मा छलफल भयो।", []),
        ("मन्त्रालयको Привет पत्र", ["Привет"]),
        ("अर्थ मन्त्रालयलाāई पत्र \ue012 पठाइयो", ["मन्त्रालयलाāई", "\ue012"]),
        ("Résumé and Привет without any Devanagari", []),
        ("तापक्रम २५° र क्षेत्रफल १० m² छ", []),
        ("", []),
    ],
)
def test_foreign_letters_in_a_text_with_devanagari(text: str, runs: list[str]) -> None:
    assert foreign_runs(text) == runs


def test_what_a_legacy_font_left() -> None:
    assert typed_for_legacy_font("gful/stf P]g, @)^# sf] bkmf % adf]lhd of] k|df0fkq lbOPsf] 5 .") > 0.5
    assert typed_for_legacy_font("नागरिकता ऐन, २०६३ को दफा ५ बमोजिम यो प्रमाणपत्र दिइएको छ।") == 0.0
    assert typed_for_legacy_font("The Act and/or its rules; see https://example.org/a/b?c=d&e=f") == 0.0


def test_pieces_are_lines_and_sentences_with_enough_letters() -> None:
    text = "पृष्ठ ५ स्थानीय सरकार सञ्चालन ऐन, २०७४\nकर बुझाउने म्याद असार मसान्त हो। (क) हो।"
    assert [piece for piece, _ in pieces(text)] == [
        "पृष्ठ ५ स्थानीय सरकार सञ्चालन ऐन, २०७४",
        "कर बुझाउने म्याद असार मसान्त हो",
    ]
    assert pieces("पृष्ठ १२ स्थानीय सरकार सञ्चालन ऐन")[0][1] == pieces("पृष्ठ ३४ स्थानीय  सरकार सञ्चालन ऐन")[0][1]
