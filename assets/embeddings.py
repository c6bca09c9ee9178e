"""``embeddings``: the vectors of the chunks, partitioned by document and embedding model."""

# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.
import dagster as dg

from assets.documents import chunks
from assets.metadata import Metadata, annotate, column_schema, document_metadata, run_metadata
from assets.partitions import BY_DOCUMENT, DOCUMENT_X_MODEL, SINGLE_RUN, by_model
from assets.platform import Platform
from rag_platform import pipeline, tables

__all__ = ["embeddings"]


@dg.asset(
    deps=[dg.AssetDep(chunks, partition_mapping=BY_DOCUMENT)],
    partitions_def=DOCUMENT_X_MODEL,
    backfill_policy=SINGLE_RUN,
    group_name="ingestion",
    kinds={"parquet"},
    metadata={"dagster/column_schema": column_schema(tables.embeddings(384))},
)
def embeddings(
    context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
) -> dg.MaterializeResult[None]:
    """Vectors of every chunk by every model asked for; a text embedded before is not embedded again.

    The size of a vector is the model's own (384 stands for all in the column schema).
    """
    system = platform.system
    totals: dict[str, Metadata] = {}
    for model, keys in by_model(context.partition_keys).items():
        report = pipeline.embeddings(system, keys, model, progress=platform.progress)
        entries = system.catalog.entries(partitions=keys)
        about = document_metadata(keys, entries, report)
        dim = system.encoder(model).dim
        annotate(context, {f"{key}|{model}": {**about[key], "model": model, "dim": dim} for key in keys})
        totals[model] = run_metadata(report)
    return dg.MaterializeResult(metadata=_summed(totals))


def _summed(totals: dict[str, Metadata]) -> Metadata:
    """Return one model's totals as they are, several models' under the model's name."""
    if len(totals) == 1:
        return next(iter(totals.values()))
    return {f"{name} ({model})": value for model, total in totals.items() for name, value in total.items()}
