"""Numbers and days that a text states, and whether two of them agree, in any digits, words or calendar.

Only values: whether the words around a number agree is ``support``'s to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import regex

from rag_platform.text.analyze import analyze
from rag_platform.text.dates import (
    ascii_digits,
    find_dates,
    find_fiscal_years,
    find_month_days,
    read_fiscal_year,
)
from rag_platform.text.numbers import find_numbers

__all__ = ["Fact", "agreement", "facts_of", "number_spans"]

_FISCAL = regex.compile(r"(?<![\d/])\d{3,4}\s?[/।]\s?\d{2,4}(?![\d/])")
_NEXT_WORD = regex.compile(r"[\s\-–.%]*?(?P<unit>%|[\p{L}\p{M}\u200c\u200d]+)")


_KINDS = (
    "दिन day days",
    "हप्ता week weeks",
    "महिना month months",
    "वर्ष बर्ष year years",
    "घण्टा hour hours",
    "मिनेट minute minutes",
    "प्रतिशत percent",
    "रुपैयाँ रुपियाँ rupees rupee",
    "वटा ओटा",
    "जना people persons",
    "किलोमिटर km kilometre kilometres",
    "मिटर metre metres",
    "केजी किलो kg kilogram",
    "लिटर litre litres",
)
_UNITS = {term: kind for kind, names in enumerate(_KINDS) for name in names.split() for term in analyze(name)}


@dataclass(frozen=True, slots=True)
class Fact:
    """A number, a day or a fiscal year.

    Attributes:
        value: Of a number.
        day: Of a whole date, ISO, Gregorian.
        month_days: Calendar, month and day, of a date; two of a whole date.
        fiscal_year: As ``2080/81``.
        unit: The term of the word after a number; empty where there is none.
    """

    value: Decimal | None = None
    day: str = ""
    month_days: frozenset[tuple[str, int, int]] = frozenset()
    fiscal_year: str = ""
    unit: str = ""

    def agrees(self, other: Fact) -> bool:
        """Say whether both state the same; a day without a year agrees with one that has it.

        Units differ where both are known ones of different kinds: ``७ दिन`` and ``७ महिना``.
        """
        if self.month_days and other.month_days:
            if self.day and other.day:
                return self.day == other.day
            return bool(self.month_days & other.month_days)
        if self.fiscal_year or other.fiscal_year:
            return self.fiscal_year == other.fiscal_year
        if self.value is None or self.value != other.value:
            return False
        kinds = _UNITS.get(self.unit), _UNITS.get(other.unit)
        return None in kinds or kinds[0] == kinds[1]


def facts_of(text: str) -> list[Fact]:
    """Return what a text states in numbers and dates; ``एक`` and ``one`` are articles as often and left out.

    >>> [str(f.value or f.day) for f in facts_of("२०८१/०४/१५ मा ५ लाख रुपैयाँ, 40 percent")]
    ['2024-07-30', '500000', '40']
    """
    found: list[Fact] = []
    for date in find_dates(text):
        days = {("AD", date.day.month, date.day.day)}
        if date.sambat is not None:
            days.add(("BS", date.sambat.month, date.sambat.day))
        found.append(Fact(day=date.day.isoformat(), month_days=frozenset(days)))
        text = _blank(text, date.start, date.end)
    for part in find_month_days(text):
        found.append(Fact(month_days=frozenset({(part.era, part.month, part.day)})))
        text = _blank(text, part.start, part.end)
    marked = set(find_fiscal_years(text))
    for match in _FISCAL.finditer(ascii_digits(text)):
        year = read_fiscal_year(text[match.start() : match.end()])
        if year in marked:
            found.append(Fact(fiscal_year=str(year)))
            text = _blank(text, match.start(), match.end())
    return found + _numbers(text)


def number_spans(text: str) -> list[tuple[int, int]]:
    """Return where numbers stand, words of them included: they are facts, no terms."""
    return [(number.start, number.end) for number in find_numbers(text)]


def agreement(answer: str, reference: str) -> float | None:
    """Return how well the numbers and dates of an answer agree with those of a reference.

    The harmonic mean of the share of the reference's that the answer has, and of the answer's that the
    reference has. Range 0 to 1; None where the reference states none.
    """
    expected, given = facts_of(reference), facts_of(answer)
    if not expected:
        return None
    recall, precision = _share(expected, given), _share(given, expected)
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def _share(facts: Sequence[Fact], others: Sequence[Fact]) -> float:
    return sum(any(f.agrees(o) for o in others) for f in facts) / len(facts) if facts else 0.0


def _numbers(text: str) -> list[Fact]:
    found = []
    for number in find_numbers(text):
        if number.is_word and number.value == 1:
            continue
        following = _NEXT_WORD.match(text, number.end)
        terms = analyze(following["unit"]) if following else []
        found.append(Fact(value=number.value, unit=terms[0] if terms else ""))
    return found


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]
