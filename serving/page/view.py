"""What the templates show: hits and problems as a reader sees them.

Templates escape whatever they are given. No request is answered here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Self

from rag_platform.errors import (
    CallerError,
    Forbidden,
    NotPublished,
    Overloaded,
    RagError,
    RateLimited,
    Unauthenticated,
)
from rag_platform.text.bikram_sambat import Sambat
from serving.page.blocks import Block, blocks
from serving.page.highlight import excerpt, pieces
from serving.page.words import Language, Words
from serving.schemas.search import HitAnswer

__all__ = ["HitView", "Problem", "citation"]

_DEVANAGARI = re.compile("[\u0900-\u097f]")
_PICTURE_WIDTH = 1_200
_NOTES = ("publisher", "published", "year")
"""Fields that tell a reader what a document is; the day before the year, of which it is part."""
_TITLES: dict[str, tuple[str, str]] = {
    "key": ("key_title", "key_lead"),
    "forbidden": ("forbidden", "key_lead"),
    "empty": ("not_ready", "not_ready_hint"),
    "filter": ("refused_filter", "nothing_hint"),
    "busy": ("busy", "busy_hint"),
    "failed": ("failed", "failed_hint"),
    "nothing": ("nothing", "nothing_hint"),
}

ProblemKind = Literal["key", "forbidden", "empty", "filter", "busy", "failed", "nothing"]


@dataclass(frozen=True, slots=True)
class HitView:
    """A passage as it is shown.

    Attributes:
        name: Of its document, ``folder`` where that lies; ``page`` where the passage stands there, in words.
        path: Headings and legal divisions above it.
        notes: What is known of its document.
        excerpt: Its part with most words of the question; ``whole`` all of it, where that is more.
        picture: Address of its page with the passage marked; empty where pages are no pictures.
    """

    name: str
    name_language: Language
    folder: str
    page: str
    page_no: int
    path: tuple[str, ...]
    notes: tuple[str, ...]
    language: str
    score: float
    excerpt: tuple[Block, ...]
    whole: tuple[Block, ...]
    citation: str
    picture: str
    document_id: str
    start: int
    end: int

    @classmethod
    def of(cls, hit: HitAnswer, words: Words, terms: frozenset[str], pictured: Collection[str]) -> Self:
        """Return a hit as it is shown.

        Args:
            hit: As the service gives it.
            words: Of the visitor's language.
            terms: Of the question, which are marked.
            pictured: Ids of the documents whose pages can be shown.
        """
        text = pieces(hit.text, terms)
        whole = (*pieces(f"{hit.header}\n", terms), *text) if hit.header else text
        shown = excerpt(whole)
        one_page = hit.page_first == hit.page_last
        page = (
            words("page", n=hit.page_first) if one_page else words("pages", n=hit.page_first, m=hit.page_last)
        )
        path = tuple(part for part in hit.path.split(" > ") if part)
        return cls(
            name=hit.source.rpartition("/")[2],
            name_language="ne" if _DEVANAGARI.search(hit.source) else "en",
            folder=hit.source.rpartition("/")[0],
            page=page,
            page_no=hit.page_first,
            path=path,
            notes=_notes(hit, words),
            language={"ne": "ne", "en": "en", "hi": "hi"}.get(hit.language, "ne"),
            score=hit.score,
            excerpt=blocks(shown),
            whole=blocks(whole) if shown != whole else (),
            citation=citation(words, "".join(piece.text for piece in excerpt(text)), hit.source, page, path),
            picture=_picture(hit) if hit.document_id in pictured else "",
            document_id=hit.document_id,
            start=hit.start,
            end=hit.end,
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """Why no passages are shown.

    Attributes:
        detail: What the service says, in English, with the remedy; where the visitor can do something.
    """

    kind: ProblemKind
    title: str
    hint: str
    detail: str = ""
    request_id: str = ""

    @classmethod
    def of(cls, error: RagError, words: Words, request_id: str) -> Self:
        """Return an error as it is told."""
        if isinstance(error, Unauthenticated):
            return cls.named("key", words)
        if isinstance(error, Forbidden):
            return cls.named("forbidden", words, detail=str(error))
        if isinstance(error, NotPublished):
            return cls.named("empty", words)
        if isinstance(error, RateLimited | Overloaded):
            return cls.named("busy", words)
        if isinstance(error, CallerError):
            return cls.named("filter", words, detail=str(error))
        return cls.named("failed", words, request_id=request_id)

    @classmethod
    def named(cls, kind: ProblemKind, words: Words, *, detail: str = "", request_id: str = "") -> Self:
        """Return a problem in the visitor's language."""
        title, hint = _TITLES[kind]
        return cls(kind, words(title), words(hint), detail, request_id)


def citation(words: Words, text: str, source: str, page: str, path: Collection[str]) -> str:
    """Return a passage as it is cited: its words, document, page, and where in the law it stands."""
    quote = " ".join(text.split())
    if not path:
        return words("quote", text=quote, source=source, page=page)
    return words("quote_with_path", text=quote, source=source, page=page, path=" › ".join(path))


def _notes(hit: HitAnswer, words: Words) -> tuple[str, ...]:
    found = []
    for name in _NOTES:
        values = hit.fields.get(name, [])
        if name == "year" and hit.fields.get("published"):
            continue
        found += [
            _day(value, words) if name == "published" else words.digits(str(value)) for value in values[:1]
        ]
    return tuple(found)


def _day(value: str | int, words: Words) -> str:
    """Return a day as fields hold it in the reader's calendar."""
    try:
        day = datetime.strptime(str(value), "%Y%m%d").date()
    except ValueError:
        return str(value)
    sambat = Sambat.of(day)
    if sambat is None:
        return words.digits(day.isoformat())
    return words.digits(str(sambat)) if words.language == "ne" else f"{day.isoformat()} (BS {sambat})"


def _picture(hit: HitAnswer) -> str:
    address = f"/v1/documents/{hit.document_id}/pages/{hit.page_first}/image"
    return f"{address}?start={hit.start}&end={hit.end}&width={_PICTURE_WIDTH}"
