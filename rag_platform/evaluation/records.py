"""Files of labelled sets, read strictly: a wrong line is an error with file and line, never skipped.

JSON Lines, CSV, and the checks of fields; what a set means is not known here.
"""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_platform.errors import InvalidDataset
from rag_platform.storage import storage_errors

__all__ = ["Place", "Record", "comma_rows", "json_lines", "read_text"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands, for errors."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}"

    def wrong(self, message: str) -> InvalidDataset:
        """Return the error to raise."""
        return InvalidDataset(f"{self}: {message}")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object or row with its place; fields are taken by the type they must have."""

    values: Mapping[str, Any]
    place: Place

    def check_keys(self, known: Collection[str], required: Sequence[str]) -> None:
        """Refuse a key that is not known, and the lack of one that is required.

        Raises:
            InvalidDataset: There is one.
        """
        for key in self.values:
            if key not in known:
                raise self.place.wrong(f"unknown key {key!r}; known are {', '.join(sorted(known))}")
        for key in required:
            if key not in self.values:
                raise self.place.wrong(f"the key {key!r} is missing")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text field in NFC; without ``default`` it must be there and not be blank.

        Raises:
            InvalidDataset: It is missing, blank or no text.
        """
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.place.wrong(f"{key!r} is {value!r}, expected a text")
        if default is None and not value.strip():
            raise self.place.wrong(f"{key!r} is empty; write one, or remove the line")
        return unicodedata.normalize("NFC", value)

    def truth(self, key: str) -> bool | None:
        """Return a true-or-false field, None where it is missing.

        Raises:
            InvalidDataset: It is something else.
        """
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.place.wrong(f"{key!r} is {value!r}, expected true or false")
        return value


def read_text(path: Path) -> str:
    """Return a UTF-8 file's text, without a byte order mark.

    Raises:
        InvalidDataset: It is missing or not in UTF-8.
        StorageError: It cannot be read.
    """
    if not path.is_file():
        raise InvalidDataset(f"{path} is missing; a set without it cannot be measured on")
    with storage_errors("read", path):
        content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Place(path, line).wrong("not in UTF-8; save the file as UTF-8") from error


def json_lines(path: Path) -> Iterator[Record]:
    """Yield the objects of a JSON Lines file; blank lines are passed over.

    Raises:
        InvalidDataset: A line is no JSON object, or has a key twice.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        place = Place(path, number)

        def unique(pairs: list[tuple[str, Any]], place: Place = place) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) < len(pairs):
                raise place.wrong(f"a key stands twice in one object: {[key for key, _ in pairs]}")
            return found

        try:
            value = json.loads(line, object_pairs_hook=unique)
        except ValueError as error:
            raise place.wrong(f"not valid JSON: {error}") from error
        if not isinstance(value, dict):
            raise place.wrong(f"expected a JSON object, found {type(value).__name__}")
        yield Record(value, place)


def comma_rows(path: Path) -> Iterator[tuple[Place, list[str]]]:
    """Yield the rows of a CSV file with the line each ends on; blank lines are passed over.

    Raises:
        InvalidDataset: A row cannot be read.
    """
    text = read_text(path)
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield Place(path, reader.line_num), row
    except csv.Error as error:
        raise Place(path, reader.line_num).wrong(f"cannot be read: {error}") from error
