"""Two normal forms of a text: the one that is stored and shown, and the one that is searched.

``stored_text`` only removes what no reader sees; ``search_key`` folds the many spellings of one word and
is never stored or shown. The folds stand in tables, one a script, so that a language is added as data.
No tokenising and no stemming here: that is ``analyze``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache

__all__ = ["FOLDS", "ScriptFolds", "search_key", "stored_text"]

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\ufeff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def stored_text(text: str) -> str:
    r"""Return the text as it is stored, shown and quoted: NFC, line ends as ``\n``, nothing invisible.

    Removed are control characters (but ``\n`` and ``\t``), U+200B, byte order marks, and halves of
    surrogate pairs, which no UTF-8 file can hold. Joiners (ZWJ, ZWNJ), no-break spaces, digits and spelling
    stay: they are part of what the source says.

    >>> stored_text("\ufeffगर्\u200dयो\r\n२०८१ m²")
    'गर्\u200dयो\n२०८१ m²'
    """
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))
    if _LONE_SURROGATE.search(text):
        text = _SURROGATE_PAIR.sub(lambda m: m[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
        text = _LONE_SURROGATE.sub("", text)
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True, slots=True)
class ScriptFolds:
    """How one script's spellings fold into one search key.

    Attributes:
        dropped: Characters without a part in the key.
        sequences: Look-alike sequences and variants, each with what it stands for; longest first.
        patterns: Regular expressions for what depends on the neighbours, with replacements.
    """

    dropped: str = ""
    sequences: tuple[tuple[str, str], ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()


FOLDS: dict[str, ScriptFolds] = {
    "Devanagari": ScriptFolds(
        # Nukta: क़ and ऱ (which NFD splits) become क and र, so that ऱ्य, र्‍य and र्य are one key, too.
        # Visarga: क्रमशः is as often typed क्रमश: with a colon, and दुःख as दुख.
        dropped="\u093c\u0903",
        sequences=(
            ("अाे", "ओ"),
            ("अाै", "औ"),
            ("अा", "आ"),
            ("आे", "ओ"),
            ("आै", "औ"),
            ("अो", "ओ"),
            ("अौ", "औ"),
            ("एे", "ऐ"),
            ("ाे", "ो"),
            ("ाै", "ौ"),
            ("ँ", "ं"),
        ),
        patterns=(
            # A colon typed for a visarga inside a word; only after the stems that have one, because
            # "नाम:राम" are two words.
            (r"(?<![\u0900-\u0963])(अन्त|अध|दु|नि|पुन|प्रात|बहि|चतु|स्वत):(?=[क-ह])", r"\1"),
            # A nasal with halant before a stop of its own class is what the anusvara abbreviates; not in the
            # verb ending न्थ्यो, which stemmers know by that spelling.
            ("ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[तदध]|थ(?!्य|े$|े[^ऀ-ॣ]))|म्(?=[प-भ])", "ं"),
        ),
    ),
}
"""Folds by script. Digits, joiners, spaces, full-width forms and case fold in all scripts alike."""

_FULL_WIDTH = range(0xFF01, 0xFF5F)
_UNSEEN_MARKS = {0x034F, *range(0xFE00, 0xFE10)}  # grapheme joiner, variation selectors


@cache
def _character_table() -> dict[int, str | None]:
    """Return the folds of single characters for ``str.translate``: the same for every script."""
    table: dict[int, str | None] = {code: chr(code - 0xFEE0) for code in _FULL_WIDTH}
    table |= dict.fromkeys(_UNSEEN_MARKS)
    for code in range(0x80, sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category == "Nd":
            table[code] = str(unicodedata.decimal(chr(code)))
        elif category == "Cf":
            table[code] = None
        elif category == "Zs":
            table[code] = " "
    table |= {ord(mark): None for folds in FOLDS.values() for mark in folds.dropped}
    return table


@cache
def _sequence_folds() -> tuple[re.Pattern[str], dict[str, str], tuple[tuple[re.Pattern[str], str], ...]]:
    """Return one pattern for all look-alike sequences with its replacements, and the patterns after it."""
    sequences = {a: b for folds in FOLDS.values() for a, b in folds.sequences}
    alternatives = "|".join(map(re.escape, sorted(sequences, key=len, reverse=True)))
    patterns = tuple((re.compile(p), r) for folds in FOLDS.values() for p, r in folds.patterns)
    return re.compile(alternatives), sequences, patterns


def search_key(text: str) -> str:
    """Return the key by which a text is searched: spellings of one word fold into one string.

    Folded are joiners and other unseen characters, nukta, visarga, chandrabindu and the nasals that
    anusvara abbreviates, digits of all scripts (to ASCII), full-width forms, case, spaces, and typed
    look-alikes (``अा`` for ``आ``). Fractions and superscripts stay: ``m²`` is not ``m2``. The key is
    idempotent, and the same function serves index and query.

    >>> search_key("सङ्घ") == search_key("संघ"), search_key("क़लम २०८१")
    (True, 'कलम 2081')
    """
    text = unicodedata.normalize("NFD", stored_text(text)).translate(_character_table())
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    lookalikes, sequences, patterns = _sequence_folds()
    text = lookalikes.sub(lambda match: sequences[match[0]], text)
    for pattern, replacement in patterns:
        text = pattern.sub(replacement, text)
    return text
