from __future__ import annotations

import io

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from parsing.fontmap.typeset import FONTS, font_bytes, shaped

from rag_platform.parsing.fontmap import gsub
from rag_platform.parsing.fontmap.script import RAKAR, REPH, logical


def built(features: str) -> TTFont:
    """Build a font of a few letters with rules, and read it back as from a PDF."""
    letters = {"ka": "क", "ssa": "ष", "ra": "र", "halant": "्", "i": "ि", "zwj": "\u200d", "one": "1"}
    others = ["reph", "rakar", "eyelash", "ka.half", "kssa", "kra", "kra.half", "i.wide", "one.sups", "alone"]
    names = [".notdef", *letters, *others]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(character): name for name, character in letters.items()})
    pen = TTGlyphPen(None)
    for point in ((0, 0), (0, 500), (400, 500)):
        pen.lineTo(point) if pen.points else pen.moveTo(point)
    pen.closePath()
    glyph = pen.glyph()
    builder.setupGlyf(dict.fromkeys(names, glyph))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (500, 0)))
    builder.setupHorizontalHeader()
    builder.setupOS2()
    builder.setupPost()
    builder.addOpenTypeFeatures("languagesystem dev2 dflt;\n" + features)
    out = io.BytesIO()
    builder.font.save(out)
    return gsub.named(TTFont(io.BytesIO(out.getvalue()), lazy=True)), names


RULES = """
feature rphf { sub ra halant by reph; } rphf;
feature blwf { sub ra halant by rakar; } blwf;
feature half { sub ka halant by ka.half; sub ra halant zwj by eyelash; } half;
feature akhn { sub ka halant ssa by kssa; } akhn;
feature rkrf { sub ka rakar by kra; sub ka.half rakar by kra.half; } rkrf;
feature sups { sub one by one.sups; } sups;
lookup WIDE { sub i by i.wide; } WIDE;
feature pres { sub i' lookup WIDE ka; } pres;
"""


def test_rules_run_backwards() -> None:
    font, names = built(RULES)
    texts = {names[number]: text for number, text in gsub.invert(font).texts.items()}
    assert texts == {
        "ka": "क", "ssa": "ष", "ra": "र", "halant": "्", "i": "ि", "zwj": "\u200d", "one": "1",
        "reph": REPH, "rakar": RAKAR, "eyelash": "र्\u200d", "ka.half": "क्", "kssa": "क्ष",
        "kra": "क्र", "kra.half": "क्र्", "i.wide": "ि", "one.sups": "1",
    }  # fmt: skip


def test_a_glyph_that_no_rule_makes_has_no_text() -> None:
    font, names = built(RULES)
    assert names.index("alone") not in gsub.invert(font).texts


def test_one_half_of_an_exchange_is_not_a_replacement() -> None:
    font, names = built(
        "lookup A { sub ka by kssa; } A;\nlookup B { sub reph by kra; } B;\n"
        "feature rphf { sub ra halant by reph; } rphf;\n"
        "feature abvs { sub ka' lookup A reph' lookup B; } abvs;"
    )
    texts = gsub.invert(font).texts
    assert texts[names.index("reph")] == REPH


def test_fonts_that_do_not_shape_devanagari_are_told_apart() -> None:
    font, _ = built(RULES)
    assert gsub.shapes_devanagari(font)
    del font["GSUB"]
    assert not gsub.shapes_devanagari(font)


def test_a_rule_table_without_scripts_shapes_nothing() -> None:
    font, _ = built(RULES)
    font["GSUB"].table.ScriptList = None
    assert not gsub.shapes_devanagari(font)


WORDS = [
    "क्षेत्र", "ज्ञान", "श्री", "त्रिशूल", "राष्ट्रिय", "कर्म", "सर्वोच्च", "वर्षौं", "निर्माण", "व्यक्ति",
    "सम्पत्ति", "उद्देश्य", "पद्धति", "विद्या", "द्वार", "बुद्धि", "चिह्न", "ब्राह्मण", "प्रह्लाद", "ह्रस्व",
    "दृष्टि", "हृदय", "कृषि", "रुपैयाँ", "रूप", "शृङ्खला", "सङ्घ", "अङ्क", "पञ्च", "कण्ठ", "अन्त", "सम्म",
    "ट्रक", "ड्राइभर", "राष्ट्र", "ओठ", "औषधि", "ऐन", "ईश्वर", "ऊर्जा", "ऋषि", "दुःख", "हिँडाइ", "सिंह",
    "गाउँ", "बाँच्न", "स्वास्थ्य", "कर्तव्य", "आर्थिक", "पूर्वाधार", "निर्देशिका", "शक्ति", "युक्त", "रक्त",
    "पक्का", "अट्ठाइस", "छुट्टी", "पत्नी", "उत्कृष्ट", "महत्त्व", "तत्त्व", "मन्त्र्यालय", "सङ्ख्या", "आफ्नो",
    "मूल्याङ्कन", "लक्ष्मी", "क्ष्य", "स्त्री", "शस्त्र", "वस्त्र", "श्रृङ्गार", "प्राप्त", "सप्ताह", "गुप्त",
    "अब्ज", "शब्द", "लब्ध", "अभ्यास", "उल्लेख", "कल्याण", "व्रत", "विश्वास", "श्लोक", "निश्चित", "कृष्ण",
    "उष्ण", "पुष्प", "काष्ठ", "स्नान", "स्मृति", "सहस्र", "बाह्र", "आह्वान", "गर्‍यो", "कढ़ी", "सड़क",
]  # fmt: skip


@pytest.mark.parametrize("name", list(FONTS))
def test_every_kind_of_cluster_of_real_fonts(name: str) -> None:
    program = font_bytes(name)
    texts = gsub.invert(gsub.named(TTFont(io.BytesIO(program), lazy=True))).texts
    wrong = {}
    for word in WORDS:
        drawn = "".join(texts.get(placed.glyph, "\ufffd") for placed in shaped(program, word))
        read = logical(drawn.replace(" ", ""))  # joiners are drawn as spaces
        if read != word:
            wrong[word] = read
    assert wrong == {}
