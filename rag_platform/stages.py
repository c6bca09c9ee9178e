"""How a stage runs over partitions: what is current, what failed, what is written and reported.

The same for every stage; what a stage makes of a document stands in ``pipeline``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from rag_platform.catalog import Catalog
from rag_platform.entries import Entry, StageRecord
from rag_platform.errors import RagError, StorageError
from rag_platform.storage import TableStore
from rag_platform.types import Failure, Status

__all__ = [
    "Measures",
    "Outcome",
    "Progress",
    "Stage",
    "StageReport",
    "Work",
    "drop_rows",
    "each",
    "read_rows",
]

Measures = Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one stage made of one document; ``n_rows`` counts its rows in the stage's table."""

    document_id: str
    collection: str
    source: str
    partition: str
    status: Status
    n_rows: int = 0
    measures: Measures = field(default_factory=dict)
    failure: Failure | None = None


Progress = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one stage did; ``paths`` maps each partition to its Parquet file."""

    stage: str
    outcomes: tuple[Outcome, ...]
    paths: Mapping[str, Path]

    @property
    def n_done(self) -> int:
        """Documents that were worked on and did not fail."""
        return sum(outcome.status in ("ok", "empty") for outcome in self.outcomes)

    @property
    def n_unchanged(self) -> int:
        """Documents whose fingerprint was current."""
        return sum(outcome.status == "unchanged" for outcome in self.outcomes)

    @property
    def n_failed(self) -> int:
        """Documents that failed or are of no supported format."""
        return sum(outcome.failure is not None for outcome in self.outcomes)

    @property
    def n_rows(self) -> int:
        """Rows of all these documents, unchanged ones included."""
        return sum(outcome.n_rows for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class Work:
    """The rows that a stage made of one document."""

    rows: pa.Table


Result = tuple[Entry, Work | RagError]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage over the documents of some partitions; each partition is written as it completes.

    Attributes:
        catalog: Where outcomes are recorded.
        tables: Where rows are written.
        name: The stage, which is its table's name too.
        schema: The table's contract.
        measure: What the catalog keeps of one document's rows.
        after: The stage that must have succeeded before.
        progress: Called with each outcome.
    """

    catalog: Catalog
    tables: TableStore
    name: str
    schema: pa.Schema
    measure: Callable[[pa.Table], Measures]
    after: str = ""
    progress: Progress | None = None

    def run(
        self,
        partitions: Sequence[str],
        wanted: Callable[[Entry], str],
        make: Callable[[Sequence[Entry]], Iterable[Result]],
    ) -> StageReport:
        """Bring the table up to date for the documents of ``partitions``.

        Args:
            partitions: Keys; one that holds no live document is no error.
            wanted: Returns the fingerprint of the work a document needs.
            make: Does that work for the documents that need it, in any order.
        """
        ready = []
        for entry in self.catalog.entries(partitions=partitions):
            if self._ready(entry):
                ready.append(entry)
            else:
                self._clear(entry)
        prints = {entry.document_id: wanted(entry) for entry in ready}
        outcomes: dict[str, Outcome] = {}
        stale = []
        for entry in ready:
            record = self._current(entry, prints[entry.document_id])
            if record is None:
                stale.append(entry)
            else:
                outcomes[entry.document_id] = self._outcome(entry, record, "unchanged")
                self._tell(outcomes[entry.document_id])
        for finished in _by_partition(stale, make(stale) if stale else ()):
            for outcome in self._store(finished, prints):
                outcomes[outcome.document_id] = outcome
                self._tell(outcome)
        paths = {entry.partition: self.tables.path(self.name, entry.partition) for entry in ready}
        written = {key: path for key, path in paths.items() if path.exists()}
        return StageReport(self.name, tuple(outcomes[entry.document_id] for entry in ready), written)

    def _ready(self, entry: Entry) -> bool:
        before = entry.stages.get(self.after)
        return not self.after or (before is not None and before.failure is None)

    def _clear(self, entry: Entry) -> None:
        """Drop what this stage made of a document that the stage before has refused for good."""
        before = entry.stages.get(self.after)
        refused = before is not None and before.failure is not None and not before.failure.retryable
        if refused and self.name in entry.stages:
            drop_rows(self.tables, self.name, entry)
            self.catalog.forget([entry.document_id], stages=[self.name])

    def _current(self, entry: Entry, wanted: str) -> StageRecord | None:
        """Return the record of work that needs no repeating."""
        record = entry.stages.get(self.name)
        if record is not None and record.failure is not None:
            final = record.fingerprint == wanted and not record.failure.retryable
            return record if final else None
        if self.tables.fingerprints(self.name, entry.partition).get(entry.document_id) != wanted:
            return None
        if record is None or record.fingerprint != wanted:  # killed between the table and the catalog
            rows = read_rows(self.tables, self.name, entry)
            record = StageRecord(wanted, rows.num_rows, self.measure(rows))
            self.catalog.record(self.name, {entry.document_id: record})
        return record

    def _store(self, finished: Sequence[Result], prints: Mapping[str, str]) -> list[Outcome]:
        """Write one partition and record it; a failed document leaves no rows unless a retry may help."""
        changed: dict[str, tuple[str, pa.Table | None]] = {}
        records: dict[str, StageRecord] = {}
        for entry, result in finished:
            wanted = prints[entry.document_id]
            if isinstance(result, Work):
                changed[entry.document_id] = (wanted, result.rows)
                records[entry.document_id] = StageRecord(
                    wanted, result.rows.num_rows, self.measure(result.rows)
                )
                continue
            failure = Failure(self.name, result.code, str(result), result.retryable)
            records[entry.document_id] = StageRecord(wanted, 0, {}, failure)
            if not result.retryable:
                changed[entry.document_id] = ("", None)
        if changed:
            self.tables.write(self.name, finished[0][0].partition, self.schema, changed)
        self.catalog.record(self.name, records)
        return [self._outcome(entry, records[entry.document_id], "ok") for entry, _ in finished]

    @staticmethod
    def _outcome(entry: Entry, record: StageRecord, good: Status) -> Outcome:
        status = good
        if record.failure is not None:
            status = "unsupported" if record.failure.code == "unsupported_format" else "failed"
        elif good == "ok" and not record.n_rows:
            status = "empty"
        return Outcome(
            entry.document_id,
            entry.collection,
            entry.source,
            entry.partition,
            status,
            record.n_rows,
            record.measures,
            record.failure,
        )

    def _tell(self, outcome: Outcome) -> None:
        if self.progress is not None:
            self.progress(outcome)


def each(make: Callable[[Entry], Work], entries: Sequence[Entry]) -> Iterator[Result]:
    """Do one document after the other; a ``RagError`` is that document's result."""
    for entry in entries:
        try:
            yield entry, make(entry)
        except RagError as error:
            yield entry, error


def read_rows(tables: TableStore, table: str, entry: Entry) -> pa.Table:
    """Return one document's rows of a table.

    Raises:
        StorageError: The file is missing, although the catalog says that it was written, or damaged.
    """
    rows = tables.read(table, entry.partition, [entry.document_id])
    if rows is None:
        path = tables.path(table, entry.partition)
        raise StorageError(f"{path} is missing; make it again: ingest {entry.source!r} with --force")
    return rows


def drop_rows(tables: TableStore, table: str, entry: Entry) -> None:
    """Remove one document's rows from a table, and the file with its last document."""
    prints = tables.fingerprints(table, entry.partition)
    if prints.keys() <= {entry.document_id}:
        tables.drop(table, entry.partition)
    else:
        schema = tables.schema(table, entry.partition)
        tables.write(table, entry.partition, schema, {entry.document_id: ("", None)})


def _by_partition(stale: Sequence[Entry], results: Iterable[Result]) -> Iterator[list[Result]]:
    """Group results by partition and yield each group when its last document is there."""
    missing: dict[str, int] = {}
    for entry in stale:
        missing[entry.partition] = missing.get(entry.partition, 0) + 1
    waiting: dict[str, list[Result]] = {}
    for entry, result in results:
        group = waiting.setdefault(entry.partition, [])
        group.append((entry, result))
        if len(group) == missing[entry.partition]:
            yield waiting.pop(entry.partition)
