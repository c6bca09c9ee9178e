"""The latest published generations, opened: each once, and anew only when there is a newer one.

What is searched in them stands in ``search``.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

from rag_platform.errors import CallerError, NotPublished, UnknownName
from rag_platform.protocols import CollectionReader, Index

__all__ = ["Key", "Opened", "Openings"]

Key = tuple[str, str]
"""A collection and an embedding model."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A reader with the version it was opened at; replaced as a whole, never changed.

    Attributes:
        serial: No two openings of this process have the same, so that no result outlives its generation.
    """

    version: str
    reader: CollectionReader
    serial: int


class Openings:
    """Opened generations; safe to share between threads. Old readers are dropped, not closed."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._serials = itertools.count()
        self._opened: dict[Key, Opened] = {}
        self._opening: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    def latest(self, key: Key) -> Opened:
        """Return the latest generation; while one thread opens a new one, the others go on with the old.

        Raises:
            UnknownName: Nothing is published under this collection or model, but under others.
            NotPublished: Nothing is published at all.
        """
        version, opened = self.version(key), self._opened.get(key)
        if opened and opened.version == version:
            return opened
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        if opened and opening.locked():
            return opened
        with opening:
            version, opened = self.version(key), self._opened.get(key)
            if not opened or opened.version != version:
                opened = Opened(version, self._index.open(*key), next(self._serials))
                self._opened[key] = opened
            return opened

    def version(self, key: Key) -> str:
        """Return what changes with every generation, of the latest.

        Raises:
            UnknownName: Nothing is published under this collection or model, but under others.
            NotPublished: Nothing is published at all.
        """
        version = self._index.version(*key)
        if version is None:
            self.forget(key)
            raise self._unpublished(*key)
        return version

    def forget(self, key: Key) -> None:
        """Open it anew the next time: it is gone."""
        self._opened.pop(key, None)

    def _unpublished(self, collection: str, model: str) -> CallerError | NotPublished:
        published = self._index.published()
        if not published:
            return NotPublished("nothing is published yet; ingest documents first: rag ingest PATH")
        models = [manifest.model for manifest in published if manifest.collection == collection]
        if not models:
            known = {manifest.collection for manifest in published}
            return UnknownName("published collection", collection, known)
        return UnknownName("published model", model, models)
