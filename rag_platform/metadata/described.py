"""The fields of a document and of its passages: said by its owner, by its file, by its name, by its text.

Only what is sure: a day that a text merely mentions is one of the passage's ``dates``, not ``published``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from typing import TypeVar

import regex

from rag_platform.errors import CallerError
from rag_platform.metadata.schema import (
    FIELDS,
    OWN_PREFIX,
    day_number,
    is_own,
    ministry_names,
    read_word,
    read_year,
    values_of,
)
from rag_platform.metadata.sidecars import Given
from rag_platform.text.bikram_sambat import Sambat
from rag_platform.text.dates import (
    FIRST_SURE_YEAR,
    FoundDate,
    ascii_digits,
    find_dates,
    find_fiscal_years,
    find_years,
    read_fiscal_year,
)
from rag_platform.text.references import act_title, find_acts, find_sections
from rag_platform.types import Chunk, Document, Fields, Value

__all__ = ["RECIPE", "described", "document_fields", "passage_fields"]

RECIPE = "fields-1"
"""Raise it whenever the fields of equal documents change: it is part of the fingerprint of their chunks."""

_T = TypeVar("_T")

_HEAD = 3000
"""Characters at a document's beginning in which its own date stands, if it has one."""
_LETTER_HEAD = 1500
_TITLE_LINES = 8
_LETTER_LINES = 12

_SURE_LABEL = regex.compile(
    r"(?:प्रमाणीकरण|प्रकाशन|प्रकाशित|जारी)\s+(?:भएको\s+|गरिएको\s+)?मिति[\s:ः\-–.|*]*$"
    r"|(?:date\s+of\s+(?:authentication|publication|issue)|publication\s+date|(?:published|issued)(?:\s+on)?)"
    r"[\s:\-–.|*]*$",
    regex.I,
)
_LABEL = regex.compile(r"(?:^|[\t|]|\s{2,})[ *|]*(?:मिति|date)[ *]*[:ः\-–.]*[\s*]*$", regex.I | regex.M)
_ENDS = regex.compile(r"\s?(?:गते)?\s*\**(?:[ \t]*(?:\n|$)|[।|\t]|\s{2,})")
_NUMBER = regex.compile(
    r"(?m)(?:^|[\s|])(?:च\.\s?नं\.?|चलानी\s*(?:नं\.?|नम्बर))\s*[:ः.\-–]*\s*(?P<n>[0-9०-९][0-9०-९/\-]*)"
)
_MINISTRY = regex.compile(
    r"(?:नेपाल\s+सरकार,?\s+)?(?P<name>\p{Devanagari}[\p{Devanagari}\s,()]{1,80}\s(?:मन्त्रालय|मंत्रालय)"
    r"|Ministry of [A-Z][\w ,&]{2,60})"
)
_ADDRESS = regex.compile(r"^(?:https?://|www\.)\S+\s*")
_NO_TITLE = regex.compile(
    r"microsoft\s+(?:word|powerpoint|excel)\b.*|untitled.*|document\s?\d*|slide\s?\d*|.*\.\w{2,4}", regex.I
)
_TRUSTED_AUTHORS = frozenset({"md", "html", "epub"})
"""Formats whose author somebody wrote; in office files it is the name of a computer."""
_FILE_NAMES = {"date": "published", "published_on": "published", "publication_date": "published"}
_NAME_FISCAL = regex.compile(r"(?<!\d)(\d{4})[-_ ](\d{2,4})(?!\d|[-_]\d)")
_NAME_YEAR = regex.compile(r"(?<![\d])(?:19|20)\d\d(?!\d)")


def described(document: Document, chunks: Sequence[Chunk], given: Given) -> list[Chunk]:
    """Return the chunks with their fields: those of the document, and those found in each.

    Args:
        document: What was cut.
        chunks: Its chunks; what ``fields`` they have already stays.
        given: What its owner says of it, which wins.
    """
    about = document_fields(document, given)
    return [replace(chunk, fields=passage_fields(chunk, about)) for chunk in chunks]


def document_fields(document: Document, given: Given) -> Fields:
    """Return what is known of a document: by its owner, else its file, else its name, else its text."""
    found: dict[str, tuple[Value, ...]] = {}
    text, name = _in_text(document), _in_name(document.source)
    if text.keys() & name.keys() & {"act"}:  # a title in English may name the year in both calendars
        name["act"] = _once((*name["act"], *text["act"]))
    for layer in (text, name, _in_file(document.metadata, document.format), dict(given.fields)):
        found.update(_with_year(layer))
    if "ministry" in found:
        found["ministry"] = _once(name for one in found["ministry"] for name in ministry_names(str(one)))
    return {name: found[name] for name in sorted(found)}


def passage_fields(chunk: Chunk, about: Fields) -> Fields:
    """Return the fields of one passage: its document's, with what the passage itself says."""
    text = chunk.indexed_text
    section = chunk.fields.get("section", ())
    found: dict[str, Iterable[Value]] = {
        **about,
        **chunk.fields,
        "sections": [*section, *find_sections(text)],
        "acts": find_acts(text),
        "dates": [day_number(found.day) for found in find_dates(text)],
        "years": find_years(text),
        "fiscal_years": find_fiscal_years(text),
    }
    values = {name: _once(some) for name, some in found.items()}
    return {name: some for name, some in values.items() if some}


def _with_year(layer: dict[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
    """Return a layer with the year of its day of publication, unless it has one."""
    days = layer.get("published", ())
    if "year" in layer or len(days) != 1:
        return layer
    year = _sambat_year(int(days[0]))
    return layer if year is None else {**layer, "year": (year,)}


def _sambat_year(number: int) -> int | None:
    sambat = Sambat.of(date(number // 10_000, number // 100 % 100, number % 100))
    return None if sambat is None else sambat.year


def _in_file(metadata: Mapping[str, str], file_format: str) -> dict[str, tuple[Value, ...]]:
    """Return what the file says of itself; what means nothing here is another program's."""
    layer: dict[str, tuple[Value, ...]] = {}
    for key, written in metadata.items():
        name = _FILE_NAMES.get(key.lower(), key.lower())
        known = (name in FIELDS and FIELDS[name].of == "document") or (
            name.startswith(OWN_PREFIX) and is_own(name)
        )
        if not known or (name == "author" and file_format not in _TRUSTED_AUTHORS):
            continue
        if name == "title" and _NO_TITLE.fullmatch(written.strip()):
            continue
        day = next(iter(find_dates(written)), None) if name == "published" else None
        try:
            layer[name] = values_of(name, written if day is None else day.day)
        except CallerError:
            continue
    return layer


def _in_name(source: str) -> dict[str, tuple[Value, ...]]:
    """Return what a file's name says, or, of its year alone, the folders that are named after one."""
    path = PurePosixPath(source)
    plain = _NAME_FISCAL.sub(_as_fiscal, ascii_digits(path.stem)).replace("_", " ")
    layer: dict[str, tuple[Value, ...]] = {}
    days, fiscal = _once(_days_in_name(path.stem)), _once(find_fiscal_years(plain))
    if len(days) == 1:
        layer["published"] = days
    if len(fiscal) == 1:
        layer["fiscal_year"] = fiscal
    act = act_title(path.stem.replace("_", " "))
    if act is not None:
        layer["act"] = (act,)
    if not days and not fiscal:
        year = _name_year(path.stem)
        if year is not None:
            layer["year"] = (year,)
    if not layer.keys() & {"published", "fiscal_year", "year"}:
        layer.update(_in_folders(path.parts[:-1]))
    return layer


def _days_in_name(stem: str) -> Iterator[int]:
    """Yield the days in a file's name, whose parts may be joined by underscores."""
    for found in find_dates(stem.replace("_", "-")):
        yield day_number(found.day)


def _in_folders(folders: Sequence[str]) -> dict[str, tuple[Value, ...]]:
    for folder in reversed(folders):
        fiscal, year = read_fiscal_year(folder.replace("_", "-")), read_year(folder)
        if fiscal is not None:
            return {"fiscal_year": (fiscal,)}
        if year is not None and (year >= FIRST_SURE_YEAR or not folder.isascii()):
            return {"year": (year,)}
    return {}


def _as_fiscal(match: regex.Match[str]) -> str:
    return f"{match[1]}/{match[2]}"


def _name_year(stem: str) -> int | None:
    """Return the one year in a name that is surely Bikram Sambat."""
    plain = ascii_digits(stem)
    years = [
        int(match[0])
        for match in _NAME_YEAR.finditer(plain)
        if int(match[0]) >= FIRST_SURE_YEAR or not stem[match.start()].isascii()
    ]
    return years[0] if len(set(years)) == 1 else None


def _in_text(document: Document) -> dict[str, tuple[Value, ...]]:
    """Return what a document's own beginning says of it."""
    head = document.text[:_HEAD]
    lines = [shown for line in head.splitlines() if (shown := _ADDRESS.sub("", line.strip("#*_| \t")))]
    layer: dict[str, tuple[Value, ...]] = {}
    title = _heading(document)
    if title is not None:
        layer["title"] = (title,)
        fiscal = _once(find_fiscal_years(title))
        if len(fiscal) == 1:
            layer["fiscal_year"] = fiscal
    act = next((act for line in lines[:_TITLE_LINES] if (act := act_title(line)) is not None), None)
    if act is not None:
        layer["act"] = (act,)
        year = _name_year(act)
        if year is not None:
            layer["year"] = (year,)
    ministry = next((match for line in lines[:_LETTER_LINES] if (match := _MINISTRY.fullmatch(line))), None)
    if ministry is not None:
        layer["ministry"] = (" ".join(ministry["name"].split()),)
    number = _NUMBER.search(head[:_LETTER_HEAD])
    if number is not None:
        layer["document_no"] = (number["n"].strip("/-"),)
    day = _own_day(head)
    if day is not None:
        layer["published"] = (day,)
    return layer


def _heading(document: Document) -> str | None:
    """Return the document's first heading, unless text stands before it on other pages."""
    for page in document.pages[:1]:
        for region in page.regions:
            if region.kind == "heading":
                return read_word(page.text[region.start : region.end].strip("#*_ \t\n"))
    return None


def _own_day(head: str) -> int | None:
    """Return the day that a document's beginning labels as its own."""
    days = list(find_dates(head))
    sure = [found for found in days if _SURE_LABEL.search(head[: found.start][-60:])]
    labelled = [found for found in days if found.start < _LETTER_HEAD and _is_labelled(head, found)]
    return next((day_number(found.day) for found in (*sure, *labelled)), None)


def _is_labelled(head: str, found: FoundDate) -> bool:
    """Say whether a day is all that stands after the label of a letter's date."""
    return bool(_LABEL.search(head[: found.start][-40:]) and _ENDS.match(head, found.end))


def _once(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(values))
