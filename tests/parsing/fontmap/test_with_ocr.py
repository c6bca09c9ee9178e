"""The learned route with a real OCR in the loop: Tesseract reads one page, another is decoded."""

from __future__ import annotations

from pathlib import Path

import pytest
from parsing.fontmap.typeset import PdfFont, Run, font_bytes, pdf, poisoned, shifted, without_tables

from rag_platform.parsing.fontmap.reader import FontMapReader
from rag_platform.parsing.fontmap.verify import edit_distance
from rag_platform.parsing.parse import parse_file
from rag_platform.parsing.pictures import Pictures
from rag_platform.parsing.reading import ParseOptions

TAUGHT = [
    "नेपालको संविधानले प्रत्येक नागरिकलाई सम्मानपूर्वक बाँच्न पाउने हक दिएको छ।",
    "स्थानीय तहले आफ्नो अधिकारक्षेत्रभित्र कर लगाउन सक्नेछ र त्यसको विवरण राख्नेछ।",
    "कार्यालयले निवेदन परेको मितिले सात दिनभित्र निर्णय गरी जानकारी दिनुपर्नेछ।",
    "विद्यालय शिक्षाको पाठ्यक्रम, परीक्षा र प्रमाणपत्र सम्बन्धी व्यवस्था सरकारले गर्नेछ।",
    "कृषि, पर्यटन, उद्योग तथा वाणिज्य क्षेत्रको विकासका लागि कोष खडा गरिनेछ।",
    "समितिको बैठक प्रत्येक महिनाको पहिलो हप्ता अध्यक्षको अध्यक्षतामा बस्नेछ।",
    "राष्ट्रिय महत्त्वका स्मारक, पुरातात्त्विक वस्तु र धार्मिक स्थलको संरक्षण गरिनेछ।",
    "सर्वोच्च अदालतको फैसला सबैले पालना गर्नुपर्नेछ र त्यसको कार्यान्वयन हुनेछ।",
    "सूचनाको हक सम्बन्धी कानून बमोजिम जुनसुकै व्यक्तिले विवरण माग गर्न सक्नेछ।",
    "स्वास्थ्य सेवा निःशुल्क उपलब्ध गराइनेछ, औषधिको मूल्य तोकिए बमोजिम हुनेछ।",
    "आर्थिक वर्षको बजेट, राजस्व र व्ययको अनुमान संसदमा पेश गरिनेछ।",
    "कर्मचारीको पारिश्रमिक, सेवा सर्त र अवकाश सम्बन्धी नियम बनाइनेछ।",
]
HELD = [
    "नागरिकले कर तिर्नुपर्नेछ र सरकारले सेवा उपलब्ध गराउनेछ।",
    "राष्ट्रिय बजेट, कृषि विकास र शिक्षा सम्बन्धी निर्णय गरियो।",
]


@pytest.mark.parametrize("name", ["noto-sans", "annapurna"])
def test_a_page_is_read_through_the_ocr_of_another(name: str) -> None:
    program = font_bytes(name)
    bare = shifted(without_tables(program, "GSUB", "GPOS", "GDEF", "cmap"))
    font = PdfFont(program, bare, to_unicode=poisoned(program, " ".join([*TAUGHT, *HELD])))
    pages = [
        [Run(font, line, 40, 80 + 26 * at) for at, line in enumerate(lines)] for lines in (HELD, TAUGHT * 2)
    ]
    document = pdf(pages)
    with Pictures(document, ParseOptions(languages="nep")) as pictures:
        reader = FontMapReader(document, ocr=lambda number: pictures.words(number - 1), ocr_pages=1)
        page = reader.page(1)
    assert reader.learned_from == (2,)
    read, truth = page.text.split(), " ".join(HELD).split()
    assert set(read) - set(truth) <= set(page.unsure_words)
    assert edit_distance(" ".join(read), " ".join(truth)) <= 0.05 * len(" ".join(truth))
    assert page.confidence > 0.9


def test_a_title_page_of_few_letters_is_read_by_its_fonts(tmp_path: Path) -> None:
    title, size = ["खण्ड १", "प्रदेश"], 40
    program = font_bytes("noto-sans")
    font = PdfFont(program, program, to_unicode=poisoned(program, " ".join([*title, *TAUGHT])))
    pages = [
        [Run(font, line, 200, 200 + 60 * at, size) for at, line in enumerate(title)],
        [Run(font, line, 40, 80 + 26 * at) for at, line in enumerate(TAUGHT)],
    ]
    path = tmp_path / "बजेट.pdf"
    pdf(pages).save(path)
    first, second = parse_file(path).pages
    assert (first.text.split(), first.origin, first.suspect) == (["खण्ड", "१", "प्रदेश"], "font_map", False)
    assert second.origin == "font_map"
