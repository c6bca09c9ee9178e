"""Filters as people write them: ``year=2081``, ``published>=2080-04-01``, ``ministry=शिक्षा|स्वास्थ्य``.

What a condition means to an index is the index's; which fields there are stands in ``metadata.schema``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import cast, get_args

from rag_platform.errors import CallerError, UnknownName
from rag_platform.metadata.schema import (
    FIELDS,
    OWN_PREFIX,
    day_number,
    is_own,
    ministry_name,
    read_word,
    read_year,
    spec,
)
from rag_platform.text.bikram_sambat import FIRST_YEAR, LAST_YEAR, Sambat
from rag_platform.text.dates import Period, read_fiscal_year, read_period
from rag_platform.text.language import Language
from rag_platform.text.references import section_number
from rag_platform.types import ALL_KINDS, Condition, Operator, Value

__all__ = ["KNOWN", "Filters", "parse_filters"]

_STORED: dict[str, tuple[str, ...]] = {
    "source": (),
    "document_id": (),
    "language": get_args(Language),
    "kind": ALL_KINDS,
    "path": (),
}
"""Fields that every passage has, with the values that they can have; none named: any."""
KNOWN: tuple[str, ...] = (*_STORED, *FIELDS, f"{OWN_PREFIX}<own name>")

_WRITTEN = re.compile(r"\s*(?P<field>[^\s=!<>]+)\s*(?P<operator>!=|<=|>=|=|<|>)(?P<values>.*)", re.S)
_BAR = re.compile(r"(?<!\\)\|")
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_MOST = 100
_MOST_DAYS = 4_000
"""Days that one condition may name, whole months and years counted by their days."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that hold together, and how each was understood, for people."""

    conditions: tuple[Condition, ...] = ()
    understood: tuple[str, ...] = ()


def parse_filters(written: Sequence[str]) -> Filters:
    r"""Return the conditions that filters mean; all of them must hold.

    A filter is a field, one of ``= != < <= > >=`` and a value. Several values of which one must be met
    stand between ``|`` (``\|`` is a bar itself), or in several filters with ``=`` on the same field. A date
    may be a month or a year; its calendar is the one named (``BS``, ``AD``), else Devanagari digits and years
    from 2041 on are Bikram Sambat, other years Gregorian.

    Raises:
        UnknownName: There is no such field.
        CallerError: A filter is none, or its value is not of the field's type.

    >>> parse_filters(["year=२०८१", "published>=2080-04-01"]).understood
    ('year = 2081', 'published >= 2023-07-17 (BS 2080-04-01)')
    """
    if len(written) > _MOST:
        raise CallerError(f"{len(written)} filters are given, allowed are {_MOST}")
    joined: dict[tuple[str, Operator, int], list[str]] = {}
    for at, one in enumerate(written):
        name, operator, values = _parts(one)
        # Of one field, what it may be is one condition; bounds are each their own.
        joined.setdefault((name, operator, 0 if operator in ("=", "!=") else at), []).extend(values)
    found = [_condition(name, operator, values) for (name, operator, _), values in joined.items()]
    return Filters(tuple(condition for condition, _ in found), tuple(understood for _, understood in found))


def _parts(written: str) -> tuple[str, Operator, list[str]]:
    match = _WRITTEN.fullmatch(written)
    if match is None:
        raise CallerError(f"the filter {written!r} is none; write field, operator and value, as year=2081")
    name, operator = match["field"], cast(Operator, match["operator"])
    if name not in _STORED and name not in FIELDS and not is_own(name):
        raise UnknownName("filter field", name, KNOWN)
    values = [part.replace(r"\|", "|").strip() for part in _BAR.split(match["values"])]
    if not all(values):
        raise CallerError(f"the filter {written!r} lacks a value; name one after {operator!r}")
    if operator not in ("=", "!="):
        if name in _STORED or spec(name).type not in ("year", "day", "own"):
            raise CallerError(f"the filter {written!r} compares words by size; use = or !=")
        if len(values) > 1:
            raise CallerError(f"the filter {written!r} compares with several values by size; name one")
    return name, operator, values


def _condition(name: str, operator: Operator, texts: Sequence[str]) -> tuple[Condition, str]:
    """Return a condition and how it was understood."""
    kind = "stored" if name in _STORED else spec(name).type
    if kind == "day":
        return _days(name, operator, [_period(name, text) for text in texts])
    values = tuple(dict.fromkeys(value for text in texts for value in _READERS[kind](name, text)))
    if operator not in ("=", "!="):
        values = values[-1:]
        if not isinstance(values[0], int):
            raise CallerError(f"{name!r} {operator} {texts[0]!r} compares a word by size; use a whole number")
    shown = " | ".join(dict.fromkeys(map(str, values)))
    return Condition(name, operator, values), f"{name} {operator} {shown}"


def _days(name: str, operator: Operator, periods: Sequence[Period]) -> tuple[Condition, str]:
    """Return the condition of days: a month or a year is every day from its first to its last."""
    if operator not in ("=", "!="):
        bound = periods[0].last if operator in (">", "<=") else periods[0].first
        return Condition(name, operator, (day_number(bound),)), f"{name} {operator} {_shown(bound)}"
    lengths = [(period.last - period.first).days + 1 for period in periods]
    if sum(lengths) > _MOST_DAYS:
        raise CallerError(f"{name!r} names {sum(lengths)} days one by one; use {name}>= and {name}<=")
    days = [p.first + timedelta(n) for p, length in zip(periods, lengths, strict=True) for n in range(length)]
    spans = [_shown(p.first) + (f" to {_shown(p.last)}" if p.first != p.last else "") for p in periods]
    values = tuple(dict.fromkeys(map(day_number, days)))
    return Condition(name, operator, values), f"{name} {operator} {' | '.join(spans)}"


def _period(name: str, text: str) -> Period:
    period = read_period(text)
    if period is None:
        raise CallerError(
            f"{text!r} is no date for {name!r}; write 2081-04-15, 2081-04 or 2081, with BS or AD where it may"
            f" be either; Bikram Sambat is known from {FIRST_YEAR} to {LAST_YEAR}"
        )
    return period


def _shown(day: date) -> str:
    sambat = Sambat.of(day)
    return f"{day.isoformat()} (BS {sambat})" if sambat is not None else day.isoformat()


def _stored(name: str, text: str) -> tuple[Value, ...]:
    if _STORED[name] and text not in _STORED[name]:
        raise UnknownName(name, text, _STORED[name])
    return (text,)


def _word(name: str, text: str) -> tuple[Value, ...]:
    word = read_word(text)
    if word is None:
        raise CallerError(f"{text!r} is no word for {name!r}; name one")
    return (ministry_name(word) if name == "ministry" else word,)


def _own(name: str, text: str) -> tuple[Value, ...]:
    """Return the word and, where it is one, the whole number: sidecars can hold either."""
    word = _word(name, text)
    return (*word, int(text)) if _WHOLE.fullmatch(text) else word


def _typed(read: Callable[[str], Value | None], example: str) -> Callable[[str, str], tuple[Value, ...]]:
    def reader(name: str, text: str) -> tuple[Value, ...]:
        value = read(text)
        if value is None:
            raise CallerError(f"{text!r} is no value for {name!r}; write {example}")
        return (value,)

    return reader


_READERS: dict[str, Callable[[str, str], tuple[Value, ...]]] = {
    "stored": _stored,
    "word": _word,
    "own": _own,
    "year": _typed(read_year, "a Bikram Sambat year such as 2081, or use published, which takes AD too"),
    "fiscal_year": _typed(read_fiscal_year, "2080/81"),
    "section": _typed(section_number, "9 or 9क"),
}
