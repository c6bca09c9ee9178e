from __future__ import annotations

import pytest
from parsing.fontmap.typeset import font_bytes, typeset

from rag_platform.parsing.fontmap.reader import FontMapReader

LINES = [
    "नेपालको संविधान र राष्ट्रिय शिक्षा नीति",
    "कार्यक्रम, वर्ष, पार्श्व, निर्माण, सम्पत्ति",
]


@pytest.mark.parametrize("name", ["noto-sans", "noto-serif", "lohit", "annapurna"])
def test_text_comes_back_through_the_fonts_own_rules(name: str) -> None:
    (page,) = FontMapReader(typeset(font_bytes(name), LINES)).pages()
    assert page.text.splitlines() == LINES
