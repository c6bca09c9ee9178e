"""Ingestion in this process: the same jobs on the same instance as the daemon's, driven by the plan.

What the command line calls. Which documents are stale is the plan's to say, which ranges hold them
``ranges``'; here they are run one after the other, and the claim is settled whatever happens.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import dagster as dg

from assets.partitions import MODELS, register, registered, retire
from assets.platform import Platform
from jobs.asset_jobs import resolved
from jobs.claims import CLAIM, LAUNCHED_BY, Owner, alive_on, bury
from jobs.instance import instance_for
from jobs.ranges import KeyRange, rectangles, stretches
from rag_platform import pipeline
from rag_platform.entries import Entry
from rag_platform.stages import Progress
from rag_platform.system import System
from rag_platform.types import document_id

__all__ = ["execute", "ingest", "instance_for"]

_log = logging.getLogger(__name__)

_POLL_S = 0.5
_REPOSITORY = {".dagster/repository": "__repository__@definitions"}
"""Puts a run on its job's page in the UI, as the daemon does for those that it launches."""


def ingest(
    system: System,
    instance: dg.DagsterInstance,
    *,
    sources: list[tuple[str, str]] | None,
    owner: str,
    models: Sequence[str],
    force: bool = False,
    progress: Progress | None = None,
) -> None:
    """Take documents to published collections; where nothing is stale, no run is made.

    Args:
        system: The wired library; the runs use this very one.
        instance: Where the runs are recorded.
        sources: (collection, source) of the documents; None means all.
        owner: A name from ``jobs.claims.new_owner("cli")``.
        models: Catalogue names to embed and publish for.
        force: Do everything again for ``sources``, current or not.
        progress: Told of every document as a stage is done with it.

    Raises:
        RagError: Something that is no single document's fault; documents' own failures stand in the catalog.
        KeyboardInterrupt: The run was interrupted, and recorded as such.
    """
    Owner.parse(owner)
    bury(instance)
    work = _Ingestion(system, instance, owner, models, sources, Platform(system, progress))
    try:
        if force:
            pipeline.forget(system, work.entries())
        work.documents()
        work.embed()
        work.publish(force=force)
    except dg.DagsterExecutionInterruptedError as error:  # what Dagster makes of Ctrl-C
        system.catalog.release(owner)
        raise KeyboardInterrupt from error
    except BaseException:
        system.catalog.release(owner)
        raise


@dataclass(frozen=True, slots=True)
class _Ingestion:
    """One call of ``ingest``."""

    system: System
    instance: dg.DagsterInstance
    owner: str
    models: Sequence[str]
    sources: list[tuple[str, str]] | None
    platform: Platform

    def entries(self) -> list[Entry]:
        found = self.system.catalog.entries()
        if self.sources is None:
            return found
        wanted = {document_id(*source) for source in self.sources}
        return [entry for entry in found if entry.document_id in wanted]

    def documents(self) -> None:
        """Claim and run until no document is due, and none is in the hands of another."""
        alive, first, told = alive_on(self.instance), True, False
        while True:
            claimed = self.system.catalog.claim(self.owner, alive=alive, sources=self.sources)
            if claimed or first:
                stale = self._mine(self._plan().documents)
                self._run("documents", stretches(stale, self._register(stale)))
                self.system.catalog.finish(self.owner)
            others = [entry for entry in self.entries() if entry.owner]
            if not others and not claimed:
                return  # only now: what another gave back meanwhile is due again
            if others and not told:
                _log.info("waiting for %s, who works on %d documents", others[0].owner, len(others))
            if others:
                time.sleep(_POLL_S)
            first, told = False, bool(others)

    def embed(self) -> None:
        """Embed; by the library for a model that was named for this call alone, so is no partition."""
        cells = {model: self._mine(keys) for model, keys in self._plan().embed.items()}
        known = MODELS.get_partition_keys()
        for model in [model for model in cells if model not in known]:
            pipeline.embeddings(self.system, cells.pop(model), model, progress=self.platform.progress)
        wanted = [key for keys in cells.values() for key in keys]
        self._run("embed", rectangles(cells, self._register(wanted), known))

    def publish(self, *, force: bool) -> None:
        """Publish these models; a deletion concerns every model that has been published.

        Args:
            force: Even where nothing changed: the index then looks whether what is published is whole.
        """
        published = self.system.published_models()
        stale = self._plan(models=list(dict.fromkeys([*self.models, *published]))).publish
        models = list(dict.fromkeys([*stale, *(self.models if force else ())]))
        known = MODELS.get_partition_keys()
        self._run("publish", stretches([model for model in models if model in known], known))
        for model in models:
            if model not in known:
                pipeline.publish(self.system, model)
        retire(self.instance, self.system)

    def _plan(self, models: Sequence[str] | None = None) -> pipeline.Plan:
        return pipeline.plan(self.system, models or self.models, owner=self.owner)

    def _mine(self, partitions: Iterable[str]) -> list[str]:
        mine = {entry.partition for entry in self.entries()}
        return [key for key in partitions if key in mine]

    def _register(self, partitions: Collection[str]) -> list[str]:
        register(self.instance, partitions)
        return registered(self.instance)

    def _run(self, job: str, ranges: Sequence[KeyRange]) -> None:
        for keys in ranges:
            execute(resolved(job), keys, instance=self.instance, owner=self.owner, platform=self.platform)


def execute(
    job: dg.JobDefinition,
    keys: KeyRange,
    *,
    instance: dg.DagsterInstance,
    owner: str,
    platform: Platform,
    ops: Mapping[str, object] | None = None,
) -> dg.ExecuteInProcessResult:
    """Run a job over a range of keys in this process, recorded as the daemon would record it.

    Args:
        job: Resolved.
        keys: What it works on.
        instance: Where the run is recorded.
        owner: By whose name a run is found whose process is gone.
        platform: The resource.
        ops: Configuration of its assets, by name.
    """
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with _planned_at_once():
        return job.execute_in_process(
            instance=instance,
            tags={**keys.tags, **_REPOSITORY, CLAIM: owner, LAUNCHED_BY: "cli"},
            resources={"platform": platform},
            run_config={**quiet, **({"ops": dict(ops)} if ops else {})},
        )


@contextmanager
def _planned_at_once() -> Iterator[None]:
    """Let Dagster announce a range with one event instead of one a partition: a third of its time."""
    name = "DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
