"""Ingestion in this process by the stages alone: what the library and the service do without orchestration.

The same plan, the same claims in the same catalog as every other way in, so that two of them never take one
document. How a stage works stands in ``pipeline``; what is stale, in ``plan``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rag_platform import pipeline
from rag_platform.claims import Owner, new_owner, process_lives
from rag_platform.entries import Entry
from rag_platform.errors import Busy, CallerError
from rag_platform.plan import embedding_table, plan
from rag_platform.protocols import Manifest
from rag_platform.stages import Progress
from rag_platform.states import Ingested
from rag_platform.system import System
from rag_platform.types import document_id

__all__ = ["Source", "ingest", "outcome"]

_log = logging.getLogger(__name__)

Source = tuple[str, str]
"""A document by its collection and its path below that collection's inbox."""

_POLL_S = 0.5
_PUBLISH_TRIES = 60
_SENSOR_S = 3600.0
"""How long a sensor's claim is believed whose process is gone: its runs, unknown here, may still go on."""


def ingest(
    system: System,
    sources: Sequence[Source],
    *,
    password: str = "",
    force: bool = False,
    progress: Progress | None = None,
) -> list[Ingested]:
    """Take documents that lie whole in the inbox to the published collection, and deleted ones out of it.

    Args:
        system: The wired platform.
        sources: Documents in the inbox, or deleted ones, whose points are to go.
        password: Tried first on locked PDFs; stored nowhere.
        force: Do everything again for them, current or not.
        progress: Told of every document as a stage is done with it.

    Returns:
        What became of each, in order; a document's own failure stands there and stops no other.

    Raises:
        RagError: Something that is no single document's fault.
    """
    worked: set[str] = set()

    def note(done: pipeline.Outcome) -> None:
        if done.status != "unchanged":
            worked.add(done.document_id)
        if progress is not None:
            progress(done)

    reading = system.with_password(password) if password else system
    if reading.settings.pdf_passwords:
        pipeline.retry_locked(reading, sources)
    listing = system.inbox.scan(system.catalog.collections())
    system.catalog.observe(
        listing, now=time.time(), quiet_s=system.settings.quiet_s, complete=frozenset(sources)
    )
    models = system.embedders()
    work = _Work(reading, new_owner("library"), sources, models, note)
    try:
        work.run(force=force)
    except BaseException:
        system.catalog.release(work.owner)
        raise
    _open_latest(system, {collection for collection, _ in sources})
    return [outcome(system, source, worked=document_id(*source) in worked) for source in sources]


def outcome(system: System, source: Source, *, worked: bool = True) -> Ingested:
    """Return what is known of a document now; ``worked`` says whether anything was done for it.

    Raises:
        UnknownName: There never was such a document.
    """
    collection, name = source
    entry = system.catalog.known(document_id(collection, name))
    model = system.embedding().name
    manifest = system.index.current(collection, model)
    return Ingested(
        collection_name=collection,
        filename=entry.source,
        pages_extracted=entry.n_pages,
        chunks_created=entry.n_chunks,
        chunks_indexed=_indexed(entry, manifest, model),
        document_id=entry.document_id,
        status="unchanged" if entry.status in ("ok", "empty") and not worked else entry.status,
        failure=entry.failure,
        generation=manifest.generation if manifest else 0,
    )


def _open_latest(system: System, collections: Iterable[str]) -> None:
    """Open the new generations now: a search that finds one being opened is answered from the old one."""
    model = system.embedding().name
    for collection in collections:
        if system.index.current(collection, model) is not None:
            system.searcher.reader(collection, model)


def _indexed(entry: Entry, manifest: Manifest | None, model: str) -> int:
    embedded = entry.stages.get(embedding_table(model))
    if manifest is None or embedded is None:
        return 0
    current = manifest.documents.get(entry.document_id) == embedded.fingerprint
    return embedded.n_rows if current else 0


@dataclass(frozen=True, slots=True)
class _Work:
    """One call of ``ingest``."""

    system: System
    owner: str
    sources: Sequence[Source]
    models: Sequence[str]
    progress: Progress

    def run(self, *, force: bool) -> None:
        if force:
            pipeline.forget(self.system, self.entries())
        self.documents()
        for model, partitions in self.plan(self.models).embed.items():
            pipeline.embeddings(self.system, self.mine(partitions), model, progress=self.progress)
        published = self.system.published_models()
        stale = self.plan(list(dict.fromkeys([*self.models, *published]))).publish
        for model in dict.fromkeys([*stale, *(self.models if force else ())]):
            _until_free(lambda model=model: pipeline.publish(self.system, model))  # type: ignore[misc]

    def documents(self) -> None:
        """Claim and work until no document is due, and none is in the hands of another."""
        catalog = self.system.catalog
        first = True
        while True:
            claimed = catalog.claim(self.owner, alive=_alive, sources=list(self.sources))
            if claimed or first:
                stale = self.mine(self.plan(self.models).documents)
                for stage in (pipeline.raw_documents, pipeline.pages, pipeline.chunks):
                    stage(self.system, stale, progress=self.progress)
                catalog.finish(self.owner)
            others = any(entry.owner for entry in self.entries())
            if not others and not claimed:
                return  # only now: what another gave back meanwhile is due again
            if others:
                time.sleep(_POLL_S)
            first = False

    def entries(self) -> list[Entry]:
        wanted = {document_id(*source) for source in self.sources}
        return [entry for entry in self.system.catalog.entries() if entry.document_id in wanted]

    def mine(self, partitions: Iterable[str]) -> list[str]:
        mine = {entry.partition for entry in self.entries()}
        return [key for key in partitions if key in mine]

    def plan(self, models: Sequence[str]) -> pipeline.Plan:
        return plan(self.system, models, owner=self.owner)


def _until_free(publish: Callable[[], object]) -> None:
    """Publish once no other process does."""
    for _ in range(_PUBLISH_TRIES):
        try:
            publish()
            return
        except Busy as error:
            _log.info("waiting: %s", error)
            time.sleep(_POLL_S)
    publish()


def _alive(name: str) -> bool:
    """Judge an owner by its process; what became of a sensor's runs cannot be asked here."""
    try:
        owner = Owner.parse(name)
    except CallerError:
        return False
    now = time.time()
    return process_lives(owner, now) or (owner.kind == "sensor" and now - owner.claimed_at < _SENSOR_S)
