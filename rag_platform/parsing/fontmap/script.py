"""The Devanagari of drawn glyphs: from the order of the pen to the order of the text, and back.

Glyphs stand as they are drawn: a short i before its cluster, a reph after it. Strings of glyphs are *visual*
here: a reph is one private character, a below-base ra is halant + ra, a half form is letter + halant.
Knows neither fonts nor pages.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "HALANT",
    "RA",
    "RAKAR",
    "REPH",
    "SHORT_I",
    "is_consonant",
    "is_devanagari",
    "joined",
    "logical",
    "parted",
    "visual",
]

HALANT, RA, SHORT_I = "\u094d", "\u0930", "\u093f"
RAKAR = HALANT + RA
REPH = "\U000f0930"
"""Stands for the drawn reph: a private character, so that it is never taken for ra + halant."""

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_LETTER = "[\u0915-\u0939\u0958-\u095f\u0978-\u097f]\u093c?"
_CLUSTER = f"(?:{_LETTER}{HALANT}{_ZWJ}?)*{_LETTER}(?:{RAKAR})*"
_MATRA = "[\u093a\u093b\u093e-\u094c\u094e\u094f\u0955-\u0957\u0962\u0963]"
_BINDU = "[\u0900-\u0903]"
_VOWEL = "[\u0904-\u0914\u0960\u0961]"

_BEFORE = re.compile(f"{SHORT_I}([{REPH}\u0900-\u0902]*)({_CLUSTER})")
_AFTER = re.compile(f"((?:{_CLUSTER}|{_VOWEL})(?:{_MATRA}|{_BINDU}|\u093c)*){REPH}")
_SIGN_FIRST = re.compile(f"({_BINDU})({_MATRA}+)")
_LONE_REPH = re.compile(REPH)

_SYLLABLE = re.compile(
    f"(?P<reph>{RA}{HALANT}(?={_LETTER}|{_VOWEL}))?(?P<base>{_CLUSTER}|{_VOWEL})"
    f"(?P<signs>(?:{_MATRA})*)(?P<bindu>{_BINDU}*)"
)
_HOOK = "\U000f0931"
"""The hook that legacy fonts hang on pa, bha and u for pha, jha and uu, and on the ligature tta for kta."""
_JOINER = re.compile(f"{_ZWNJ}|(?<!{RA}{HALANT}){_ZWJ}")
_PARTS = {
    "ो": "ाे",
    "ौ": "ाै",
    "आ": "अा",
    "ओ": "अाे",
    "औ": "अाै",
    "ऐ": "एे",
    "ई": "इ" + REPH,
    "ऊ": "उ" + _HOOK,
    "फ": "प" + _HOOK,
    "झ": "भ" + _HOOK,
    "क्त": "त्त" + _HOOK,
    "ण": "ण्ा",
    "ष": "ष्ा",
}
"""What legacy fonts draw as two or three glyphs."""
_WHOLE = [(parts, whole) for whole, parts in _PARTS.items() if whole not in "णष"]
_WHOLE.sort(key=lambda pair: -len(pair[0]))
_PARTED = re.compile("|".join(_PARTS))
_SAME_INK = (("ाे", "ो"), ("ाै", "ौ"), ("एे", "ऐ"), ("इ" + REPH, "ई"))
"""Parts that some fonts draw one by one, and that mean nothing else."""
_JOINED = (("अो", "ओ"), ("अौ", "औ"))
_STEM = re.compile(f"({_LETTER}){HALANT}ा")
"""A half letter and the upright that completes it."""


def is_devanagari(text: str) -> bool:
    """Say whether any character is of the Devanagari block."""
    return any("\u0900" <= character <= "\u097f" for character in text)


def is_consonant(character: str) -> bool:
    """Say whether a character is a Devanagari consonant letter."""
    return "\u0915" <= character <= "\u0939" or "\u0958" <= character <= "\u095f"


def logical(drawn: str, *, whole: bool = False) -> str:
    """Return a word in the order of the text, NFC.

    Args:
        drawn: The strings of its glyphs, one after the other.
        whole: Join what legacy fonts draw in parts (aa + e is o).

    >>> logical("िक" + "म" + REPH)
    'किर्म'
    """
    if whole:
        drawn = joined(drawn)
    text = drawn
    for parts, single in _SAME_INK:
        text = text.replace(parts, single)
    text = _BEFORE.sub(rf"\2{SHORT_I}\1", text) if SHORT_I in text else text
    for _ in range(text.count(REPH)):
        text = _AFTER.sub(rf"{RA}{HALANT}\1", text)
    text = _LONE_REPH.sub(RA + HALANT, text)
    return unicodedata.normalize("NFC", _SIGN_FIRST.sub(r"\2\1", text))


def joined(text: str) -> str:
    """Join vowels that are drawn in parts."""
    text = _STEM.sub(r"\1", text)
    for parts, single in (*_WHOLE, *_JOINED):
        text = text.replace(parts, single)
    return text.replace(_HOOK, "")


def parted(text: str) -> str:
    """Take vowels apart that legacy fonts draw in parts."""
    return _PARTED.sub(lambda found: _PARTS[found[0]], text)


def visual(text: str) -> str:
    """Return text in the order of the pen: the inverse of ``logical``.

    Joiners are dropped, but for the one that makes an eyelash of ra + halant.

    >>> visual("किर्म") == "िक" + "म" + REPH
    True
    """
    text = _JOINER.sub("", unicodedata.normalize("NFC", text))
    return _SYLLABLE.sub(_drawn, text)


def _drawn(syllable: re.Match[str]) -> str:
    signs = syllable["signs"]
    before = SHORT_I if SHORT_I in signs else ""
    after = REPH if syllable["reph"] else ""
    return before + syllable["base"] + signs.replace(SHORT_I, "") + after + syllable["bindu"]
