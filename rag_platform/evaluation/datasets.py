"""Labelled sets as data: documents, questions, what answers them, and a card that says where it is from.

The nouns and the look-up of a set; how each layout is read stands in ``layouts``, how labels are judged in
``labels``. Nothing is indexed or searched here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Self

from rag_platform.errors import InvalidDataset, UnknownName
from rag_platform.evaluation.ranking import Measure, parse_measure
from rag_platform.evaluation.records import read_text

__all__ = [
    "BUNDLED",
    "CARD",
    "UNANSWERABLE",
    "Card",
    "Case",
    "Dataset",
    "Label",
    "Member",
    "bundled_sets",
    "find_set",
]

BUNDLED = Path(__file__).parents[2] / "eval_datasets"
"""Where the sets that come with the platform are, in a checkout and beside the installed package."""
CARD = "card.toml"
UNANSWERABLE = "unanswerable"
"""The kind of questions that the documents do not answer, on purpose."""


@dataclass(frozen=True, slots=True)
class Card:
    """Where a set is from and how it was made; ``card.toml`` in its folder.

    Attributes:
        title: What it is.
        languages: Of documents and questions.
        licence: SPDX name, or words.
        origin: Who made the documents and the questions, or where they are from.
        revision: Version of the set: a changed label is another revision.
        annotation: How questions and labels were made and checked.
        main_measure: What systems are compared by, for instance ``nDCG@10``.
    """

    title: str
    languages: tuple[str, ...]
    licence: str
    origin: str
    revision: str
    annotation: str
    main_measure: Measure

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the card of a file.

        Raises:
            InvalidDataset: A key is missing, unknown or empty, or the main measure is none.
        """
        try:
            values = tomllib.loads(read_text(path))
        except tomllib.TOMLDecodeError as error:
            raise InvalidDataset(f"{path}: not valid TOML: {error}") from error
        known = {one.name for one in fields(cls)}
        for key in (*values, *known):
            if key not in known or key not in values:
                state = "missing" if key in known else "unknown"
                raise InvalidDataset(f"{path}: {state} key {key!r}; a card has {', '.join(sorted(known))}")
        languages = values.pop("languages")
        if not isinstance(languages, list) or not languages or not all(map(_is_text, languages)):
            raise InvalidDataset(
                f"{path}: 'languages' is {languages!r}, expected a list, for instance ['ne']"
            )
        for key, value in values.items():
            if not _is_text(value):
                raise InvalidDataset(f"{path}: {key!r} is {value!r}, expected a text")
        measure = parse_measure(values.pop("main_measure"))
        return cls(languages=tuple(languages), main_measure=measure, **values)


@dataclass(frozen=True, slots=True)
class Member:
    """One document of a set: its text, or the file to read it from.

    Attributes:
        source: Its name in the set, NFC; labels name it.
        text: Of a passage; empty for a file.
        path: Of a file; None for a passage.
    """

    source: str
    text: str = ""
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """What answers a question: a document, a page of it, or a stretch of its text. Never a chunk.

    Attributes:
        source: The document, or, ending in ``/``, any document below that folder.
        page: A page of the document, from 1; None: all of it.
        quote: Words that stand exactly once in the document (on ``page``, if given), white space apart.
        span: First code point of the document's text, and one past the last; instead of a quote.
        grade: How well it answers: 1, or more in a graded set; 0 and below is judged and not relevant.
    """

    source: str
    page: int | None = None
    quote: str = ""
    span: tuple[int, int] | None = None
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """One question with what is known about it.

    Attributes:
        case_id: Unique in the set.
        query: The question, as it is searched.
        labels: What answers it; empty when nothing does, or nothing is known.
        collection: Which of the set's collections is searched.
        kind: Of question, for instance ``thematic``; empty: not told.
        language: ``ne``, ``en``, ``romanized``; empty: not told.
        answerable: False: the set's documents do not answer it, on purpose.
        reference_answer: A right answer; may be empty.
        where: File and line, for errors about its labels.
    """

    case_id: str
    query: str
    labels: tuple[Label, ...] = ()
    collection: str = ""
    kind: str = ""
    language: str = ""
    answerable: bool = True
    reference_answer: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A labelled set.

    Attributes:
        name: Of its folder.
        collections: Documents by collection; one collection, named ``""``, in most sets.
        cases: In the order of the files.
        card: None where the folder has none.
    """

    name: str
    collections: Mapping[str, tuple[Member, ...]]
    cases: tuple[Case, ...]
    card: Card | None = field(default=None)

    @property
    def n_documents(self) -> int:
        """Documents in all collections."""
        return sum(map(len, self.collections.values()))

    @property
    def judged(self) -> tuple[Case, ...]:
        """The questions that ranking measures are about."""
        return tuple(case for case in self.cases if case.answerable and case.labels)

    @property
    def unanswerable(self) -> tuple[Case, ...]:
        """The questions that no document of the set answers."""
        return tuple(case for case in self.cases if not case.answerable)


def bundled_sets() -> dict[str, Path]:
    """Return the sets that come with the platform by name."""
    return {card.parent.name: card.parent for card in sorted(BUNDLED.glob(f"*/{CARD}"))}


def find_set(dataset: str) -> Path:
    """Return the folder of a set: a path, or the name of a set that comes with the platform.

    Raises:
        UnknownName: There is neither.
    """
    folder, bundled = Path(dataset).expanduser(), bundled_sets()
    if folder.is_dir():
        return folder
    if dataset in bundled:
        return bundled[dataset]
    if folder.is_file():
        raise InvalidDataset(f"{dataset} is a file; a set is a folder: name the one that holds it")
    raise UnknownName("dataset (neither a folder nor a set that comes with the platform)", dataset, bundled)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
