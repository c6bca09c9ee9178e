"""The files of a set as a collection of the platform: copied into the inbox, read and cut as all documents.

The stages are the pipeline's own. Who drives them comes in: here the library alone does, the command line
has Dagster do it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from rag_platform import pipeline
from rag_platform.entries import Entry
from rag_platform.errors import Busy, InvalidDataset, StorageError
from rag_platform.evaluation.datasets import Dataset, Member
from rag_platform.storage import copy_file, sha256_of
from rag_platform.sweeping.request import collection_of
from rag_platform.system import System
from rag_platform.types import Document

__all__ = ["Ingest", "by_library", "drop_files", "has_files", "read_documents"]

Ingest = Callable[[System, Sequence[tuple[str, str]], Sequence[str]], None]
"""Brings (collection, source) documents to published collections of some models."""


def has_files(dataset: Dataset) -> bool:
    """Say whether a set's documents are files, not passages."""
    return any(member.path is not None for members in dataset.collections.values() for member in members)


def drop_files(system: System, dataset: Dataset) -> list[tuple[str, str]]:
    """Copy a set's files into the inbox of its collection, remove what it has no more, return the sources."""
    collection = collection_of(dataset)
    system.catalog.create_collection(collection)
    members = {member.source: member for some in dataset.collections.values() for member in some}
    for member in members.values():
        _copy(system, collection, member)
    listing = system.inbox.scan(system.catalog.collections())
    wanted = [(collection, source) for source in members]
    system.catalog.observe(listing, now=time.time(), quiet_s=system.settings.quiet_s, complete=wanted)
    for entry in system.catalog.entries(collection):
        if entry.source not in members:
            pipeline.delete(system, collection, entry.source)
    return wanted


def _copy(system: System, collection: str, member: Member) -> None:
    if member.path is None:
        raise InvalidDataset(f"{member.source!r} is a passage among files; a set has one or the other")
    target = system.inbox.path(collection, member.source)
    if not target.is_file() or sha256_of(target) != sha256_of(member.path):
        copy_file(member.path, target)


def by_library(system: System, sources: Sequence[tuple[str, str]], models: Sequence[str]) -> None:
    """Do what is stale of these documents and models in this process, without a record in Dagster.

    Raises:
        Busy: Another process is ingesting one of them.
    """
    owner = f"sweep:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    wanted = set(sources)
    system.catalog.claim(owner, alive=lambda _: True, sources=sources)
    try:
        entries = _mine(system, wanted)
        others = [entry for entry in entries if entry.owner not in (None, owner)]
        if others:
            raise Busy(
                f"{others[0].source!r} is being ingested by {others[0].owner}; repeat when that is done"
            )
        keys = {entry.partition for entry in entries}
        due = [key for key in pipeline.plan(system, [], owner=owner).documents if key in keys]
        for stage in (pipeline.raw_documents, pipeline.pages, pipeline.chunks):
            if due:
                stage(system, due)
        system.catalog.finish(owner)
    except BaseException:
        system.catalog.release(owner)
        raise
    for model in models:
        todo = pipeline.plan(system, [model], owner=owner)
        for name, partitions in todo.embed.items():
            mine = [key for key in partitions if key in keys]
            if mine:
                pipeline.embeddings(system, mine, name)
        if pipeline.plan(system, [model], owner=owner).publish:
            pipeline.publish(system, model)


def read_documents(system: System, dataset: Dataset) -> Mapping[str, Mapping[str, Document]]:
    """Return the documents of a set as they stand in the table of pages.

    Raises:
        InvalidDataset: One could not be read: without it the measures would say something else.
    """
    collection = collection_of(dataset)
    found = {}
    for entry in system.catalog.entries(collection):
        if entry.failure is not None:
            raise InvalidDataset(f"{entry.source!r} of the set cannot be used: {entry.failure.message}")
        found[entry.source] = pipeline.document(system, entry)
    missing = {member.source for some in dataset.collections.values() for member in some} - found.keys()
    if missing:
        raise StorageError(
            f"{sorted(missing)[0]!r} of the set did not arrive in {collection!r}; repeat the sweep"
        )
    return dict.fromkeys(dataset.collections, found)


def _mine(system: System, wanted: set[tuple[str, str]]) -> list[Entry]:
    return [entry for entry in system.catalog.entries() if (entry.collection, entry.source) in wanted]
