"""``collections``: the published generations of every named corpus, partitioned by embedding model."""

# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.
import dagster as dg

from assets.embeddings import embeddings
from assets.metadata import annotate, corpora
from assets.partitions import BY_MODEL, MODELS, SINGLE_RUN, retire
from assets.platform import Platform
from rag_platform import pipeline
from rag_platform.errors import Busy, UpstreamError

__all__ = ["PublishConfig", "collections"]

_TRIES = 5
_WAIT_S = 5.0


class PublishConfig(dg.Config):
    """How collections are published."""

    rebuild: bool = False
    """Build from nothing even where a copy with changes would do."""


@dg.asset(
    deps=[dg.AssetDep(embeddings, partition_mapping=BY_MODEL)],
    partitions_def=MODELS,
    backfill_policy=SINGLE_RUN,
    group_name="ingestion",
    kinds={"qdrant"},
    pool="publish",
)
def collections(
    context: dg.AssetExecutionContext, config: PublishConfig, platform: dg.ResourceParam[Platform]
) -> dg.MaterializeResult[None]:
    """Publish a new generation of every corpus that changed for a model; the old one serves until then."""
    models = context.partition_keys
    try:
        done = {model: pipeline.publish(platform.system, model, rebuild=config.rebuild) for model in models}
    except (Busy, UpstreamError) as error:
        if context.retry_number >= _TRIES:
            raise
        raise dg.RetryRequested(max_retries=_TRIES, seconds_to_wait=_WAIT_S) from error
    annotate(context, {model: corpora(published) for model, published in done.items()})
    gone = retire(context.instance, platform.system, besides=[context.run.run_id])
    changed = sum(one.changed for published in done.values() for one in published)
    return dg.MaterializeResult(metadata={"generations_changed": changed, "partitions_retired": len(gone)})
