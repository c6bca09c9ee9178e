"""The family of chunkers, and how their spans become the chunks of a document.

Spans only: a chunker never changes a character, and ``document.text[start:end]`` is the chunk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import regex

from rag_platform.chunking.parts import Part, fitting_header, parts
from rag_platform.chunking.recursive import SEPARATORS, RecursiveChunker
from rag_platform.chunking.structure import outline
from rag_platform.errors import UnknownName
from rag_platform.protocols import Chunker, Tokenizer
from rag_platform.text.language import detect_language
from rag_platform.types import ALL_KINDS, Chunk, Document, Kind, Span, chunk_id

__all__ = [
    "CHUNKERS",
    "DEFAULT_OVERLAP_RATIO",
    "DEFAULT_SIZE",
    "chunk_document",
    "chunk_recipe",
    "load_chunker",
]

DEFAULT_SIZE = 256
DEFAULT_OVERLAP_RATIO = 0.15

STRUCTURE = "structure-2"
"""Raise it whenever parts, paths or headers change for equal pages."""

_HEADER_SHARE = 4
"""A table's header takes up to this part of a chunk; one that is longer is cut between cells."""

_TABLE_ROW = regex.compile(r"(?m)^[^\S\n]*\|.*\|[^\S\n]*$")
_TABLE_SHARE = 0.8
"""From this share of its characters in table rows on, a chunk is a table, possibly with its caption."""


class _MakeChunker(Protocol):
    def __call__(self, tokenizer: Tokenizer, *, size: int, overlap_ratio: float) -> Chunker: ...


CHUNKERS: Mapping[str, _MakeChunker] = {name: partial(RecursiveChunker, name=name) for name in SEPARATORS}


def load_chunker(
    name: str,
    *,
    tokenizer: Tokenizer,
    size: int = DEFAULT_SIZE,
    overlap_ratio: float = DEFAULT_OVERLAP_RATIO,
) -> Chunker:
    """Return the chunker of that name.

    Args:
        name: A key of ``CHUNKERS``.
        tokenizer: Counts the size.
        size: Tokens of a chunk at most.
        overlap_ratio: Share of ``size`` that a chunk may repeat of the one before.

    Raises:
        UnknownName: The table has none of that name.
        InvalidSetting: A size or ratio that cannot work.
    """
    if name not in CHUNKERS:
        raise UnknownName("chunker", name, CHUNKERS)
    return CHUNKERS[name](tokenizer, size=size, overlap_ratio=overlap_ratio)


def chunk_recipe(chunker: Chunker, kinds: Sequence[Kind] = ALL_KINDS) -> str:
    """Return what decides the chunks of equal pages: the chunker, structure and kinds."""
    wanted = ",".join(kind for kind in ALL_KINDS if kind in kinds)
    return f"{chunker.recipe}|{STRUCTURE}|kinds={wanted}"


def chunk_document(
    document: Document, chunker: Chunker, tokenizer: Tokenizer, *, kinds: Sequence[Kind] = ALL_KINDS
) -> list[Chunk]:
    """Return the chunks of a document in order, every field filled; empty for a document without text.

    A table and a picture are never in one chunk with other text, but for the line that introduces a table;
    a table of several chunks is cut between rows, and each of them has the table's header row as ``header``.

    Args:
        document: What is cut.
        chunker: Cuts each part.
        tokenizer: Counts the tokens of a chunk.
        kinds: Chunks of other kinds are left out.
    """
    passages: list[_Passage] = []
    for part in parts(document, joined="table" in kinds):
        if part.kind != "text" and part.kind not in kinds:
            continue
        passages += [one for one in _split(document.text, part, chunker, tokenizer) if one.kind in kinds]
    return list(_chunks(document, chunker.recipe, tokenizer, passages))


class _Passage(NamedTuple):
    """A span with what its part says of it."""

    span: Span
    kind: Kind
    header: str


def _split(text: str, part: Part, chunker: Chunker, tokenizer: Tokenizer) -> Iterator[_Passage]:
    """Cut one part of a document; a table such that its header fits into each chunk beside the rows."""
    piece = text[part.start : part.end]
    spans = chunker.split(piece)
    header = fitting_header(part.header, tokenizer, chunker.size // _HEADER_SHARE) if len(spans) > 1 else ""
    if header:
        spans = chunker.split(piece, reserve=tokenizer.count(header) + 1)
    elif part.is_continued:
        header = fitting_header(part.header, tokenizer, chunker.size // _HEADER_SHARE)
    for span in spans:
        moved = Span(part.start + span.start, part.start + span.end)
        if part.kind == "text":
            yield _Passage(moved, _kind(text[moved.start : moved.end]), "")
        elif moved.end <= part.body:
            yield _Passage(moved, "text", "")
        else:
            is_inside = moved.start > part.body or part.is_continued
            yield _Passage(moved, part.kind, header if is_inside else "")


def _chunks(
    document: Document, recipe: str, tokenizer: Tokenizer, passages: Sequence[_Passage]
) -> Iterator[Chunk]:
    identity, sha256 = document.document_id, document.content_sha256
    pages, ends = _PageFinder(document), [0, *(passage.span.end for passage in passages)]
    where = outline(document)
    for ordinal, (span, kind, header) in enumerate(passages):
        text = document.text[span.start : span.end]
        overlap = max(0, ends[ordinal] - span.start)
        sections = where.sections(span.start + overlap, span.end)
        yield Chunk(
            chunk_id=chunk_id(identity, sha256, recipe, span.start, span.end),
            document_id=identity,
            collection=document.collection,
            source=document.source,
            content_sha256=sha256,
            ordinal=ordinal,
            text=text,
            start=span.start,
            end=span.end,
            page_first=pages.first(span),
            page_last=pages.last(span),
            token_count=tokenizer.count(text),
            overlap=overlap,
            kind=kind,
            language=detect_language(text),
            path=where.path(span.start + overlap, span.end),
            header=header,
            fields={"section": sections} if sections else {},
        )


class _PageFinder:
    """Finds the pages of a span by position, so that equal text on two pages is told apart."""

    def __init__(self, document: Document) -> None:
        self._numbers = [page.page_no for page in document.pages]
        self._starts = [span.start for span in document.page_spans]
        self._ends = [span.end for span in document.page_spans]

    def first(self, span: Span) -> int:
        """Return the number of the first page that holds a character of the span."""
        return self._numbers[bisect_right(self._ends, span.start)]

    def last(self, span: Span) -> int:
        """Return the number of the last page that holds a character of the span."""
        return self._numbers[bisect_left(self._starts, span.end) - 1]


def _kind(text: str) -> Kind:
    in_rows = sum(len(row) for row in _TABLE_ROW.findall(text))
    in_lines = sum(len(line) for line in text.splitlines() if line.strip())
    return "table" if in_rows >= _TABLE_SHARE * in_lines else "text"
