"""Text typed for legacy Nepali fonts (Preeti and its kin): found, and turned into Unicode.

A font's name is only a hint: files name Preeti for English, and name nothing for Preeti. So the text
decides (``legacy_evidence``), by two signs that hardly ever err together: whether its words, converted, stand
in the Nepali word list, and which letters follow each other. What the fonts draw is in ``legacy_tables``, how
that is put in order in ``legacy_assembly``; reading files is the parsers' business.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rag_platform.errors import UnknownName
from rag_platform.text.legacy_assembly import convert_word, keys_of
from rag_platform.text.legacy_evidence import Course, Word, candidates, legacy_words
from rag_platform.text.legacy_tables import LEGACY_FONTS

__all__ = [
    "LEGACY_FONTS",
    "convert_plain",
    "convert_span",
    "detect_family",
    "family",
    "is_legacy_span",
    "looks_legacy",
    "resolve",
    "to_unicode",
    "unmapped",
]

DEFAULT_FAMILY = "preeti"
"""The layout that text without a font's name is weighed in: all layouts share its letters."""

_ENOUGH_WORDS = 1_000
"""So many different words, the commonest, tell layouts apart."""

_DETECTED = tuple(name for name in LEGACY_FONTS if name != "fontasy_himali")
"""Fontasy Himali's own keys are unknown but for digits and quotes, which prove nothing."""

_MOST = 0.5
_PLAIN = Course()
_NAMED = Course(enter=3.0, leave=3.0, begins_legacy=True, new_line=1.0, veto=-9.0)

_SUBSET = re.compile(r"^[A-Z]{6}\+")
_STYLE = re.compile(
    r"(?:bold|italic|oblique|normal|regular|medium|heavy|light|book|roman|plain|mt|ps|tt|font|\d)$"
)
_WORDS = re.compile(r"\S+")
_UNICODE_WORD = re.compile("[\u0900-\u097f]")


def family(font_name: str) -> str | None:
    """Return the family of ``LEGACY_FONTS`` that a font's name belongs to.

    Subset prefixes, styles, spaces and case do not count. The name promises nothing about the text.

    >>> family("ABCDEF+Preeti,Bold"), family("FONTASY_HIMALI_TT"), family("PCS NEPALI"), family("Kalimati")
    ('preeti', 'himali_tt', 'pcs_nepali', None)
    """
    name = re.sub(r"[^a-z0-9]", "", _SUBSET.sub("", font_name).lower())
    while name:
        for font in LEGACY_FONTS.values():
            if name in font.names:
                return font.name
        shorter = _STYLE.sub("", name)
        name = shorter if shorter != name else ""
    return None


_family_named = family  # for functions with a parameter of this name


def to_unicode(text: str, family: str) -> str:
    """Return what a text of codes shows in a font of the family; white space stays, Unicode words too.

    Everything else is taken as typed for the font: use ``convert_span`` or ``convert_plain`` where that is
    not certain. A code without a glyph stays visible; ``unmapped`` counts those.

    Raises:
        UnknownName: The family is not in ``LEGACY_FONTS``.

    >>> to_unicode("g]kfnsf] ;+ljwfg @)&@", "preeti")
    'नेपालको संविधान २०७२'
    """
    _check(family)
    return _WORDS.sub(lambda m: m[0] if _UNICODE_WORD.search(m[0]) else convert_word(m[0], family), text)


def unmapped(text: str, family: str) -> dict[str, int]:
    """Return the characters for which the family's fonts draw nothing that is known, with their counts.

    >>> unmapped("g]kfnþ ljþ", "preeti")
    {'þ': 2}
    """
    _check(family)
    glyphs = LEGACY_FONTS[family].glyphs
    codes = keys_of("".join(word for word in _WORDS.findall(text) if not _UNICODE_WORD.search(word)))
    return dict(Counter(code for code in codes if code not in glyphs and code not in "‘’“”"))


def looks_legacy(text: str) -> float:
    """Return which share of a text's words is typed for a legacy font, judged by the text alone.

    Range 0 to 1, by characters; addresses, numbers and other scripts do not count. 0 for an empty text.
    """
    found = candidates(text, DEFAULT_FAMILY)
    return _share(found, legacy_words(found, _PLAIN))


def detect_family(text: str) -> str | None:
    """Return the layout in which the legacy words of a text read best, or None if it has none."""
    return _best(text, _DETECTED) if legacy_words(candidates(text, DEFAULT_FAMILY), _PLAIN) else None


def resolve(font_name: str, text: str) -> str | None:
    """Return the family in whose layout a font's text reads best, among those its name allows.

    Give it all text of the font in a document: names of the Himali kin stand for layouts with and without
    digits on the plain keys, and with ु on either quote key.
    """
    name = family(font_name)
    return _best(text, (name, *LEGACY_FONTS[name].alternatives)) if name else None


def is_legacy_span(text: str, font_name: str) -> bool:
    """Return whether most of a span is typed for a legacy font, by its font's name and by its text.

    Real English and Unicode under a legacy font's name are not, legacy text under another name is.
    """
    name = family(font_name)
    if name is None:
        return looks_legacy(text) > _MOST
    found = candidates(text, name, named=True)
    return _share(found, legacy_words(found, _NAMED)) > _MOST


def convert_plain(text: str, family: str | None = None) -> str:
    """Return a text with its legacy runs in Unicode, and everything else as it is.

    Args:
        text: Text without fonts; the longer, the surer.
        family: The layout, where it is known; otherwise the one in which the runs read best.

    >>> convert_plain("The g]kfn ;/sf/ (Government of Nepal) 2024, नेपाल")
    'The नेपाल सरकार (Government of Nepal) 2024, नेपाल'
    """
    chosen_family = family or detect_family(text)
    if chosen_family is None:
        return text
    _check(chosen_family)
    return _converted(text, legacy_words(candidates(text, chosen_family), _PLAIN), chosen_family)


def convert_span(text: str, font_name: str, family: str | None = None) -> str:
    """Return a span, or a run of spans in one font, with what is legacy in Unicode.

    Args:
        text: Give whole lines or paragraphs: syllables may be cut where spans are.
        font_name: As the file has it; text of other fonts is converted only if it is certain.
        family: What ``resolve`` found for this font in this document.

    >>> convert_span("bkmf 5 -@_ M", "ABCDEF+Preeti"), convert_span("Section 5 (2):", "ABCDEF+Preeti")
    ('दफा छ (२) :', 'Section 5 (2):')
    """
    name = family or _family_named(font_name)
    if name is None:
        return convert_plain(text)
    _check(name)
    found = candidates(text, name, named=True)
    chosen = legacy_words(found, _NAMED)
    if _share(found, chosen) <= _MOST:
        chosen = legacy_words(candidates(text, name), _PLAIN)
    return _converted(text, chosen, name)


def _converted(text: str, chosen: Sequence[Word], family: str) -> str:
    pieces, end = [], 0
    for word in chosen:
        pieces += [text[end : word.start], convert_word(text[word.start : word.end], family)]
        end = word.end
    return "".join([*pieces, text[end:]])


def _share(found: Sequence[Word], chosen: Sequence[Word]) -> float:
    """Return the share of the chosen words among those found, by characters; without letters signs count."""
    counted = [word for word in found if word.n_letters] or [word for word in found if not word.opaque]
    starts = {word.start for word in chosen}
    n_all = sum(word.end - word.start for word in counted)
    return sum(word.end - word.start for word in counted if word.start in starts) / n_all if n_all else 0.0


def _best(text: str, families: Sequence[str]) -> str:
    """Return the family in which most letters stand in known words, the first of equals."""
    common = Counter(_WORDS.findall(text)).most_common(_ENOUGH_WORDS)
    sample = "\n".join(word for word, _ in common)

    def known(family: str) -> int:
        return sum(word.n_letters for word in candidates(sample, family) if word.known)

    return max(families, key=known)


def _check(family: str) -> None:
    if family not in LEGACY_FONTS:
        raise UnknownName("legacy font family", family, list(LEGACY_FONTS))
