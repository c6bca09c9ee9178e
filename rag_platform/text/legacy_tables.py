"""What the legacy Nepali fonts draw for each character code: data, no conversion.

Facts about fonts, in visual order, one table a layout; a piece is what one glyph shows. Codes of Preeti,
Himalli, FONTASY_HIMALI_TT, HIMALAYA TT FONT and Fontasy Himali were read off the outlines embedded in
published PDFs where those draw them; the remaining codes follow published descriptions of the layouts.
A code that no source describes is left out, so that it stays visible and is counted as unmapped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["AA_OR_NASAL", "LEGACY_FONTS", "REPH", "TAIL", "LegacyFont"]

REPH = "\ue001"
"""The hook of र् above the end of a cluster; stands last, is read first. On इ it makes ई."""

TAIL = "\ue002"
"""The right arm that makes फ of प, झ of भ, क्त of त्त, क्र of त्र, क of व and ऊ of उ."""

AA_OR_NASAL = "\ue003"
"""A code drawn as ा in some fonts of a layout: on a syllable that has its vowel it can only mean ँ."""

_MARKERS = {"reph": REPH, "tail": TAIL, "aa/nasal": AA_OR_NASAL, "none": ""}


@dataclass(frozen=True, slots=True)
class LegacyFont:
    """One layout of legacy fonts.

    Attributes:
        name: The family, key of ``LEGACY_FONTS``.
        glyphs: Character -> the visual piece that the font draws for it.
        names: Font names of the family, lower case letters and digits only, without style words.
        alternatives: Families whose layout files with these names use as well; the text decides.
    """

    name: str
    glyphs: Mapping[str, str]
    names: tuple[str, ...]
    alternatives: tuple[str, ...] = ()


def _table(*rows: str) -> dict[str, str]:
    """Read rows of ``code piece`` pairs."""
    fields = [field for row in rows for field in row.split()]
    return {code: _MARKERS.get(piece, piece) for code, piece in zip(fields[::2], fields[1::2], strict=True)}


def _swapped(glyphs: Mapping[str, str], pairs: str) -> dict[str, str]:
    """Exchange the pieces of each two codes in ``pairs``."""
    partner = {pair[i]: pair[1 - i] for pair in pairs.split() for i in (0, 1)}
    return {code: glyphs[other] for code, other in partner.items()}


_KEYS = _table(
    "q त्र w ध e भ r च t त y थ u ग i ष् o य p उ [ ृ ] े \\ ्",
    "Q त्त W ध् E भ् R च् T त् Y थ् U ग् I क्ष् O इ P ए { reph } ै | ्र",
    "a ब s क d म f ा g न h ज j व k प l ि ; स ' ु",
    'A ब् S क् D म् F ँ G न् H ज् J व् K प् L ी : स् " ू',
    "z श x ह c अ v ख b द n ल m tail , , . । / र",
    "Z श् X ह् C ऋ V ख् B द्य N ल् M ः < ? > श्र ? रु",
    "` ञ 1 ज्ञ 2 द्द 3 घ 4 द्ध 5 छ 6 ट 7 ठ 8 ड 9 ढ 0 ण् - ( = .",
    "~ ञ् ! १ @ २ # ३ $ ४ % ५ ^ ६ & ७ * ८ ( ९ ) ० _ ) + ं",
)
"""The keys that all these fonts share, as Preeti has them."""

_SHARED = _table("¡ ज्ञ् ¢ द्ध £ घ् ¥ र्\u200d § ट्ट ª ङ « ्र ´ झ ¶ ठ्ठ ¿ रू Æ ” ß द्म å द्व æ “ ç ॐ ÷ / – – — —")
"""Codes beyond the keys on which the descriptions of all layouts agree."""

_COMMON = _table("Ô क्ष Ø ्य ø य् ì त्त् × × ± +")

_PREETI = {
    **_KEYS,
    **_SHARED,
    **_COMMON,
    **_table(
        "‰ झ् ˆ फ् Ë ङ्ग Í ङ्क ¤ झ् ° ङ्ढ © र Å हृ Ì न्न Î ङ्ख Ö = Ù ; Ú ’ Û ! Ü % Ý ट्ठ",
        "Ò ¨ „ ध्र … ‘ ‹ ङ्घ ‘ ॅ • ड्ड ˜ ऽ › द्र",
    ),
}

_KANTIPUR = {
    **_KEYS,
    **_SHARED,
    **_COMMON,
    **_table(
        "F aa/nasal X हृ “ ँ ‰ झ् ‹ ङ्ग › ऽ ˜ ऽ † ! … ‘ ¬ … „ ध्र • ड्ड ‘ ॅ Œ त्त् œ त्र् ™ र ¤ झ् ¨ ङ्ग © र ® र",
        "¯ ¯ ° ङ्ढ µ र º फ् Â र È ष Ë ङ्ग Ì न्न Í ङ्क Î फ् Ï फ् Ò ¨ Ú ’",
    ),
}

_SAGARMATHA = {
    **_KEYS,
    **_SHARED,
    **_COMMON,
    **_table(
        "“ ँ ” ” ‘ ‘ ’ ’ ‚ ) ƒ द्र „ ् † ; ‡ े ˆ ृ ‰ झ् Š reph ‹ ै Œ त्त् œ त्र् ¤ ! ¬ ु ® र ° ङ्क µ झ · ङ्ग ¸ ड्ड",
        "Å फ Ç फ् È ष É स Ò ू Ù ह Ü % Þ ह् è द्भ",
    ),
}

_DIGITS_SWAPPED = "1! 2@ 3# 4$ 5% 6^ 7& 8* 9( 0)"

_HIMALI = {
    **_KEYS,
    **_SHARED,
    **_COMMON,
    **_swapped(_KEYS, _DIGITS_SWAPPED),
    **_table("F aa/nasal ' ु \" ू ` ञ् ~ ञ X हृ ¤ ँ Ñ ङ é ङ्ग í ष Ò ू Ú ु Ù ह ú ु ° ङ्क ® +"),
}

_HIMALI_TT = {**_HIMALI, **_table("\" ु ' ू")}
"""FONTASY_HIMALI_TT and HIMALAYA TT FONT draw ु for the double quote."""

_FONTASY_HIMALI = {**_HIMALI, **_table('! ! " ” ( ( ) )')}
"""Fontasy Himali of 1993: its marks above the digits are what they say. Used for numbers, as in "(1)"."""

_PCS_NEPALI = {**_KEYS, **_SHARED, **_COMMON, **_swapped(_KEYS, _DIGITS_SWAPPED)}

LEGACY_FONTS: dict[str, LegacyFont] = {
    font.name: font
    for font in (
        LegacyFont("preeti", _PREETI, ("preeti", "himalb", "himall", "himalli", "himchuli", "ganesh")),
        LegacyFont("kantipur", _KANTIPUR, ("kantipur",), ("preeti",)),
        LegacyFont("sagarmatha", _SAGARMATHA, ("sagarmatha",), ("preeti",)),
        LegacyFont("pcs_nepali", _PCS_NEPALI, ("pcsnepali", "pcsnepal", "pcs"), ("himali_tt", "preeti")),
        LegacyFont("himali", _HIMALI, ("himali",), ("himali_tt", "preeti")),
        LegacyFont("himali_tt", _HIMALI_TT, ("fontasyhimalitt", "himalaya"), ("himali", "preeti")),
        LegacyFont("fontasy_himali", _FONTASY_HIMALI, ("fontasyhimali",), ("himali_tt", "himali", "preeti")),
    )
}
"""The layouts, the most frequent first."""
