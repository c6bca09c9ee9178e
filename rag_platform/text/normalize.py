"""Two normal forms of a text: the one that is stored and shown, and the one that is searched.

``stored_text`` only removes what no reader sees; ``search_key`` folds the many spellings of one word and
is never stored or shown. Digits, joiners, spaces, full-width forms and case fold in all scripts alike; the
other folds stand in ``scripts``.
No tokenising and no stemming here: that is ``analyze``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rag_platform.text.scripts import SCRIPTS

__all__ = ["search_key", "stored_text"]

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
    table |= {ord(mark): None for folds in SCRIPTS.values() for mark in folds.dropped}
    return table


@dataclass(frozen=True, slots=True)
class _Folds:
    """One script's folds of several characters, and what tells that a text holds that script."""

    present: re.Pattern[str]
    lookalikes: re.Pattern[str] | None
    sequences: Mapping[str, str]
    patterns: tuple[tuple[re.Pattern[str], str], ...]


@cache
def _folds() -> tuple[_Folds, ...]:
    found = []
    for script in SCRIPTS.values():
        alternatives = "|".join(re.escape(a) for a, _ in script.sequences)
        found.append(
            _Folds(
                re.compile(f"[{chr(script.block)}-{chr(script.block + 0x7F)}]"),
                re.compile(alternatives) if alternatives else None,
                dict(script.sequences),
                tuple((re.compile(pattern), kept) for pattern, kept in script.patterns),
            )
        )
    return tuple(fold for fold in found if fold.lookalikes or fold.patterns)


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
    for folds in _folds():
        if folds.present.search(text):
            text = _folded(text, folds)
    return text


def _folded(text: str, folds: _Folds) -> str:
    if folds.lookalikes:
        text = folds.lookalikes.sub(lambda match: folds.sequences[match[0]], text)
    for pattern, kept in folds.patterns:
        text = pattern.sub(kept, text)
    return text
