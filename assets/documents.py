"""``raw_documents``, ``pages`` and ``chunks``: partitioned by document, one Parquet file a partition each."""

# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.
from collections.abc import Sequence

import dagster as dg

from assets.metadata import annotate, column_schema, document_metadata, run_metadata
from assets.partitions import DOCUMENTS, SINGLE_RUN
from assets.platform import Platform
from rag_platform import pipeline, tables
from rag_platform.stages import StageReport

__all__ = ["chunks", "pages", "raw_documents"]


@dg.asset(
    partitions_def=DOCUMENTS,
    backfill_policy=SINGLE_RUN,
    group_name="ingestion",
    kinds={"parquet"},
    metadata={"dagster/column_schema": column_schema(tables.RAW_DOCUMENTS)},
)
def raw_documents(
    context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
) -> dg.MaterializeResult[None]:
    """Content-addressed copies of the dropped files, with size and hash."""
    keys = context.partition_keys
    return _materialized(
        context, platform, keys, pipeline.raw_documents(platform.system, keys, progress=platform.progress)
    )


@dg.asset(
    deps=[raw_documents],
    partitions_def=DOCUMENTS,
    backfill_policy=SINGLE_RUN,
    group_name="ingestion",
    kinds={"parquet"},
    pool="ocr",
    metadata={"dagster/column_schema": column_schema(tables.PAGES)},
)
def pages(
    context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
) -> dg.MaterializeResult[None]:
    """Text of every page, slide, chapter or section, with origin and confidence; OCR where it is needed."""
    keys = context.partition_keys
    return _materialized(
        context, platform, keys, pipeline.pages(platform.system, keys, progress=platform.progress)
    )


@dg.asset(
    deps=[pages],
    partitions_def=DOCUMENTS,
    backfill_policy=SINGLE_RUN,
    group_name="ingestion",
    kinds={"parquet"},
    metadata={"dagster/column_schema": column_schema(tables.CHUNKS)},
)
def chunks(
    context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
) -> dg.MaterializeResult[None]:
    """Passages of the documents, the same for every embedding model."""
    keys = context.partition_keys
    return _materialized(
        context, platform, keys, pipeline.chunks(platform.system, keys, progress=platform.progress)
    )


def _materialized(
    context: dg.AssetExecutionContext, platform: Platform, keys: Sequence[str], report: StageReport
) -> dg.MaterializeResult[None]:
    entries = platform.system.catalog.entries(partitions=keys)
    annotate(context, document_metadata(keys, entries, report))
    for outcome in report.outcomes:
        if outcome.failure is not None:
            context.log.warning("%s: %s", outcome.source, outcome.failure.message)
    return dg.MaterializeResult(metadata=run_metadata(report))
