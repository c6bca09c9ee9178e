"""The nouns of the platform as immutable values: document, page, chunk, hit, failure.

Identities live here because they are part of what these values mean. No I/O, no third-party imports.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal, get_args
from uuid import UUID, uuid5

__all__ = [
    "ALL_KINDS",
    "DEFAULT_COLLECTION",
    "DEFAULT_KINDS",
    "PAGE_BREAK",
    "AnalyzerOptions",
    "Answer",
    "Around",
    "Chunk",
    "Condition",
    "Document",
    "Failure",
    "Fields",
    "Fusion",
    "Hit",
    "Kind",
    "Mode",
    "Operator",
    "Origin",
    "Page",
    "Passage",
    "Prompt",
    "Region",
    "RegionKind",
    "Scored",
    "Span",
    "Status",
    "Usage",
    "Value",
    "chunk_id",
    "document_id",
    "fingerprint",
    "is_id",
]

DEFAULT_COLLECTION = "nepali_docs"
PAGE_BREAK = "\n\n"
"""What stands between two pages in ``Document.text``."""

_NAMESPACE = UUID("6a2c8b0e-6f5d-5b6e-9a53-7b1f0c3d2e41")

Origin = Literal["text_layer", "font_map", "legacy_font", "ocr", "markup"]
Kind = Literal["text", "table", "image"]
ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_KINDS: tuple[Kind, ...] = ("text", "table")
"""What is ingested unless more is asked for: OCR of every picture inside documents is costly."""
RegionKind = Literal["heading", "table", "image"]
Mode = Literal["hybrid", "dense", "lexical"]
Fusion = Literal["calibrated", "weighted", "rrf"]
Around = Literal["nothing", "page", "section"]
Prompt = Literal["query", "passage"]
Value = str | int
"""What a field holds: words, or a whole number; a day is the number yyyymmdd of the Gregorian calendar."""
Fields = Mapping[str, tuple[Value, ...]]
"""Typed metadata by name, each with one value or several, for filters."""
Operator = Literal["=", "!=", "<", "<=", ">", ">="]
Status = Literal["pending", "ok", "unchanged", "empty", "failed", "unsupported", "deleted"]


def fingerprint(*parts: object) -> str:
    """Return 32 hex digits that change when any part changes; parts are told apart by their ``repr``.

    >>> fingerprint("a", "b") == fingerprint("a", "b")
    True
    >>> fingerprint("a", "b") == fingerprint("ab")
    False
    """
    return hashlib.sha256("\x1f".join(map(repr, parts)).encode()).hexdigest()[:32]


def document_id(collection: str, source: str) -> str:
    """Return the identity of a document: it survives edits, and NFC and NFD names are one.

    >>> document_id("nepali_docs", "सूचना.pdf") == document_id("nepali_docs", "सूचना.pdf")
    True
    """
    return str(uuid5(_NAMESPACE, unicodedata.normalize("NFC", f"{collection}/{source}")))


def is_id(key: str) -> bool:
    """Say whether it is the identity of a document, and not its source."""
    try:
        return str(UUID(key)) == key
    except ValueError:
        return False


def chunk_id(document: str, content_sha256: str, recipe: str, start: int, end: int) -> str:
    """Return the identity of a chunk: the same work on the same bytes gives the same id."""
    return str(uuid5(_NAMESPACE, f"{document}|{content_sha256}|{recipe}|{start}|{end}"))


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of code points in ``Document.text``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page's text that is more than running text; code points of ``Page.text``.

    Attributes:
        level: Of a heading: 1 is the highest; 0 elsewhere.
    """

    start: int
    end: int
    kind: RegionKind
    level: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One page, slide, chapter or section as the source has it.

    Attributes:
        page_no: Counts from 1.
        text: NFC text, joiners, digits and spelling as in the source.
        origin: Which route gave the text.
        confidence: 0 to 1: how sure the route is; the mean word confidence for OCR, the share of sure
            glyphs for a font map, 1.0 for markup.
        reason: Why this route was taken, or what failed on this page.
        suspect: The text is probably wrong (legacy font bytes, broken text layer, failed page).
        label: What the source calls it: page, slide, chapter, section.
        score: 0 to 1: how well the text reads, by its words, whatever the route; 1.0 where not judged.
        regions: Headings, tables and pictures' texts, in order of their start.
    """

    page_no: int
    text: str
    origin: Origin
    confidence: float = 1.0
    reason: str = ""
    suspect: bool = False
    label: str = "page"
    score: float = 1.0
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True)
class Document:
    """One source file, read.

    Attributes:
        collection: The named corpus it belongs to.
        source: Path below the collection's inbox, NFC, with ``/``.
        content_sha256: Hex digest of the raw bytes: the version.
        format: Name of the reader's format (``pdf``, ``docx``, ...), by content, not by suffix.
        pages: In order; empty pages are kept so that numbers are right.
        metadata: What the file says about itself (title, author, front matter).
    """

    source: str
    content_sha256: str
    format: str
    pages: tuple[Page, ...]
    collection: str = DEFAULT_COLLECTION
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def document_id(self) -> str:
        """Identity, derived from collection and source."""
        return document_id(self.collection, self.source)

    @cached_property
    def text(self) -> str:
        """All pages joined by ``PAGE_BREAK``; every span of the platform points into this."""
        return PAGE_BREAK.join(page.text for page in self.pages)

    @cached_property
    def page_spans(self) -> tuple[Span, ...]:
        """The span of each page in ``text``, in page order."""
        spans, start = [], 0
        for page in self.pages:
            spans.append(Span(start, start + len(page.text)))
            start += len(page.text) + len(PAGE_BREAK)
        return tuple(spans)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: ``document.text[start:end] == text``.

    Attributes:
        ordinal: Counts from 0 within the document.
        page_first: First page it touches; ``page_last`` the last.
        token_count: XLM-R tokens of ``text``, without prefix and special tokens.
        overlap: Characters shared with the chunk before, as they really are.
        language: ``ne``, ``en``, ``hi``, ``mr``, ``bn``, ``te``, ``mixed``, ``romanized`` or ``unknown``.
        path: Where it stands: headings and legal divisions above its start, joined by `` > ``
            (``भाग ३ > परिच्छेद २ > दफा ९``); empty without any.
        header: The header row of the table inside which the chunk starts; empty elsewhere. It is no part
            of ``text``, but is searched and embedded with it.
        fields: What is known about its document and found in it (publisher, year, section ...), for
            filters; no part of its identity.
    """

    chunk_id: str
    document_id: str
    collection: str
    source: str
    content_sha256: str
    ordinal: int
    text: str
    start: int
    end: int
    page_first: int
    page_last: int
    token_count: int
    overlap: int
    kind: Kind
    language: str
    path: str = ""
    header: str = ""
    fields: Fields = field(default_factory=dict)

    @property
    def indexed_text(self) -> str:
        """What search and embedding read: the text, below the header of its table."""
        return f"{self.header}\n{self.text}" if self.header else self.text


@dataclass(frozen=True, slots=True)
class AnalyzerOptions:
    """Which parts of the analyzer are at work: the same for the passages and the questions of an index.

    Attributes:
        fold: The many spellings of one word are one key (joiners, nukta, digits, anusvara, case).
        stem: Words lose their endings.
        spelling: Letters that writers confuse are one (short and long vowels, sibilants).
        pieces: The pieces of words are terms, too.
    """

    fold: bool = True
    stem: bool = True
    spelling: bool = True
    pieces: bool = True

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parts that are not at work."""
        return tuple(one.name for one in fields(self) if not getattr(self, one.name))


@dataclass(frozen=True, slots=True)
class Scored:
    """One vote of one part of a search: higher is better."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Condition:
    """What a chunk must be like to be searched at all; several conditions hold together.

    Attributes:
        field: ``source``, ``document_id``, ``language``, ``kind``, ``path`` (matches all below it), the
            numbers ``ordinal``, ``page_first`` and ``page_last``, or a name in ``Chunk.fields``.
        operator: ``=`` holds when one of the chunk's values is one of ``values``, ``!=`` when none is (also
            without any value); the others compare numbers with the one in ``values``.
        values: At least one; exactly one where numbers are compared.
    """

    field: str
    operator: Operator
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result: a chunk with its rank (from 1) and its score.

    Attributes:
        scores: What each part said, by name, with its rank (``dense``, ``dense_rank``, ...).
        context: Chunks around it, in order, itself left out, where they were asked for.
        duplicates: Passages with nearly the same words that it stands for, where they were to be grouped.
        keywords: The passage's most telling words, where they were asked for.
    """

    rank: int
    score: float
    chunk: Chunk
    scores: Mapping[str, float] = field(default_factory=dict)
    context: tuple[Chunk, ...] = ()
    duplicates: tuple[Chunk, ...] = ()
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """What a generator reads of a hit: its text, and where it is from.

    Attributes:
        path: Headings above it, joined by `` > ``; empty without any.
    """

    text: str
    source: str = ""
    page: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls to language models took; ``cost`` in US dollars, 0 where the price is not known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a generator says to a question.

    Attributes:
        text: As it is shown, with its marks ``[1]``; of a refusal, the words of the refusal.
        refused: The passages do not answer, and it says so.
        citations: Numbers of the passages that it cites, from 1, ascending; only passages that exist.
        usage: Of the calls that made it.
    """

    text: str
    refused: bool = False
    citations: tuple[int, ...] = ()
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one document did not pass a stage."""

    stage: str
    code: str
    message: str
    retryable: bool = False
