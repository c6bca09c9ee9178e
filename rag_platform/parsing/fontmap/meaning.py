"""What each glyph of a document means, by the first evidence that knows: own rules, outline, legacy table.

Learned meanings are added by the reader. Knows no page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rag_platform.parsing.fontmap.decode import Reading
from rag_platform.parsing.fontmap.fonts import Font, Glyph
from rag_platform.parsing.fontmap.learn import Key
from rag_platform.parsing.fontmap.legacy import Converter, Legacy
from rag_platform.parsing.fontmap.outlines import dictionary
from rag_platform.parsing.fontmap.script import is_devanagari

__all__ = ["FontUse", "converters", "key", "meanings"]

_DIGITS = {str(digit): chr(0x966 + digit) for digit in range(10)}
"""Kalimati prints the keys 0 to 9 as Devanagari digits: what is printed is the text."""
_SYMBOLS = re.compile(r"symbol|wingdings|dingbats|webdings|opens", re.I)
_BROKEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
_SPELT = re.compile(
    r"""["'“‘(\[]*(?:[A-Z]?[a-z]+|[A-Z]+|[A-Z]\.)(?:[-'’./&@_:]+[A-Za-z0-9]+)*[)"'”’\]/.,;:?!…]*|[^A-Za-z]*""",
    re.X,
)
_VOWEL = re.compile("[aeiouyAEIOUY]")
_PLAIN_SHARE = 0.7


@dataclass
class FontUse:
    """How a document uses one font.

    Attributes:
        words: Some of what its layer claims, by word.
        codes: The same words in the font's own key codes.
    """

    words: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)

    @property
    def foreign(self) -> bool:
        """Say whether its layer has letters that no Latin font has."""
        return any(is_devanagari(word) or _BROKEN.search(word) for word in self.words)

    @property
    def plain(self) -> bool:
        """Say whether its layer reads as words and numbers of a European language."""
        lettered = [word for word in self.words if any(map(str.isalpha, word))]
        good = sum(_SPELT.fullmatch(word) is not None and _speakable(word) for word in lettered)
        return not self.foreign and good >= _PLAIN_SHARE * len(lettered)


def _speakable(word: str) -> bool:
    return len(word) < 5 or word.isupper() or _VOWEL.search(word) is not None


def key(glyph: Glyph) -> Key:
    """Return what makes two glyphs the same for learning: their shape, or their number in one program."""
    outline = glyph.font.outline(glyph.number) if glyph.font.embedded else ""
    if outline:
        return "outline", outline
    return glyph.font.sha, glyph.number if glyph.number > 0 else glyph.layer


def converters(uses: Mapping[Font, FontUse], legacy: Legacy | None) -> dict[Font, Converter]:
    """Return the converters of the fonts that are legacy ones."""
    found: dict[Font, Converter] = {}
    for font, use in uses.items():
        sample = " ".join(word for word in use.codes if not is_devanagari(word))
        if legacy is not None and sample and font.inverted is None:
            converter = legacy(sample, font.name)
            if converter is not None:
                found[font] = converter
    return found


def meanings(
    glyphs: Sequence[Glyph], uses: Mapping[Font, FontUse], legacy: Collection[Font]
) -> list[Reading]:
    """Return a reading of each glyph; those that nothing explains have no route.

    Args:
        glyphs: Of the document.
        uses: What its fonts write.
        legacy: The fonts whose key codes are converted.
    """
    families = {font: _family(font, use, legacy) for font, use in uses.items()}
    return [_reading(glyph, families.get(glyph.font, "rules")) for glyph in glyphs]


def _family(font: Font, use: FontUse, legacy: Collection[Font]) -> str:
    if font.inverted is not None:
        return "rules"
    if font in legacy:
        return "legacy"
    if _SYMBOLS.search(font.name):
        return "symbols"
    return "plain" if use.plain else "unknown"


def _reading(glyph: Glyph, family: str) -> Reading:
    font = glyph.font
    if family == "rules" and font.inverted is not None and glyph.number in font.inverted.texts:
        text = font.inverted.texts[glyph.number]
        if text in _DIGITS and (printed := dictionary().get(font.outline(glyph.number))) == _DIGITS[text]:
            text = printed
        return Reading(
            text,
            "gsub",
            shows_halant=glyph.number in font.inverted.halant_forms,
            halves=font.inverted.half_letters,
        )
    if family == "legacy":
        return Reading(font.code(glyph.number) or glyph.layer, "legacy")
    if family == "symbols":
        return Reading("•" if _BROKEN.search(glyph.layer) else glyph.layer, "layer")
    if family == "plain":
        text = font.characters.get(glyph.number, glyph.layer) if _BROKEN.search(glyph.layer) else glyph.layer
        return Reading(text, "" if _BROKEN.search(text) else "layer")
    known = dictionary().get(font.outline(glyph.number)) if font.embedded else None
    if known is not None:
        return Reading(known, "outline")
    if is_devanagari(font.characters.get(glyph.number, "")):
        return Reading(font.characters[glyph.number], "gsub")
    return Reading(glyph.layer, "")
