"""List labels as programs generate them: ``५.``, ``(क)``, ``iv)``. Numbers to text and back, no documents."""

from __future__ import annotations

from rag_platform.text.dates import devanagari_digits

__all__ = ["in_format", "whole_number"]

_CONSONANTS = "कखगघङचछजझञटठडढणतथदधनपफबभमयरलवशषसह"
_VOWELS = "अआइईउऊएऐओऔ"
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MOST = 10**9
_FORMATS = {
    "lowerLetter": "a", "a": "a", "upperLetter": "A", "A": "A", "lowerRoman": "i", "i": "i",
    "upperRoman": "I", "I": "I", "hindiNumbers": "१", "१": "१", "hindiConsonants": "क", "क": "क",
    "hindiVowels": "अ", "अ": "अ",
}  # fmt: skip
"""Names of Word and sample characters of OpenDocument and HTML, by what they count with."""


def whole_number(stated: object, default: int = 0) -> int:
    """Return a whole number that a file states; the default where it states none, or nonsense.

    >>> whole_number("12"), whole_number(None, 1), whole_number("1e9", 1), whole_number("9" * 30, 1)
    (12, 1, 1, 1)
    """
    try:
        number = int(str(stated))
    except ValueError:
        return default
    return number if abs(number) < _MOST else default


def in_format(number: int, name: str) -> str:
    """Return ``number`` as a list label counts; an unknown format counts in ASCII digits.

    >>> [in_format(5, name) for name in ("decimal", "hindiNumbers", "क", "lowerRoman", "A")]
    ['5', '५', 'ङ', 'v', 'E']
    >>> in_format(28, "a"), in_format(3, "decimalZero"), in_format(0, "a")
    ('bb', '03', '0')
    """
    kind = _FORMATS.get(name, "")
    if kind == "१":
        return devanagari_digits(str(number))
    if name == "decimalZero":
        return f"{number:02d}"
    if number < 1 or number > 3999:
        return str(number)
    if kind in ("a", "A"):
        letter = chr(ord(kind) + (number - 1) % 26)
        return letter * ((number - 1) // 26 + 1)
    if kind in ("i", "I"):
        roman = _roman(number)
        return roman if kind == "i" else roman.upper()
    if kind in ("क", "अ"):
        letters = _CONSONANTS if kind == "क" else _VOWELS
        return letters[(number - 1) % len(letters)] * ((number - 1) // len(letters) + 1)
    return str(number)


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        while number >= value:
            text += letters
            number -= value
    return text
