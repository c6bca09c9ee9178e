"""Anyone's own questions: one CSV file and a folder of documents, without a card, as a set.

Reading only, as strict as the layouts of labelled sets.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.datasets import UNANSWERABLE, Case, Dataset, Label, Member
from rag_platform.evaluation.records import Place, Record, comma_rows
from rag_platform.inbox import is_ignored

__all__ = ["COLUMNS", "load_questions"]

_ANSWERS = ("reference_answer", "actual_answer", "answer")
COLUMNS = ("id", "question", *_ANSWERS, "source", "pages", "kind", "language", "answerable")
"""What the first line of the file may name; ``question`` must be there."""


def load_questions(path: Path, documents: Path) -> Dataset:
    """Return the questions of a CSV file over the documents of a folder.

    Without ``source`` a question is not judged: search cannot be scored by it, answers can.

    Args:
        path: Columns by the names of ``COLUMNS``, in any order; ``pages`` as ``3`` or ``3;4``.
        documents: Every file below it is a document, hidden and temporary ones left out.

    Raises:
        InvalidDataset: Something in either is wrong; the message names file and line.
    """
    if not documents.is_dir():
        raise InvalidDataset(f"{documents} is no folder; name the one with the documents: --documents FOLDER")
    members = tuple(_members(documents))
    if not members:
        raise InvalidDataset(f"{documents} holds no document")
    rows = comma_rows(path)
    place, header = next(rows, (Place(path, 1), []))
    unknown = [name for name in header if name not in COLUMNS]
    if unknown or "question" not in header or len(set(header)) < len(header):
        raise place.wrong(f"the columns are {header}; allowed are {', '.join(COLUMNS)}, 'question' is needed")
    known = {member.source for member in members}
    cases: dict[str, Case] = {}
    for number, (where, row) in enumerate(rows, start=1):
        if len(row) != len(header):
            raise where.wrong(f"{len(row)} columns, expected {len(header)}")
        filled = {name: value for name, value in zip(header, row, strict=True) if value.strip()}
        case = _case(Record({"question": "", **filled}, where), str(number), known)
        if case.case_id in cases:
            raise where.wrong(f"the id {case.case_id!r} stands twice; ids are unique")
        cases[case.case_id] = case
    if not cases:
        raise InvalidDataset(f"{path} has no questions")
    return Dataset(unicodedata.normalize("NFC", path.stem), {"": members}, tuple(cases.values()))


def _case(record: Record, number: str, known: set[str]) -> Case:
    kind = record.text("kind", "").strip()
    told = "false" if kind == UNANSWERABLE else "true"
    answerable = record.text("answerable", told).strip().lower()
    if answerable not in ("true", "false"):
        raise record.place.wrong(f"'answerable' is {answerable!r}, expected true or false")
    labels = tuple(_labels(record, known))
    if labels and answerable == "false":
        raise record.place.wrong("an unanswerable question has no source")
    return Case(
        case_id=record.text("id", number).strip(),
        query=record.text("question"),
        labels=labels,
        kind=kind,
        language=record.text("language", "").strip(),
        answerable=answerable == "true",
        reference_answer=next((a for name in _ANSWERS if (a := record.text(name, "").strip())), ""),
        where=str(record.place),
    )


def _labels(record: Record, known: set[str]) -> Iterator[Label]:
    source, pages = record.text("source", "").strip(), record.text("pages", "").split(";")
    if source and source not in known:
        raise record.place.wrong(f"{source!r} is no document below the folder of documents")
    if not source:
        return
    for page in filter(None, map(str.strip, pages)):
        if not (page.isdecimal() and int(page) > 0):
            raise record.place.wrong(f"the page {page!r} is no number from 1")
        yield Label(source, int(page))
    if not any(map(str.strip, pages)):
        yield Label(source)


def _members(folder: Path) -> Iterator[Member]:
    seen = set()
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file() or any(map(is_ignored, parts)):
            continue
        source = unicodedata.normalize("NFC", "/".join(parts))
        if source in seen:
            raise InvalidDataset(f"two files are named {path}, written differently; rename one")
        seen.add(source)
        yield Member(source, path=path)
