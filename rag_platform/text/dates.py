"""Days, years and fiscal years in text, Bikram Sambat and Gregorian, in both digit systems.

What is not surely a date is none: ``१/२/३`` has no year, ``2080/81`` is a fiscal year, ``03/04/2024`` may be
March or April. The calendar itself is ``bikram_sambat``; what a date means for its document is not said here.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

import regex

from rag_platform.text.bikram_sambat import Sambat, month_days

__all__ = [
    "FIRST_SURE_YEAR",
    "Era",
    "FoundDate",
    "MonthDay",
    "Period",
    "ascii_digits",
    "devanagari_digits",
    "find_dates",
    "find_fiscal_years",
    "find_month_days",
    "find_years",
    "read_fiscal_year",
    "read_period",
]

Era = Literal["BS", "AD"]

FIRST_SURE_YEAR = 2041
"""From this year on ASCII digits mean Bikram Sambat (AD 2041 is far), before it Gregorian, unless said."""

_SAMBAT_MONTHS = (
    "वैशाख बैशाख वैसाख बैसाख baisakh baishakh vaisakh vaishakh",
    "जेठ जेष्ठ ज्येष्ठ जेस्ठ jestha jeth jyestha jyaistha",
    "असार आषाढ अषाढ असाढ asar asadh ashadh ashad ashadha",
    "साउन श्रावण सावन श्रावन shrawan saun sawan shravan srawan sravan",
    "भदौ भाद्र भाद्रपद bhadra bhadau",
    "असोज आश्विन अश्विन आसोज ashwin asoj aswin ashoj",
    "कार्तिक कात्तिक कार्त्तिक kartik kartika kattik",
    "मंसिर मङ्सिर मङसिर मंशिर मार्ग मार्गशीर्ष mangsir mansir marga mangshir",
    "पुस पौष पूस पौस poush paush pus poos",
    "माघ magh",
    "फागुन फाल्गुन फाल्गुण falgun phalgun fagun phagun",
    "चैत चैत्र chaitra chait",
)
_GREGORIAN_MONTHS = (
    "जनवरी जनवरि january jan",
    "फेब्रुअरी फेब्रुवरी फेब्रुअरि फरवरी february feb",
    "मार्च march mar",
    "अप्रिल अप्रैल एप्रिल april apr",
    "मे मई may",
    "जुन जून june jun",
    "जुलाई जुलाइ july jul",
    "अगस्ट अगस्त august aug",
    "सेप्टेम्बर सेप्टेम्वर सेप्टेंबर सितम्बर september sept sep",
    "अक्टोबर अक्टुबर अक्टूबर october oct",
    "नोभेम्बर नोभेम्वर नोवेम्बर नवम्बर november nov",
    "डिसेम्बर डिसेम्वर दिसम्बर december dec",
)
_MONTHS: dict[str, tuple[Era, int]] = {
    **{name: ("BS", at) for at, names in enumerate(_SAMBAT_MONTHS, start=1) for name in names.split()},
    **{name: ("AD", at) for at, names in enumerate(_GREGORIAN_MONTHS, start=1) for name in names.split()},
}

_DIGITS = {ord("०") + value: str(value) for value in range(10)}
_DEVANAGARI_DIGITS = {ord(digit): chr(code) for code, digit in _DIGITS.items()}
_Y = r"(?P<y>(?:19|20|21)\d\d)"
_M, _D = r"(?P<m>\d{1,2})", r"(?P<d>\d{1,2})"
_SEP = r"\s?(?P<sep>[/.।\-–])\s?"
_BEFORE = r"(?<![\d\p{Latin}])(?<!\d[/.।\-–])"
_AFTER = r"(?!\d|\s?[/।\-–]\s?\d|\.\d)"
_NAME = r"(?P<name>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")(?:को|का)?(?![\p{L}\p{M}])\.?"
_AD = r"(?:A\.?D\.?|C\.?E\.?)(?!\p{L})|(?:ई\.?\s?सं\.?|इ\.?\s?सं\.?|ईस्वी(?:\s+संवत्)?|ईसवी|सन्)(?![\p{L}\p{M}])"
_BS = (
    r"(?:B\.?S\.?|V\.?S\.?)(?!\p{L})"
    r"|(?:[वब]ि\.?\s?सं\.?|(?:विक्रम\s+)?(?:संवत्|सम्वत्|सम्बत्))(?![\p{L}\p{M}])"
)
_ERA = rf"(?:(?P<ad>{_AD})|(?P<bs>{_BS}))"
_ORDER = (
    rf"{_Y}{_SEP}{_M}\s?(?P=sep)\s?{_D}{_AFTER}",
    rf"{_D}{_SEP}{_M}\s?(?P=sep)\s?{_Y}{_AFTER}",
    rf"{_Y}\s?(?:साल(?:को|मा)?)?[\s,]*{_NAME}(?:\s*महिना(?:को)?)?[\s,]*{_D}{_AFTER}",
    rf"{_NAME}[\s,]*{_D}(?:st|nd|rd|th|\s?गते)?[\s,]+{_Y}{_AFTER}",
    rf"{_D}(?:st|nd|rd|th|\s?गते)?\s*(?:of\s+)?{_NAME}[\s,]+{_Y}{_AFTER}",
)
_DATE = regex.compile(
    rf"(?:{_ERA}\s*[:ः]?\s*)?{_BEFORE}(?:{'|'.join(_ORDER)})(?:\s?गते)?(?:\s?\(?{_ERA}\)?)?", regex.I
)
_YEAR = re.compile(r"(?:19|20|21)\d\d")
_REACH = 80
"""Characters on either side of a year that its date can take; no spelling takes half of them."""
_ERA_YEAR = regex.compile(
    rf"(?P<bs>{_BS})\s*[:ः]?\s*{_Y}(?!\d)|{_BEFORE}{_Y}\s?(?:(?P<bs>{_BS})|साल)", regex.I
)
_PERIOD = regex.compile(
    rf"(?:{_ERA}\s*)?{_Y}(?:{_SEP}{_M})?(?:\s?साल)?(?:\s?{_ERA})?"
    rf"|(?:{_ERA}\s*)?{_Y}(?:\s?साल)?[\s,]*{_NAME}(?:\s?{_ERA})?"
    rf"|{_NAME}[\s,]+{_Y}(?:\s?{_ERA})?",
    regex.I,
)
_MONTH_DAY = regex.compile(
    rf"(?<![\p{{L}}\p{{M}}])(?:{_NAME}[\s,]*{_D}(?![\d:.]\d|\d)|(?<![\d.,:]){_D}(?:st|nd|rd|th|\s?गते)?\s*(?:of\s+)?{_NAME})"
    r"(?:\s?गते)?",
    regex.I,
)
_FISCAL_MARK = (
    r"(?<![\p{L}\p{M}])"
    r"(?:आ[.0ः]?\s?[वब][.0ः]?|आर्थिक\s+[वब]र्ष(?:को)?|FY|F\.Y\.|(?:fiscal|financial)\s+years?)"
)
_FISCAL = regex.compile(
    rf"(?:(?P<mark>{_FISCAL_MARK})\s*[:ः\-]?\s*)?{_BEFORE}(?P<y>(?:19|20|21)\d\d|0\d\d)\s?(?P<sep>[/।\-–])\s?"
    rf"(?P<z>(?:19|20|21)\d\d|0\d\d|\d\d){_AFTER}",
    regex.I,
)
_AS_MONTHS = 12
_LONGEST_MONTH = 32


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A day that a text names, ``text[start:end]``; ``era`` says in which calendar."""

    start: int
    end: int
    day: date
    era: Era

    @property
    def sambat(self) -> Sambat | None:
        """The day in the Bikram Sambat calendar; None outside its table."""
        return Sambat.of(self.day)


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A month and a day that a text names, with a year or without, ``text[start:end]``."""

    start: int
    end: int
    era: Era
    month: int
    day: int


@dataclass(frozen=True, slots=True)
class Period:
    """A day, month or year as its first and last day; ``era`` says in which calendar it was named."""

    first: date
    last: date
    era: Era


def ascii_digits(text: str) -> str:
    """Return the text with Devanagari digits as ASCII ones, every other character in its place.

    >>> ascii_digits("दफा ९क")
    'दफा 9क'
    """
    return text.translate(_DIGITS)


def devanagari_digits(text: str) -> str:
    """Return the text with ASCII digits as Devanagari ones, every other character in its place.

    >>> devanagari_digits("पृष्ठ 12")
    'पृष्ठ १२'
    """
    return text.translate(_DEVANAGARI_DIGITS)


def find_dates(text: str) -> Iterator[FoundDate]:
    """Yield the days that a text names with day, month and year, in order.

    >>> [found.day.isoformat() for found in find_dates("मिति: २०८१/०४/१५, April 15, 2024")]
    ['2024-07-30', '2024-04-15']
    """
    plain = ascii_digits(text)
    for first, last in _around_years(plain):
        for match in _DATE.finditer(plain, first, last):
            found = _found(match, text)
            if found is not None:
                yield found


def find_month_days(text: str) -> Iterator[MonthDay]:
    """Yield the days that a text names by a month's name, whether or not it says the year.

    >>> [(found.era, found.month, found.day) for found in find_month_days("पुस ९ गते, 4 Magh, June 2nd")]
    [('BS', 9, 9), ('BS', 10, 4), ('AD', 6, 2)]
    """
    for match in _MONTH_DAY.finditer(ascii_digits(text)):
        era, month = _month(match["name"])
        if era and month and 1 <= int(match["d"]) <= _LONGEST_MONTH:
            yield MonthDay(match.start(), match.end(), era, month, int(match["d"]))


def find_years(text: str) -> Iterator[int]:
    """Yield the Bikram Sambat years that a text names as such: ``२०८१ साल``, ``वि.सं. २०८१``; dates' too."""
    for found in find_dates(text):
        if found.sambat is not None:
            yield found.sambat.year
    for match in _ERA_YEAR.finditer(ascii_digits(text)):
        if match["bs"] or match.start("y") == match.start():
            yield int(match["y"])


def find_fiscal_years(text: str) -> Iterator[str]:
    """Yield the fiscal years that a text names, as ``2080/81``; Gregorian ones by the Nepali year they are.

    Unmarked, a hyphen (``2080-81`` may be a range) and what may be a month (``2010/11``) are not enough.

    >>> list(find_fiscal_years("आ.व. २०८०/८१ को बजेट, २०८१/०८२ मा, FY 2023/24, 2081/05"))
    ['2080/81', '2081/82', '2080/81']
    """
    for match in _FISCAL.finditer(ascii_digits(text)):
        found = _fiscal_year(match, text[match.start("y")].isascii(), is_marked=bool(match["mark"]))
        if found:
            yield found


def read_fiscal_year(text: str) -> str | None:
    """Return the fiscal year that the whole text names, in any form, as ``2080/81``; None if it is none.

    >>> read_fiscal_year("२०८०-०८१"), read_fiscal_year("2080/81"), read_fiscal_year("2080/82")
    ('2080/81', '2080/81', None)
    """
    match = _FISCAL.fullmatch(ascii_digits(text.strip()))
    return (
        None
        if match is None
        else _fiscal_year(match, text.strip()[match.start("y")].isascii(), is_marked=True)
    )


def read_period(text: str) -> Period | None:
    """Return the day, month or year that the whole text names; None if it names none that exists.

    The calendar is the one that is named (``BS``, ``AD``, वि.सं., ई.सं., a month's name); else Devanagari
    digits and years from 2041 on are Bikram Sambat, other years Gregorian.

    >>> period = read_period("2080-04")
    >>> period.first.isoformat(), period.last.isoformat()
    ('2023-07-17', '2023-08-17')
    """
    text = text.strip()
    plain = ascii_digits(text)
    match = _DATE.fullmatch(plain)
    if match is not None:
        found = _found(match, text)
        return None if found is None else Period(found.day, found.day, found.era)
    match = _PERIOD.fullmatch(plain)
    if match is None:
        return None
    year, (era, month) = int(match["y"]), _month(match["name"] or match["m"] or "")
    era = _era(match, year, text[match.start("y")].isascii(), era)
    if era is None or month == 0:
        return None
    return _whole(year, month, era)


def _around_years(plain: str) -> list[tuple[int, int]]:
    """Return the parts of a text that may hold dates: most passages have no year at all, and are fast."""
    parts: list[tuple[int, int]] = []
    for match in _YEAR.finditer(plain):
        first, last = max(0, match.start() - _REACH), match.end() + _REACH
        if parts and first <= parts[-1][1]:
            first = parts.pop()[0]
        parts.append((first, last))
    return parts


def _found(match: regex.Match[str], text: str) -> FoundDate | None:
    """Return the day of a match, None where it does not exist or may be read in two ways."""
    year, day = int(match["y"]), int(match["d"])
    is_day_first = match["m"] is not None and match.start("d") < match.start("y")
    if is_day_first and day <= _AS_MONTHS:
        return None
    named, month = _month(match["name"] or match["m"])
    era = _era(match, year, text[match.start("y")].isascii(), named)
    if era is None or month is None:
        return None
    if era == "BS":
        sambat = Sambat(year, month, day)
        return FoundDate(match.start(), match.end(), sambat.gregorian(), era) if sambat.is_valid else None
    try:
        return FoundDate(match.start(), match.end(), date(year, month, day), era)
    except ValueError:
        return None


def _month(name: str) -> tuple[Era | None, int | None]:
    """Return a month's calendar, where its name tells, and number; None for no month, 0 for no such one."""
    if not name:
        return None, None
    if name.isdecimal():
        return None, int(name) if 1 <= int(name) <= _AS_MONTHS else 0
    return _MONTHS[name.lower()]


def _era(match: regex.Match[str], year: int, is_ascii: bool, named: Era | None) -> Era | None:
    """Return the calendar of a match, None where what it says of it contradicts itself."""
    said: set[Era] = {era for era, group in (("AD", "ad"), ("BS", "bs")) if match[group]}  # type: ignore[misc]
    if named is not None:
        said.add(named)
    if not said:
        return "BS" if not is_ascii or year >= FIRST_SURE_YEAR else "AD"
    return said.pop() if len(said) == 1 else None


def _whole(year: int, month: int | None, era: Era) -> Period | None:
    first, last = month or 1, month or 12
    if era == "AD":
        return Period(date(year, first, 1), date(year, last, monthrange(year, last)[1]), era)
    if not month_days(year, first):
        return None
    end = Sambat(year, last, month_days(year, last))
    return Period(Sambat(year, first, 1).gregorian(), end.gregorian(), era)


def _fiscal_year(match: regex.Match[str], is_ascii: bool, *, is_marked: bool) -> str | None:
    first = int(match["y"]) + (2000 if len(match["y"]) == 3 else 0)
    if int(match["z"]) % 100 != (first + 1) % 100 or (len(match["z"]) == 4 and int(match["z"]) != first + 1):
        return None
    is_gregorian = is_ascii and len(match["y"]) == 4 and first < FIRST_SURE_YEAR
    may_be_month = len(match["z"]) == 2 and int(match["z"]) <= _AS_MONTHS
    if not is_marked and (is_gregorian or may_be_month or match["sep"] in "-–" or len(match["y"]) == 3):
        return None
    first += 57 if is_gregorian else 0
    return f"{first}/{(first + 1) % 100:02}"
