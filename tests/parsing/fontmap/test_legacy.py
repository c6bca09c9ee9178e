from __future__ import annotations

from rag_platform.parsing.fontmap.legacy import legacy_converter

PREETI = "g]kfnsf] ;+ljwfg ;a} g]kfnLsf] ;femf lhDd]jf/L xf] / ;/sf/n] o;sf] kfngf ug'{kg]{5 ."


def test_a_legacy_font_is_known_by_its_name() -> None:
    convert = legacy_converter(PREETI, "Preeti")
    assert convert is not None
    assert convert("g]kfnsf] ;+ljwfg") == "नेपालको संविधान"


def test_numbers_in_a_himali_font_are_numbers() -> None:
    convert = legacy_converter("1 12 183", "FONTASY_HIMALI_TT")
    assert convert is not None
    assert convert("183") == "१८३"


def test_a_nameless_legacy_font_is_known_by_much_text() -> None:
    convert = legacy_converter(PREETI, "Untitled")
    assert convert is not None
    assert convert("g]kfn") == "नेपाल"
    assert legacy_converter("g]kfn", "Untitled") is None


def test_english_is_no_legacy_text() -> None:
    english = "The Act comes into force at once, and the Government of Nepal shall publish the rules."
    assert legacy_converter(english, "Calibri") is None
