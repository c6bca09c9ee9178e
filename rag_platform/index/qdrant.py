"""Collections on a Qdrant server: one server collection a generation, one alias that readers follow.

The collection ``<collection>__<model>__g<n>`` is filled and counted before the alias
``<collection>__<model>`` is switched to it. What only the publisher needs (fingerprints of the documents)
stands below its root; a reader needs nothing but the server.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import re
import shutil
import threading
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rag_platform.errors import DamagedFile, NotPublished, UpstreamError
from rag_platform.index.files import writer_lock
from rag_platform.index.lexicon import StoredLexicon, Tally, following
from rag_platform.index.manifest import (
    Changes,
    Generation,
    check_dim,
    loaded_batches,
    own_recipe,
    seen_recipe,
    slug,
    verify,
)
from rag_platform.index.server import (
    ServerReader,
    ServerWriter,
    server_errors,
    stored_chunks,
    stored_metadata,
    stored_size,
)
from rag_platform.privacy import shown_address
from rag_platform.protocols import Manifest, PointLoader
from rag_platform.storage import storage_errors, write_json

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

__all__ = ["QdrantIndex", "alias_name", "connect"]

logger = logging.getLogger(__name__)

_KEPT_GENERATIONS = 2
_LOOK_EVERY_S = 1.0
"""How old the answer of an alias look-up may be: a new generation is seen this late at most."""


def connect(url: str, api_key: str = "", *, timeout_s: int = 30) -> QdrantClient:
    """Return a client of a server; nothing is sent yet.

    Raises:
        UpstreamError: The URL cannot be one.
    """
    from qdrant_client import QdrantClient

    try:
        return QdrantClient(url=url, api_key=api_key or None, timeout=timeout_s, check_compatibility=False)
    except ValueError:
        raise UpstreamError(
            f"QDRANT_URL {shown_address(url)!r} is not the URL of a server, as http://localhost:6333 is"
        ) from None


class QdrantIndex:
    """Publishes and opens generations on a server.

    Args:
        client: A client of the server; ``QdrantClient(":memory:")`` serves tests.
        root: Folder of the publisher's manifests and locks, usually ``RAG_HOME/collections``.
        hnsw_ef: Search width of the vector graph.
        lock_timeout_s: How long ``publish`` waits for another publisher of this root before ``Busy``.
    """

    def __init__(
        self, client: QdrantClient, root: Path, *, hnsw_ef: int = 256, lock_timeout_s: float = 5.0
    ) -> None:
        self._client, self.root = client, root
        self._hnsw_ef, self._lock_timeout_s = hnsw_ef, lock_timeout_s
        self._looked: tuple[float, dict[str, str]] | None = None
        self._lock = threading.Lock()

    def version(self, collection: str, model: str) -> str | None:
        """Return the name of the current server collection, at most a second old."""
        with self._lock:
            looked = self._looked
            if looked is None or time.monotonic() - looked[0] > _LOOK_EVERY_S:
                looked = self._looked = (time.monotonic(), self._aliases())
        return looked[1].get(alias_name(collection, model))

    def current(self, collection: str, model: str) -> Manifest | None:
        """Return the manifest of the published generation, or None before the first.

        Its ``documents`` are empty where another machine published it.
        """
        generation = self._published(collection, model)
        return generation.manifest if generation else None

    def published(self) -> list[Manifest]:
        """Return the current manifest of every published (collection, model), by name."""
        found = []
        for alias, name in self._aliases().items():
            if name.startswith(f"{alias}__g"):
                stored = stored_metadata(self._client, name)
                if {"collection", "model"} <= stored.keys():
                    found.append(self._generation(stored["collection"], stored["model"], name).manifest)
        return sorted(found, key=lambda manifest: (manifest.collection, manifest.model))

    def open(self, collection: str, model: str) -> ServerReader:
        """Open the published generation.

        Raises:
            NotPublished: There is none yet.
        """
        manifest = self.current(collection, model)
        if manifest is None:
            raise NotPublished(
                f"nothing is published for collection {collection!r} and model {model!r};"
                " ingest documents first"
            )
        return ServerReader(
            self._client,
            manifest,
            hnsw_ef=self._hnsw_ef,
            load_lexicon=lambda: self._lexicon(manifest),
        )

    def publish(
        self,
        collection: str,
        model: str,
        *,
        dim: int,
        recipe: str,
        documents: Mapping[str, str],
        load: PointLoader,
        rebuild: bool = False,
    ) -> Manifest:
        """Make the published generation hold exactly ``documents``; see ``protocols.Index.publish``."""
        alias = alias_name(collection, model)
        with self._writer(collection, model):
            old = self._published(collection, model)
            check_dim(old, dim, rebuild=rebuild)
            usable = old and old.manifest.recipe == recipe and old.manifest.points == sum(old.counts.values())
            base = old if usable and not rebuild else None
            if base and base.manifest.documents == dict(documents):
                return base.manifest
            self._sweep(collection, model, old.manifest.generation if old else 0)
            n = old.manifest.generation + 1 if old else 1
            empty = Manifest(collection, model, n, 0, dim, recipe, dict(documents), f"{alias}__g{n}", alias)
            manifest = self._build(base, empty, load)
            self._sweep(collection, model, n)
            return manifest

    def _build(self, base: Generation | None, manifest: Manifest, load: PointLoader) -> Manifest:
        """Fill, verify, and switch; whatever fails leaves the old generation."""
        build = uuid.uuid4().hex
        writer = ServerWriter.create(self._client, manifest, {"build": build, "index_recipe": own_recipe()})
        try:
            counts = _fill(writer, base, manifest, load)
            manifest = dataclasses.replace(manifest, points=sum(counts.values()))
            generation = Generation(manifest, counts)
            before = self._lexicon(base.manifest) if base else StoredLexicon.of(Tally())
            chunks = partial(stored_chunks, self._client, manifest.address)
            lexicon = following(before, added=writer.added, removed=writer.removed, chunks=chunks)
            lexicon.replace(self._lexicon_folder(manifest, build))
            write_json(self._manifest_path(manifest), generation.to_json() | {"build": build})
            self._switch(manifest.alias, manifest.address)
        except BaseException:
            writer.abandon()
            raise
        return manifest

    def _lexicon(self, manifest: Manifest) -> StoredLexicon:
        """Return the lexicon of a generation, counted here where another machine published it."""
        build = stored_metadata(self._client, manifest.address).get("build", "")
        folder = self._lexicon_folder(manifest, build)
        try:
            return StoredLexicon.open(folder, manifest.points)
        except DamagedFile as error:
            logger.warning("all chunks of %s are read to count their words: %s", manifest.address, error)
        lexicon = StoredLexicon.of(Tally(stored_chunks(self._client, manifest.address)))
        try:
            lexicon.replace(folder)
            _sweep_files(folder.parent, range(manifest.generation - 1, manifest.generation + 1))
        except OSError as error:
            logger.warning("they will be counted again, as %s cannot be written: %s", folder, error)
        return lexicon

    def _lexicon_folder(self, manifest: Manifest, build: str) -> Path:
        return self._folder(manifest.collection, manifest.model) / f"{manifest.generation}.{build}.lexicon"

    def _published(self, collection: str, model: str) -> Generation | None:
        name = self._aliases().get(alias_name(collection, model))
        return self._generation(collection, model, name) if name else None

    def _generation(self, collection: str, model: str, name: str) -> Generation:
        """Return what the server says of a generation, with the publisher's part where that is ours."""
        alias, _, number = name.rpartition("__g")
        stored = stored_metadata(self._client, name)
        points, dim = stored_size(self._client, name)
        manifest = Manifest(collection, model, int(number), points, dim, seen_recipe(stored), {}, name, alias)
        path = self._manifest_path(manifest)
        with storage_errors("read", path):
            own = json.loads(path.read_bytes()) if path.exists() else {}
        if not own or own["build"] != stored.get("build"):
            return Generation(manifest, {})
        generation = Generation.from_json(own, address=name, alias=alias)
        return Generation(dataclasses.replace(generation.manifest, points=points), generation.counts)

    def _folder(self, collection: str, model: str) -> Path:
        return self.root / slug(collection) / slug(model) / "server"

    def _manifest_path(self, manifest: Manifest) -> Path:
        return self._folder(manifest.collection, manifest.model) / f"{manifest.generation}.json"

    def _aliases(self) -> dict[str, str]:
        with server_errors(self._client, "read", "the aliases"):
            found = self._client.get_aliases().aliases
        return {one.alias_name: one.collection_name for one in found}

    def _switch(self, alias: str, name: str) -> None:
        """Point the alias at a generation in one step, and let this process see it at once."""
        from qdrant_client import models

        create = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
        )
        delete = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        operations: list[models.CreateAliasOperation | models.DeleteAliasOperation] = [create]
        if alias in self._aliases():
            operations.insert(0, delete)
        with server_errors(self._client, "switch", alias):
            self._client.update_collection_aliases(change_aliases_operations=operations)
        with self._lock:
            self._looked = None

    def _sweep(self, collection: str, model: str, current: int) -> None:
        """Remove unfinished builds and all but the current generation and the one before."""
        alias = alias_name(collection, model)
        with server_errors(self._client, "read", "the collections"):
            names = [one.name for one in self._client.get_collections().collections]
        numbers = {
            int(m[1]): m[0] for name in names if (m := re.fullmatch(rf"{re.escape(alias)}__g(\d+)", name))
        }
        kept = sorted(n for n in numbers if n <= current)[-_KEPT_GENERATIONS:]
        for n in numbers.keys() - set(kept):
            with server_errors(self._client, "remove", numbers[n]):
                self._client.delete_collection(numbers[n])
        _sweep_files(self._folder(collection, model), kept)

    @contextlib.contextmanager
    def _writer(self, collection: str, model: str) -> Iterator[None]:
        """Hold the lock of this root's publishers."""
        folder = self._folder(collection, model)
        with storage_errors("write", folder), writer_lock(folder, self._lock_timeout_s):
            yield


def alias_name(collection: str, model: str) -> str:
    """Return the alias that readers of a (collection, model) follow.

    >>> alias_name("nepali_docs", "intfloat/multilingual-e5-small")
    'nepali_docs__intfloat--multilingual-e5-small'
    """
    return f"{slug(collection)}__{slug(model)}"


def _sweep_files(folder: Path, kept: Collection[int]) -> None:
    """Remove manifests and lexicons of other generations."""
    for path in (*folder.glob("*.json"), *folder.glob("*.lexicon")):
        if path.name.partition(".")[0] not in map(str, kept):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _fill(
    writer: ServerWriter, base: Generation | None, manifest: Manifest, load: PointLoader
) -> dict[str, int]:
    """Write and verify the points of the next generation and return their number a document."""
    changes = Changes.between(base, manifest.documents)
    loaded: Counter[str] = Counter()
    if base:
        writer.copy(base.manifest.address, changes.kept.keys())
    for batch in loaded_batches(load, changes, manifest.dim, loaded):
        writer.upsert(batch)
    counts = {**changes.kept, **loaded}
    verify(counts, writer.counts(), manifest.address)
    return counts
