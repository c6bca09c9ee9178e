"""The fields by which documents and passages are filtered: a table of names with their types.

What a value must look like is decided here, for sidecars and filters alike. No files are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

import regex

from rag_platform.errors import CallerError, UnknownName
from rag_platform.text.dates import ascii_digits, read_fiscal_year, read_period
from rag_platform.text.normalize import stored_text
from rag_platform.text.references import section_number
from rag_platform.types import Value

__all__ = [
    "FIELDS",
    "OWN_PREFIX",
    "FieldSpec",
    "day_number",
    "is_own",
    "ministry_name",
    "ministry_names",
    "read_word",
    "read_year",
    "spec",
    "values_of",
]

FieldType = Literal["word", "year", "day", "fiscal_year", "section", "own"]

OWN_PREFIX = "x_"
"""Fields of one's own begin with it, so that a misspelt name of ours is an error and not a new field."""
_OWN_NAME = re.compile(r"x_[a-z0-9_]{1,60}")
_YEARS = range(1900, 2200)
_LARGEST = 2**53
"""Whole numbers beyond are rounded by the engines, which compare them as floats."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field.

    Attributes:
        type: ``word`` (compared folded), ``year`` (Bikram Sambat), ``day`` (yyyymmdd, Gregorian),
            ``fiscal_year`` (``2080/81``), ``section`` (``9क``), or ``own``: a word or a whole number.
        of: Whether it is the same for all passages of a document, or each passage's own.
        description: For the documentation and for error messages.
    """

    type: FieldType
    of: Literal["document", "passage"]
    description: str


FIELDS: dict[str, FieldSpec] = {
    "title": FieldSpec("word", "document", "title"),
    "author": FieldSpec("word", "document", "who wrote it"),
    "publisher": FieldSpec("word", "document", "who published it"),
    "ministry": FieldSpec("word", "document", "ministry that issued it, whole or one of its subjects"),
    "document_no": FieldSpec("word", "document", "number of the letter or notice (चलानी नम्बर)"),
    "act": FieldSpec("word", "document", "title of the act, rules or code that the document is"),
    "year": FieldSpec("year", "document", "year of the document, Bikram Sambat"),
    "fiscal_year": FieldSpec("fiscal_year", "document", "fiscal year that the document is about"),
    "published": FieldSpec("day", "document", "day of publication or authentication"),
    "section": FieldSpec("section", "passage", "section, article or rule that the passage is part of"),
    "sections": FieldSpec("section", "passage", "those that it is part of or names"),
    "acts": FieldSpec("word", "passage", "acts that it names"),
    "dates": FieldSpec("day", "passage", "days that it names"),
    "years": FieldSpec("year", "passage", "Bikram Sambat years that it names, alone or in dates"),
    "fiscal_years": FieldSpec("fiscal_year", "passage", "fiscal years that it names"),
}
"""Singular names say what a document or passage is, plural ones what a passage mentions."""

_OWN = FieldSpec("own", "document", "a field of one's own")
_MINISTRY = regex.compile(r"(?:^|\s)(?:मन्त्रालय|मंत्रालय)(?:को)?\s*$|^(?:the\s+)?ministry\s+of\s+", regex.I)
_PARTS = regex.compile(r"\s*,\s*|\s+(?:तथा|र|एवं|एवम्|and|&)\s+")


def is_own(name: str) -> bool:
    """Say whether a name is one that users may give to fields of their own."""
    return _OWN_NAME.fullmatch(name) is not None


def spec(name: str) -> FieldSpec:
    """Return the field of that name.

    Raises:
        UnknownName: There is none, and it is no name of one's own.
    """
    if name in FIELDS:
        return FIELDS[name]
    if is_own(name):
        return _OWN
    raise UnknownName("field", name, [*FIELDS, f"{OWN_PREFIX}<own name>"])


def values_of(name: str, written: object) -> tuple[Value, ...]:
    """Return what somebody wrote as the values of a document's field.

    Args:
        name: A field of documents.
        written: A word, a whole number, a date, or a list of them.

    Raises:
        UnknownName: There is no such field.
        CallerError: The field is found in each passage, or a value is not of its type.
    """
    found = spec(name)
    if found.of == "passage":
        raise CallerError(f"{name!r} is found in each passage and cannot be set; drop it")
    parts: Sequence[object] = written if isinstance(written, list | tuple) else (written,)
    values = dict.fromkeys(_value(name, found.type, one) for one in parts)
    if not values:
        raise CallerError(f"{name!r} is an empty list; give it a value or drop it")
    return tuple(values)


def day_number(day: date) -> int:
    """Return a day as fields hold it.

    >>> day_number(date(2024, 7, 30))
    20240730
    """
    return day.year * 10_000 + day.month * 100 + day.day


def read_word(text: str) -> str | None:
    """Return a word as it is stored, None for a blank one."""
    return " ".join(stored_text(text).split()) or None


def read_year(text: str) -> int | None:
    """Return a year written in digits of either system, None for anything else."""
    digits = ascii_digits(text.strip())
    return int(digits) if len(digits) == 4 and digits.isdecimal() and int(digits) in _YEARS else None


def ministry_name(text: str) -> str:
    """Return a ministry's name without the word itself.

    >>> ministry_name("शिक्षा मन्त्रालय"), ministry_name("Ministry of Health")
    ('शिक्षा', 'Health')
    """
    return _MINISTRY.sub("", text.strip()).strip() or text.strip()


def ministry_names(text: str) -> tuple[str, ...]:
    """Return the names that a ministry is found by: in full, without the word itself, and each subject.

    >>> ministry_names("शिक्षा, विज्ञान तथा प्रविधि मन्त्रालय")
    ('शिक्षा, विज्ञान तथा प्रविधि मन्त्रालय', 'शिक्षा, विज्ञान तथा प्रविधि', 'शिक्षा', 'विज्ञान', 'प्रविधि')
    """
    name = ministry_name(text)
    return tuple(dict.fromkeys((text, name, *(part for part in _PARTS.split(name) if part))))


def _value(name: str, kind: FieldType, written: object) -> Value:
    if isinstance(written, bool) or not isinstance(written, str | int | date):
        raise CallerError(f"{name!r} is {written!r}; use text, a whole number, or a list of them")
    if kind == "own" and isinstance(written, int):
        if abs(written) > _LARGEST:
            raise CallerError(f"{name!r} is {written}, more than engines compare exactly; write it in quotes")
        return written
    text = str(written)[:10] if isinstance(written, date) else str(written)
    value = _READERS[kind](text)
    if value is None:
        raise CallerError(f"{name!r} is {text!r}; it must be {_FORMS[kind]}")
    return value


def _day(text: str) -> int | None:
    period = read_period(text)
    return day_number(period.first) if period is not None and period.first == period.last else None


_READERS = {
    "word": read_word,
    "own": read_word,
    "year": read_year,
    "day": _day,
    "fiscal_year": read_fiscal_year,
    "section": section_number,
}
_FORMS = {
    "word": "text that is not blank",
    "own": "text that is not blank",
    "year": "a Bikram Sambat year such as 2081",
    "day": "one day that exists, such as 2081-04-15 or 2024-07-30 (BS or AD may be added)",
    "fiscal_year": "a fiscal year such as 2080/81",
    "section": "a section number such as 9 or 9क",
}
