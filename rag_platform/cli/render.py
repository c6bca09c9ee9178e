"""What the command line prints: tables for people, JSON for programs, one line for an error.

Only rendering. stdout carries data and nothing else; talk and log go to stderr.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from rag_platform.text.markup import excerpt

if TYPE_CHECKING:
    from rag_platform.entries import Entry
    from rag_platform.errors import RagError
    from rag_platform.protocols import Manifest
    from rag_platform.retrieval.explain import Explanation
    from rag_platform.types import Chunk, Hit

__all__ = [
    "Format",
    "Row",
    "collection_rows",
    "collection_value",
    "document_row",
    "document_value",
    "emit",
    "explanation_rows",
    "hit_row",
    "hit_value",
    "ingested_row",
    "log_to_stderr",
    "progress_bar",
    "published_value",
    "refused_row",
    "say",
    "snippet",
    "use_utf8",
    "visible",
]

_PIPE_WIDTH = 160
"""Columns of a table that no terminal limits."""

_SNIPPET = 240
"""Characters of a passage shown in a table; JSON always has all of it."""


class Format(StrEnum):
    """How a command writes its data."""

    table = "table"
    json = "json"


def use_utf8() -> None:
    """Write UTF-8 whatever the locale says; a file name that is no text is written with escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def say(line: str) -> None:
    """Write one line of talk to stderr."""
    sys.stderr.write(" ".join(visible(line).split()) + "\n")


def visible(text: str) -> str:
    r"""Return text without control characters, which a terminal would obey.

    >>> visible("सूचना\x1b[31m.pdf")
    'सूचना�[31m.pdf'
    """
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" and c not in "\n\t" else c for c in text)


def snippet(text: str, length: int = _SNIPPET) -> str:
    """Return the beginning of a text on one line, never cut inside a syllable.

    >>> snippet("नेपालको राजधानी", 5)
    'नेपाल…'
    >>> snippet("राज्य", 4)
    'रा…'
    """
    return excerpt(text, length)


def emit(form: Format, value: Mapping[str, object], rows: Sequence[Mapping[str, object]]) -> None:
    """Write ``value`` as JSON, or ``rows`` (all with the same keys) as a table."""
    if form is Format.json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
    elif rows:
        _table(rows)


def _table(rows: Sequence[Mapping[str, object]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0]:
        numeric = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(_cell(value))) for value in row.values()))
    width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or _PIPE_WIDTH)
    Console(file=sys.stdout, width=width).print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


Row = dict[str, object]


def hit_value(hit: Hit) -> Row:
    """Return a hit for JSON."""
    return {
        "rank": hit.rank,
        "score": hit.score,
        "text": hit.chunk.text,
        "source": hit.chunk.source,
        "page_first": hit.chunk.page_first,
        "page_last": hit.chunk.page_last,
        "kind": hit.chunk.kind,
        "path": hit.chunk.path,
        "header": hit.chunk.header,
        "document_id": hit.chunk.document_id,
        "chunk_id": hit.chunk.chunk_id,
        "fields": {name: list(values) for name, values in hit.chunk.fields.items()},
        "scores": dict(hit.scores),
        "context": [_place(chunk) for chunk in hit.context],
        "duplicates": [_place(chunk) for chunk in hit.duplicates],
        "keywords": list(hit.keywords),
    }


def _place(chunk: Chunk) -> Row:
    return {
        "source": chunk.source,
        "page_first": chunk.page_first,
        "page_last": chunk.page_last,
        "chunk_id": chunk.chunk_id,
        "text": chunk.text,
    }


def hit_row(hit: Hit) -> Row:
    """Return a hit for a table."""
    first, last = hit.chunk.page_first, hit.chunk.page_last
    return {
        "rank": hit.rank,
        "score": hit.score,
        "source": hit.chunk.source,
        "page": str(first) if first == last else f"{first}-{last}",
        "text": snippet(hit.chunk.text),
    }


def explanation_rows(explanation: Explanation) -> list[Row]:
    """Return the reasons of a search for a table: a line each."""
    terms = [f"{term} ×{weight:g} in {n}" for term, (weight, n) in explanation.terms.items()]
    read = [
        f"{one.token}: " + ", ".join(f"{c.word} {c.similarity:.2f}" for c in one.candidates[:4])
        for one in explanation.expansions
        if one.candidates
    ]
    fused = explanation.fusion
    lines = {
        "normal form": explanation.normal_form,
        "language": explanation.language,
        "reading": explanation.reading,
        "expansions": "; ".join(read),
        "terms": "; ".join(terms),
        "conditions": "; ".join(
            f"{c.field} {c.operator} {'|'.join(map(str, c.values))}" for c in explanation.conditions
        ),
        "candidates": ", ".join(f"{n} {part}" for part, n in explanation.candidates.items()),
        "fusion": f"{fused}, a full match is worth {explanation.match:g}" if fused == "calibrated" else fused,
        "reranker": explanation.reranker,
        "time": ", ".join(f"{step} {ms:.1f} ms" for step, ms in explanation.milliseconds.items()),
    }
    return [{"reason": name, "value": value} for name, value in lines.items() if value]


def document_row(entry: Entry) -> Row:
    """Return a document's state for a table."""
    return {
        "collection": entry.collection,
        "source": entry.source,
        "status": entry.status,
        "format": entry.format,
        "pages": entry.n_pages,
        "chunks": entry.n_chunks,
        "error": entry.failure.message if entry.failure else None,
    }


def document_value(entry: Entry) -> Row:
    """Return a document's state for JSON: the table's row with what programs ask for."""
    return document_row(entry) | {
        "code": entry.failure.code if entry.failure else None,
        "stage": entry.failure.stage if entry.failure else None,
        "partition": entry.partition,
        "document_id": entry.document_id,
        "content_sha256": entry.content_sha256,
        "bytes": entry.n_bytes,
    }


def ingested_row(source: str, entry: Entry | None, *, worked: bool) -> Row:
    """Return what became of one document that was ingested.

    Args:
        source: Path below the collection's inbox.
        entry: What the catalog knows of it; None when the inbox does not take such a name.
        worked: Something was done for it; otherwise it was current.
    """
    if entry is None:
        remedy = "names that are hidden or temporary are not ingested; rename the file"
        return _ingested(source, "", "", "unsupported", 0, 0, remedy)
    status = "unchanged" if entry.status in ("ok", "empty") and not worked else entry.status
    error = entry.failure.message if entry.failure else None
    if status == "pending":
        error = "another process is ingesting it; see `rag documents`"
    return _ingested(source, entry.format, entry.partition, status, entry.n_pages, entry.n_chunks, error)


def refused_row(source: str, error: RagError) -> Row:
    """Return what became of a file or folder that could not even be copied into the inbox."""
    return _ingested(source, "", "", "failed", 0, 0, str(error))


def _ingested(
    source: str, form: str, partition: str, status: str, n_pages: int, n_chunks: int, error: str | None
) -> Row:
    return {
        "source": source,
        "format": form,
        "partition": partition,
        "status": status,
        "pages": n_pages,
        "chunks": n_chunks,
        "error": error,
    }


def published_value(collection: str, model: str, manifest: Manifest | None) -> Row:
    """Return the published generation of a collection; generation 0 is none."""
    return {
        "name": collection,
        "model": model,
        "generation": manifest.generation if manifest else 0,
        "points": manifest.points if manifest else 0,
    }


def collection_value(name: str, n_documents: int, published: Sequence[Manifest]) -> Row:
    """Return a collection with its published generations for JSON."""
    generations = [
        {"model": m.model, "generation": m.generation, "points": m.points, "alias": m.alias}
        for m in published
    ]
    return {"name": name, "documents": n_documents, "generations": generations}


def collection_rows(name: str, n_documents: int, published: Sequence[Manifest]) -> list[Row]:
    """Return a row a published generation, or one that says that there is none."""
    head: Row = {"name": name, "documents": n_documents}
    if not published:
        return [head | {"model": "not published", "generation": None, "points": None, "alias": None}]
    return [
        head | {"model": m.model, "generation": m.generation, "points": m.points, "alias": m.alias}
        for m in published
    ]


@contextlib.contextmanager
def progress_bar(title: str, total: Callable[[], int]) -> Iterator[Callable[[str], None]]:
    """Show a bar on stderr, if that is a terminal; the callable advances it and names what was done.

    ``total`` is asked when the first step is done: before that, nobody knows how many there will be.
    """
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[done]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None, done="")

        def advance(done: str) -> None:
            if progress.tasks[0].total is None:
                progress.update(task, total=total())
            progress.update(task, advance=1, done=snippet(visible(done), 40))

        yield advance


def log_to_stderr(*, verbose: bool) -> None:
    """Show the platform's own warnings, and everything with ``-v``; errors of others come as exceptions."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    if verbose:
        logging.basicConfig(level=logging.INFO, handlers=[handler])
        return
    for name in ("rag_platform", "assets", "jobs", "serving"):
        logging.getLogger(name).addHandler(handler)
    for name in ("HF_HUB_VERBOSITY", "TRANSFORMERS_VERBOSITY"):
        os.environ.setdefault(name, "error")
