"""Numbers in text as values: both digit systems, Indian and Western groups, lakh and crore, number words.

``८४ करोड ५० लाख``, ``84.5 crore`` and ``845,000,000`` are one value. Dates are ``dates``' business: blank
them out first where they matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import regex

from rag_platform.text.analyze import bare_forms
from rag_platform.text.dates import ascii_digits
from rag_platform.text.normalize import search_key

__all__ = ["FoundNumber", "find_numbers"]

_NEPALI = """
शून्य|सुन्ना एक दुई|दुइ तीन चार पाँच छ सात आठ नौ
दस|दश एघार बाह्र तेह्र चौध पन्ध्र सोह्र सत्र अठार|अठाह्र उन्नाइस
बीस|बिस एक्काइस बाइस तेइस चौबीस पच्चीस छब्बीस सत्ताइस अट्ठाइस|अठ्ठाइस उनन्तीस
तीस एकतीस|एकत्तिस बत्तीस तेत्तीस चौँतीस पैँतीस छत्तीस सैँतीस अठतीस|अठ्तीस उनन्चालीस|उनञ्चालीस
चालीस एकचालीस बयालीस त्रिचालीस चवालीस|चौवालीस पैँतालीस छयालीस सतचालीस अठचालीस उनन्चास|उनपचास
पचास एकाउन्न बाउन्न त्रिपन्न चवन्न|चौवन्न पचपन्न छपन्न सन्ताउन्न अन्ठाउन्न उनन्साठी|उनसट्ठी
साठी|साठ एकसट्ठी बैसट्ठी त्रिसट्ठी चौसट्ठी पैँसट्ठी छैसट्ठी|छयसट्ठी सतसट्ठी अठसट्ठी उनन्सत्तरी
सत्तरी एकहत्तर बहत्तर त्रिहत्तर चौहत्तर पचहत्तर छयहत्तर सतहत्तर अठहत्तर उनासी
असी|अस्सी एकासी बयासी त्रियासी चौरासी पचासी छयासी सतासी अठासी उनान्नब्बे
नब्बे एकानब्बे बयानब्बे त्रियानब्बे चौरानब्बे पन्चानब्बे|पञ्चानब्बे छयानब्बे सन्तानब्बे अन्ठानब्बे उनान्सय
"""
_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_SCALES = {
    "सय": 2, "हजार": 3, "लाख": 5, "करोड": 7, "अर्ब": 9, "अरब": 9, "खर्ब": 11,
    "hundred": 2, "thousand": 3, "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7, "million": 6, "billion": 9,
}  # fmt: skip
_HALVES = {"डेढ": "1.5", "अढाई": "2.5"}
_HALF = "साढे"
_SIX = "छ"
_COUNTED = (
    "महिना महिने दिन दिने वर्ष बर्ष वर्षे जना जनाको वटा ओटा सय हजार लाख करोड घण्टा हप्ता मिनेट पटक सदस्यीय प्रतिशत"
    " किलोमिटर मिटर बजे"
)
"""``छ`` is the number six before these words, elsewhere the verb."""
_CLASSIFIER = regex.compile(r"(?<=..)(?:वटा|ओटा|जना|औं|ौं)$")
_LARGEST_OPEN = 3
"""``२ सय ५०`` is one number; after a lakh a number without a scale is another one."""
_NO_SCALE = 99
_TOKEN = regex.compile(
    r"(?P<digits>(?<![\d.])(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d+)(?:\.\d+)?)|(?P<word>[\p{L}\p{M}\u200c\u200d]+)"
)
_BETWEEN = regex.compile(r"[\s-]*")
_LETTERS = str.maketrans({"ी": "ि", "ू": "ु", "श": "स", "व": "ब", "ण": "न"})


@dataclass(frozen=True, slots=True)
class FoundNumber:
    """A number that a text names, ``text[start:end]``.

    Attributes:
        is_word: It stands in words alone, without a digit.
    """

    start: int
    end: int
    value: Decimal
    is_word: bool


def find_numbers(text: str) -> Iterator[FoundNumber]:
    """Yield the numbers of a text in order.

    >>> [str(n.value) for n in find_numbers("८४ करोड ५० लाख, १,२०० जना, साढे तीन, thirty-five days, 9.5%")]
    ['845000000', '1200', '3.5', '35', '9.5']
    """
    open_number = _Open()
    plain = ascii_digits(text)
    matches = list(_TOKEN.finditer(plain))
    for at, match in enumerate(matches):
        following = (matches[at + 1]["word"] or "") if at + 1 < len(matches) else ""
        part, is_scaled = _part(match, following), _key(following) in _POWERS
        is_next_to = bool(_BETWEEN.fullmatch(plain, open_number.end, match.start()))
        if part is None or not is_next_to or not open_number.takes(part, is_scaled=is_scaled):
            yield from open_number.close()
        if part is not None:
            open_number.add(part, match.start(), match.end())
    yield from open_number.close()


@dataclass(frozen=True, slots=True)
class _Part:
    """A word or group of digits of a number: a value, a scale (power of ten), or the half of ``साढे``."""

    value: Decimal | None
    scale: int = 0
    is_word: bool = True
    is_half: bool = False


class _Open:
    """A number as it is being read."""

    def __init__(self) -> None:
        self.start, self.end = 0, 0
        self._clear()

    def _clear(self) -> None:
        self._total, self._half = Decimal(0), Decimal(0)
        self._current: Decimal | None = None
        self._scale, self._after_scale = _NO_SCALE, False
        self._is_word, self._is_open = True, False

    def takes(self, part: _Part, *, is_scaled: bool) -> bool:
        """Say whether a part, with a scale after it or without, continues this number."""
        if not self._is_open:
            return True
        if part.value is None:
            return not part.is_half and (self._after_scale or self._scale > part.scale)
        if self._current is not None:
            is_tens = self._current in _TENS and part.value < 10 and part.is_word and self._is_word
            return is_tens and part.value > 0
        if self._scale == _NO_SCALE:
            return bool(self._half)
        return (is_scaled or self._scale <= _LARGEST_OPEN) and part.value < 10**self._scale

    def add(self, part: _Part, start: int, end: int) -> None:
        """Take in a part that ``takes`` has accepted."""
        if not self._is_open:
            self.start, self._is_open = start, True
        self.end = end
        self._is_word = self._is_word and part.is_word
        if part.is_half:
            self._half = Decimal("0.5")
        elif part.value is not None:
            self._current = (self._current or Decimal(0)) + part.value + self._half
            self._half, self._after_scale = Decimal(0), False
        elif self._after_scale:
            self._total, self._scale = self._total * 10**part.scale, part.scale
        else:
            self._total += (Decimal(1) if self._current is None else self._current) * 10**part.scale
            self._current, self._scale, self._after_scale = None, part.scale, True

    def close(self) -> Iterator[FoundNumber]:
        """Yield the number that was read, if any, and begin anew."""
        if self._is_open and (self._current is not None or self._after_scale):
            value = self._total + (self._current or Decimal(0))
            yield FoundNumber(self.start, self.end, value.normalize() + 0, self._is_word)
        self._clear()


_TENS = frozenset(map(Decimal, range(20, 100, 10)))


def _part(match: regex.Match[str], following: str) -> _Part | None:
    """Return what a token says of a number, None for another word."""
    if match["digits"]:
        return _Part(Decimal(match["digits"].replace(",", "")), is_word=False)
    word = search_key(match["word"])
    if not word:
        return None
    if word == _SIX:
        is_six = following and not _COUNTED_WORDS.isdisjoint(bare_forms(search_key(following) or _SIX))
        return _Part(Decimal(6)) if is_six else None
    if _key(word) == _key(_HALF):
        return _Part(None, is_half=True)
    for form in map(_key, (*bare_forms(word), _CLASSIFIER.sub("", word))):
        if form in _VALUES:
            return _Part(_VALUES[form])
        if form in _POWERS:
            return _Part(None, scale=_POWERS[form])
    return None


def _key(word: str) -> str:
    return search_key(word).translate(_LETTERS)


def _values() -> dict[str, Decimal]:
    """Return the number words of both languages, spelling variants included."""
    found = {_key(name): Decimal(value) for name, value in _HALVES.items()}
    for value, names in enumerate(_NEPALI.split()):
        found |= {_key(name): Decimal(value) for name in names.split("|") if name != _SIX}
    for at, name in enumerate(_ENGLISH.split()):
        found[name] = Decimal(at if at <= 20 else 10 * (at - 18))
    return found


_VALUES = _values()
_POWERS = {_key(name): power for name, power in _SCALES.items()}
_COUNTED_WORDS = frozenset(map(search_key, _COUNTED.split()))
