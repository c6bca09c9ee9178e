"""What people look for in the Dagster UI, made from the library's reports.

Totals of a run stand on all of its events and are kept small; what belongs to one partition (its
document, row count, path, first rows) stands on that partition's event only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
from dagster._core.execution.context.system import StepExecutionContext

from rag_platform.entries import Entry
from rag_platform.pipeline import Published
from rag_platform.stages import Outcome, StageReport

__all__ = [
    "Metadata",
    "annotate",
    "column_schema",
    "corpora",
    "document_metadata",
    "failures_table",
    "preview",
    "run_metadata",
]

Metadata = dict[str, Any]
_Row = Mapping[str, str | int | float | bool]

_PREVIEW_ROWS = 3
_PREVIEW_WIDTH = 80
_FAILURES_SHOWN = 20
_DOCUMENTS_SHOWN = 50
_PREVIEWED = {
    "page_no",
    "ordinal",
    "text",
    "page_first",
    "page_last",
    "origin",
    "confidence",
    "chunk_id",
    "vector",
}
"""Columns worth a look; few, for an event is stored for every partition."""


def column_schema(schema: pa.Schema) -> dg.TableSchema:
    """Return a table's contract as Dagster shows it."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name,
                type=str(field.type),
                description=(field.metadata or {}).get(b"description", b"").decode(),
                constraints=dg.TableColumnConstraints(nullable=field.nullable),
            )
            for field in schema
        ]
    )


def preview(path: Path) -> dg.TableMetadataValue | None:
    """Return the first rows of a Parquet file with long values cut, or None when there is nothing to see."""
    with pq.ParquetFile(path) as file:
        names = [name for name in file.schema_arrow.names if name in _PREVIEWED]
        batch = next(file.iter_batches(_PREVIEW_ROWS, columns=names), None)
    if batch is None or not names or not batch.num_rows:
        return None
    rows = [{name: _short(value) for name, value in row.items()} for row in batch.to_pylist()]
    return _table(rows)


def run_metadata(report: StageReport) -> Metadata:
    """Return the totals of a run of one stage; named so that no partition's numbers are taken for them."""
    totals: Metadata = {
        "run_documents": len(report.outcomes),
        "run_documents_done": report.n_done,
        "run_documents_unchanged": report.n_unchanged,
        "run_documents_failed": report.n_failed,
        "run_rows": report.n_rows,
    }
    if report.n_failed:
        totals["run_failures"] = failures_table(report.outcomes)
    return totals


def failures_table(outcomes: Iterable[Outcome | Entry]) -> dg.TableMetadataValue:
    """Return the documents that failed, with the reason of each; the first twenty."""
    failed: list[_Row] = [
        {
            "collection": outcome.collection,
            "source": outcome.source,
            "stage": outcome.failure.stage,
            "code": outcome.failure.code,
            "message": outcome.failure.message,
        }
        for outcome in outcomes
        if outcome.failure is not None
    ]
    return _table(failed[:_FAILURES_SHOWN])


def document_metadata(
    keys: Sequence[str], entries: Sequence[Entry], report: StageReport
) -> dict[str, Metadata]:
    """Return partition -> what its event says: rows, file, first rows and the document itself."""
    outcomes: dict[str, list[Outcome]] = {key: [] for key in keys}
    for outcome in report.outcomes:
        outcomes[outcome.partition].append(outcome)
    documents: dict[str, list[Entry]] = {key: [] for key in keys}
    for entry in entries:
        documents[entry.partition].append(entry)
    return {
        key: {
            **_rows(outcomes[key], report.paths.get(key)),
            **_documents(documents[key]),
            **_reading(outcomes[key]),
        }
        for key in keys
    }


def corpora(published: Sequence[Published]) -> Metadata:
    """Return what one model's collections are after a publish: where, which generation, how many points."""
    rows: list[_Row] = [
        {
            "collection": done.collection,
            "generation": done.manifest.generation,
            "points": done.manifest.points,
            "documents": len(done.manifest.documents),
            "changed": done.changed,
            "alias": done.manifest.alias,
            "address": done.manifest.address,
        }
        for done in published
    ]
    points = sum(done.manifest.points for done in published)
    found: Metadata = {"dagster/row_count": points, "points": points, "collections": len(rows)}
    if rows:
        found["generation"] = max(done.manifest.generation for done in published)
        found["published"] = _table(rows)
    return found


def annotate(context: dg.AssetExecutionContext, by_partition: Mapping[str, Metadata]) -> None:
    """Put each partition's metadata on its own event.

    ``context.add_asset_metadata`` does that too, but reads the list of all dynamic partitions at every
    call: 18 ms a partition, twice what writing its event takes. So the check is made once here and the
    values are handed to the same accumulator; where Dagster has moved that, the public way is taken.
    """
    strangers = set(by_partition) - set(context.partition_keys)
    if strangers:
        raise ValueError(f"not partitions of this run: {sorted(strangers)}")
    step = context.get_step_execution_context()
    gathered = _accumulator(step)
    if gathered is None:
        for key, metadata in by_partition.items():
            context.add_asset_metadata(metadata, partition_key=key)
        return
    for key, metadata in by_partition.items():
        gathered = gathered.with_additional_asset_metadata(context.asset_key, key, metadata)
    step._metadata_accumulator = gathered


def _accumulator(step: StepExecutionContext) -> Any:  # noqa: ANN401 - a private class of Dagster's
    return getattr(step, "_metadata_accumulator", None)


def _rows(outcomes: Sequence[Outcome], path: Path | None) -> Metadata:
    found: Metadata = {"dagster/row_count": sum(outcome.n_rows for outcome in outcomes)}
    if path is not None:
        found["path"] = dg.MetadataValue.path(str(path))
        first = preview(path)
        if first is not None:
            found["preview"] = first
    return found


def _documents(entries: Sequence[Entry]) -> Metadata:
    if len(entries) == 1:
        return {**_about(entries[0])}
    return {"documents": _table([_about(entry) for entry in entries[:_DOCUMENTS_SHOWN]])} if entries else {}


def _about(entry: Entry) -> dict[str, str | int]:
    about: dict[str, str | int] = {
        "source": entry.source,
        "collection": entry.collection,
        "status": entry.status,
        "format": entry.format,
        "bytes": entry.n_bytes,
        "sha256": entry.content_sha256,
        "pages": entry.n_pages,
        "chunks": entry.n_chunks,
    }
    if entry.failure is not None:
        about["failure"] = f"{entry.failure.stage}: {entry.failure.code}: {entry.failure.message}"
    return about


def _reading(outcomes: Sequence[Outcome]) -> Metadata:
    """Return how the pages were read; empty for a stage that reads none."""
    measured = [outcome for outcome in outcomes if "n_ocr_pages" in outcome.measures]
    n_pages = sum(outcome.n_rows for outcome in measured)
    if not n_pages:
        return {}
    confidence = sum(float(o.measures["confidence"]) * o.n_rows for o in measured) / n_pages
    return {
        "ocr_share": round(sum(int(o.measures["n_ocr_pages"]) for o in measured) / n_pages, 4),
        "confidence": round(confidence, 4),
        "suspect_pages": sum(int(o.measures["n_suspect_pages"]) for o in measured),
    }


def _short(value: object) -> str | int | float | bool:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        return f"[{', '.join(f'{number:.3f}' for number in value[:4])}, ... {len(value)} values]"
    text = str(value)
    return text if len(text) <= _PREVIEW_WIDTH else f"{text[:_PREVIEW_WIDTH]}…"


def _table(rows: Sequence[_Row]) -> dg.TableMetadataValue:
    return dg.MetadataValue.table([dg.TableRecord(dict(row)) for row in rows])
