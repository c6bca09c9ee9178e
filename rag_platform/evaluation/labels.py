"""From ranked chunks to judged units, so that one set of labels scores any chunker.

A label names a document, a page or a stretch of text; here it becomes a place in the documents as they were
read, and a ranking of chunks becomes a ranking of such places. Measures stand in ``ranking``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.datasets import Case, Label
from rag_platform.evaluation.ranking import Ranked
from rag_platform.text.normalize import stored_text
from rag_platform.types import Chunk, Document, Hit, Span

__all__ = ["Unit", "ranked_units", "units_of"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A judged place.

    Attributes:
        unit_id: ``source``, ``source#p3`` or ``source#120-180``; the id in runs and judgements.
        source: The document, or, ending in ``/``, any document below that folder.
        span: Code points of the document's text; None: the whole document.
        is_page: The span is a page.
        grade: How well it answers.
    """

    unit_id: str
    source: str
    span: Span | None
    is_page: bool
    grade: int

    def counts(self, chunk: Chunk) -> bool:
        """Say whether a chunk has found this unit.

        A document is found by any chunk of it. A page or a stretch of text is found by a chunk of the same
        document that shares at least half of the shorter of the two: half of the unit lies in the chunk, or
        half of the chunk lies in the unit. White space at their ends is not told apart.
        """
        if self.span is None:
            below = self.source.endswith("/") and chunk.source.startswith(self.source)
            return below or chunk.source == self.source
        shared = min(chunk.end, self.span.end) - max(chunk.start, self.span.start)
        shorter = min(chunk.end - chunk.start, self.span.end - self.span.start)
        return chunk.source == self.source and shared > 0 and 2 * shared >= shorter


def units_of(case: Case, documents: Mapping[str, Document]) -> tuple[Unit, ...]:
    """Return the places that the labels of a case name.

    Args:
        case: The question.
        documents: By source, as they were read.

    Raises:
        InvalidDataset: A page does not exist, or a quote does not stand there exactly once.
    """
    units = tuple(_unit(case, label, documents.get(label.source)) for label in case.labels)
    if len({unit.unit_id for unit in units}) < len(units):
        raise InvalidDataset(f"{case.where}: two labels of {case.case_id!r} name the same place; remove one")
    return units


def ranked_units(
    hits: Iterable[Hit], units: Sequence[Unit], documents: Mapping[str, Document]
) -> list[Ranked]:
    """Return the ranking of places that a ranking of chunks means for one question.

    Each place counts once, at the rank of the first chunk that found it; later chunks of a place that is
    there already take no rank. A chunk that finds several judged places takes a rank for each. A chunk that
    finds none is a place of its own kind: its document where documents are judged, the page of its middle
    where pages are, itself where stretches of text are.

    Args:
        hits: Best first.
        units: What is judged for the question.
        documents: By source, as they were read.
    """
    by_page = any(unit.is_page for unit in units)
    by_span = any(unit.span is not None and not unit.is_page for unit in units)
    found: dict[str, float] = {}
    for hit in hits:
        ids: list[str] = [unit.unit_id for unit in units if unit.counts(hit.chunk)]
        if not ids:
            ids = [_unjudged(hit.chunk, documents, by_page=by_page, by_span=by_span)]
        for unit_id in ids:
            found.setdefault(unit_id, hit.score)
    return [Ranked(unit_id, score) for unit_id, score in found.items()]


def _unjudged(chunk: Chunk, documents: Mapping[str, Document], *, by_page: bool, by_span: bool) -> str:
    if by_span:
        return f"{chunk.source}#{chunk.start}-{chunk.end}"
    if by_page:
        document, middle = documents[chunk.source], (chunk.start + chunk.end) // 2
        spans = zip(document.pages, document.page_spans, strict=True)
        return f"{chunk.source}#p{next(page.page_no for page, span in spans if middle < span.end)}"
    return chunk.source


def _unit(case: Case, label: Label, document: Document | None) -> Unit:
    if document is None or (label.page is None and not label.quote and label.span is None):
        return Unit(label.source, label.source, None, is_page=False, grade=label.grade)
    within = Span(0, len(document.text))
    if label.page is not None:
        within = _page(case, label.page, document)
    if label.quote:
        within = _quoted(case, label, document.text, within)
    elif label.span is not None:
        within = Span(*label.span)
        if within.end > len(document.text):
            raise InvalidDataset(
                f"{case.where}: {label.source!r} has {len(document.text)} characters, so there is no span"
                f" {list(label.span)}"
            )
    elif label.page is not None:
        return Unit(f"{label.source}#p{label.page}", label.source, within, is_page=True, grade=label.grade)
    return Unit(
        f"{label.source}#{within.start}-{within.end}", label.source, within, is_page=False, grade=label.grade
    )


def _page(case: Case, number: int, document: Document) -> Span:
    for page, span in zip(document.pages, document.page_spans, strict=True):
        if page.page_no == number:
            return span
    raise InvalidDataset(
        f"{case.where}: {document.source!r} has {len(document.pages)} pages, so there is no page {number}"
    )


def _quoted(case: Case, label: Label, text: str, within: Span) -> Span:
    """Return where a quote stands, white space apart."""
    places = [at for at in range(within.start, within.end) if not text[at].isspace()]
    body, quote = "".join(text[at] for at in places), "".join(stored_text(label.quote).split())
    n = body.count(quote)
    if n != 1:
        where = f"page {label.page} of {label.source!r}" if label.page else repr(label.source)
        remedy = "quote more of it" if n else "quote the words as `rag parse` shows them"
        raise InvalidDataset(f"{case.where}: {label.quote!r} stands {n} times on {where}; {remedy}")
    start = body.index(quote)
    return Span(places[start], places[start + len(quote) - 1] + 1)
