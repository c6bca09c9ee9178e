"""Whether every page of an ingested document is there: what its container says against the pages table.

Neither the reader's own count nor the catalog's is believed. A format whose container does not say (DOCX,
RTF, ODT, plain text, ZIP) is held against what was recorded when its pages were written, and against gaps in
their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_platform.audit.container import inspect_job
from rag_platform.entries import Entry
from rag_platform.errors import RagError
from rag_platform.parsing.pool import Job, do_all
from rag_platform.system import System

__all__ = ["Completeness", "completeness"]


@dataclass(frozen=True, slots=True)
class Completeness:
    """The pages of one document.

    Attributes:
        expected: By its container; None where the format does not say.
        recorded: When the pages were written.
        extracted: Rows that are there now.
        lost: Numbers of the pages that are not.
        uncounted: Why container or table could not be asked; empty when they could.
    """

    collection: str
    source: str
    partition: str
    expected: int | None
    recorded: int
    extracted: int
    lost: tuple[int, ...]
    uncounted: str = ""


def completeness(system: System, entries: Sequence[Entry]) -> Iterator[Completeness]:
    """Compare the pages of documents with their containers; yields as each is done.

    Args:
        system: Whose raw copies and tables are compared.
        entries: Documents; those whose pages failed, or were not made yet, are left out.
    """
    made = {
        entry.document_id: entry
        for entry in entries
        if (record := entry.stages.get("pages")) is not None and record.failure is None
    }
    jobs = [
        Job(key, system.raw.path(entry.content_sha256), entry.source, entry.collection)
        for key, entry in made.items()
    ]
    workers, limits = system.settings.workers, system.parse_limits
    for key, counted in do_all(inspect_job, jobs, system.parse_options, workers=workers, limits=limits):
        if isinstance(counted, RagError):
            yield _compared(system, made[key], None, str(counted))
        else:
            yield _compared(system, made[key], counted.n_pages)


def _compared(system: System, entry: Entry, expected: int | None, uncounted: str = "") -> Completeness:
    import pyarrow as pa

    found: list[int] = []
    try:
        rows = system.tables.read("pages", entry.partition, [entry.document_id])
        found = [] if rows is None else rows["page_no"].to_pylist()
    except (RagError, pa.ArrowException, KeyError) as error:
        uncounted = f"its pages cannot be read ({error}); ingest {entry.source!r} again with --force"
    last = max(expected or 0, entry.n_pages, max(found, default=0))
    lost = tuple(sorted(set(range(1, last + 1)) - set(found)))
    return Completeness(
        entry.collection,
        entry.source,
        entry.partition,
        expected,
        entry.n_pages,
        len(found),
        lost,
        uncounted,
    )
