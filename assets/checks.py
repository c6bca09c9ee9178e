"""Checks of the assets: every table against its contract, every collection against the live chunks.

No check blocks: one bad document must not stop the others. What a check finds stands in its metadata.
A check run with partitions looks at those, one run on its own at all of them; ``documents_healthy`` always
at all.
"""

# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from assets.collections import collections
from assets.documents import chunks, pages, raw_documents
from assets.embeddings import embeddings
from assets.gate import keeps_up
from assets.metadata import Metadata, failures_table
from assets.partitions import MODELS, by_model, registered
from assets.platform import Platform
from rag_platform import tables
from rag_platform.audit.completeness import Completeness, completeness
from rag_platform.errors import SchemaMismatch
from rag_platform.plan import embedding_table
from rag_platform.system import System

__all__ = ["CHECKS", "Drift", "drift"]

_SHOWN = 20


def _of_run(context: dg.AssetCheckExecutionContext) -> list[str] | None:
    """Return the run's partition keys, or None when the check runs on its own."""
    if context.has_partition_key or context.has_partition_key_range:
        return [str(key) for key in context.partition_keys]
    return None


# Schemas

_Files = Iterable[tuple[str, Path, pa.Schema]]
"""Partition key, file and contract."""


def _schema_result(files: _Files) -> dg.AssetCheckResult:
    problems, n_files, n_rows = [], 0, 0
    for key, path, schema in files:
        if not path.exists():
            continue  # a document that failed leaves no file; documents_healthy reports it
        n_files += 1
        try:
            n_rows += tables.check(pq.read_table(path), schema).num_rows
        except (SchemaMismatch, pa.ArrowException) as error:
            problems.append({"partition": key, "path": str(path), "problem": str(error)})
    metadata: Metadata = {"files": n_files, "rows": n_rows, "problems": len(problems)}
    if problems:
        records = [dg.TableRecord(problem) for problem in problems[:_SHOWN]]
        metadata["broken_files"] = dg.MetadataValue.table(records)
    return dg.AssetCheckResult(passed=not problems, metadata=metadata)


def _schema_check(asset: dg.AssetsDefinition, schema: pa.Schema) -> dg.AssetChecksDefinition:
    table = asset.key.to_user_string()

    @dg.asset_check(
        asset=asset,
        name=f"{table}_schema",
        description=f"Every {table} file has exactly the columns of its Arrow schema, none of them null.",
    )
    def check(
        context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.AssetCheckResult:
        keys = _of_run(context)
        keys = registered(context.instance) if keys is None else keys
        store = platform.system.tables
        return _schema_result((key, store.path(table, key), schema) for key in keys)

    return check


@dg.asset_check(asset=embeddings, description="Every embeddings file has its columns and its model's size.")
def embeddings_schema(
    context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
) -> dg.AssetCheckResult:
    """Hold each file against the schema of its model's vector size."""
    keys = _of_run(context)
    if keys is None:
        documents, models = registered(context.instance), MODELS.get_partition_keys()
        keys = [f"{document}|{model}" for document in documents for model in models]
    return _schema_result(_embedding_files(platform.system, keys))


def _embedding_files(system: System, keys: Iterable[str]) -> Iterator[tuple[str, Path, pa.Schema]]:
    for model, documents in by_model(keys).items():
        schema = tables.embeddings(system.encoder(model).dim)
        for document in documents:
            yield f"{document}|{model}", system.tables.path(embedding_table(model), document), schema


# Documents


@dg.asset_check(asset=pages, description="Every page that a document's container tells of is in its table.")
def pages_complete(
    context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
) -> dg.AssetCheckResult:
    """Fail where pages were lost, document by document; warn where a container could not be asked."""
    system = platform.system
    found = list(completeness(system, system.catalog.entries(partitions=_of_run(context))))
    bad = [one for one in found if one.lost or one.uncounted]
    n_lost = sum(len(one.lost) for one in found)
    metadata: Metadata = {
        "documents": len(found),
        "documents_incomplete": sum(bool(one.lost) for one in found),
        "documents_without_a_count": sum(one.expected is None for one in found),
        "pages_expected": sum(one.expected or one.recorded for one in found),
        "pages_extracted": sum(one.extracted for one in found),
        "pages_lost": n_lost,
    }
    if bad:
        metadata["incomplete"] = dg.MetadataValue.table([_incomplete(one) for one in bad[:_SHOWN]])
    severity = dg.AssetCheckSeverity.ERROR if n_lost else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(passed=not bad, severity=severity, metadata=metadata)


def _incomplete(one: Completeness) -> dg.TableRecord:
    lost = ", ".join(map(str, one.lost[:_SHOWN]))
    return dg.TableRecord(
        {
            "collection": one.collection,
            "source": one.source,
            "expected": one.recorded if one.expected is None else one.expected,
            "extracted": one.extracted,
            "lost": f"{lost}, …" if len(one.lost) > _SHOWN else lost,
            "uncounted": one.uncounted,
        }
    )


@dg.asset_check(asset=chunks, description="No document failed or was refused, of this run or an earlier one.")
def documents_healthy(platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
    """Warn of every document that did not get through, with the reason.

    Of all of them: the last result is what the UI shows, and a run of others must not hide a failure.
    """
    entries = platform.system.catalog.entries()
    failed = [entry for entry in entries if entry.failure is not None]
    metadata: Metadata = {"documents": len(entries), "failed": len(failed)}
    if failed:
        metadata["failures"] = failures_table(failed)
    return dg.AssetCheckResult(passed=not failed, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)


# Collections


@dataclass(frozen=True, slots=True)
class Drift:
    """How one published generation differs from the live chunks: counts, nothing hidden."""

    collection: str
    model: str
    live: int
    points: int
    missing: int
    foreign: int


def drift(system: System, model: str) -> list[Drift]:
    """Compare the points of every corpus of one model with the chunks of its live documents.

    The chunks are read from the tables, the points from the index itself: neither the catalog's counts
    nor the manifest is believed.
    """
    found = []
    for collection in system.catalog.collections():
        live: set[str] = set()
        for entry in system.catalog.entries(collection):
            rows = system.tables.read("chunks", entry.partition, [entry.document_id])
            live.update([] if rows is None else rows["chunk_id"].to_pylist())
        manifest = system.index.current(collection, model)
        points = set() if manifest is None else _points(system, collection, model)
        if manifest is not None or live:
            counts = len(live), len(points), len(live - points), len(points - live)
            found.append(Drift(collection, model, *counts))
    return found


def _points(system: System, collection: str, model: str) -> set[str]:
    return {point.chunk.chunk_id for point in system.index.open(collection, model).points()}


@dg.asset_check(asset=collections, description="Every corpus holds exactly the chunks of its live documents.")
def collections_hold_live_chunks(
    context: dg.AssetCheckExecutionContext, platform: dg.ResourceParam[Platform]
) -> dg.AssetCheckResult:
    """Fail on points of no live document; warn where live chunks wait to be embedded or published."""
    system, keys = platform.system, _of_run(context)
    models = sorted(system.published_models()) if keys is None else keys
    found = [one for model in models for one in drift(system, model)]
    missing, foreign = sum(one.missing for one in found), sum(one.foreign for one in found)
    fields = ("collection", "model", "live", "points", "missing", "foreign")
    records = [dg.TableRecord({name: getattr(one, name) for name in fields}) for one in found]
    return dg.AssetCheckResult(
        passed=not missing and not foreign,
        severity=dg.AssetCheckSeverity.ERROR if foreign else dg.AssetCheckSeverity.WARN,
        metadata={
            "missing": missing,
            "foreign": foreign,
            "collections": dg.MetadataValue.table(records) if records else "none published",
        },
    )


CHECKS: list[dg.AssetChecksDefinition] = [
    _schema_check(raw_documents, tables.RAW_DOCUMENTS),
    _schema_check(pages, tables.PAGES),
    _schema_check(chunks, tables.CHUNKS),
    embeddings_schema,
    pages_complete,
    documents_healthy,
    collections_hold_live_chunks,
    keeps_up,
]
