"""Collections in the embedded engine: generations in folders, one pointer file, one writer.

    <root>/<collection>/<model>/CURRENT                        the number of the published generation
    <root>/<collection>/<model>/generations/<n>/manifest.json
    <root>/<collection>/<model>/generations/<n>/shard/         the engine's files
    <root>/<collection>/<model>/generations/<n>/lexicon/       term and word counts
    <root>/<collection>/<model>/generations/<n>.building/      not published yet; nobody reads it
    <root>/<collection>/<model>/generations/<n>.removed/       on its way out
    <root>/<collection>/<model>/writer.lock

The next generation is a copy of the last with its changes, or built from nothing; it is verified before
``CURRENT`` names it. The engine itself is called in ``shard``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from rag_platform.errors import DamagedFile, NotPublished, StorageError
from rag_platform.index.files import (
    allocated_bytes,
    copy_tree,
    require_space,
    sync_folder,
    sync_tree,
    writer_lock,
)
from rag_platform.index.lexicon import StoredLexicon, Tally, following
from rag_platform.index.manifest import (
    Changes,
    Generation,
    check_dim,
    loaded_batches,
    slug,
    verify,
)
from rag_platform.index.shard import (
    SPARE_BYTES,
    ShardReader,
    ShardWriter,
    chunks_on_disk,
    counts_on_disk,
    lexicon_folder,
)
from rag_platform.protocols import Manifest, PointLoader
from rag_platform.storage import atomic, storage_errors, write_json
from rag_platform.text.analyze import ALL
from rag_platform.types import AnalyzerOptions

__all__ = ["EdgeIndex"]

logger = logging.getLogger(__name__)

_KEPT_GENERATIONS = 2
_OPEN_ATTEMPTS = 5
_REMEDY = "publish again: rag ingest --force PATH builds the collection anew"


class EdgeIndex:
    """Publishes and opens generations below one folder.

    Args:
        root: Usually ``RAG_HOME/collections``.
        hnsw_ef: Search width of the vector graph.
        lock_timeout_s: How long ``publish`` waits for another publisher before ``Busy``.
        analyzer: How passages become terms, and their questions with them; something is left out only to
            measure what it is worth.
    """

    def __init__(
        self,
        root: Path,
        *,
        hnsw_ef: int = 256,
        lock_timeout_s: float = 5.0,
        analyzer: AnalyzerOptions = ALL,
    ) -> None:
        self.root, self._hnsw_ef, self._lock_timeout_s = root, hnsw_ef, lock_timeout_s
        self._analyzer = analyzer

    def folder(self, collection: str, model: str) -> Path:
        """Return the folder of all generations of one (collection, model)."""
        return self.root / slug(collection) / slug(model)

    def version(self, collection: str, model: str) -> str | None:
        """Return a token that changes with every switch of generation; costs one small read."""
        pointer = self.folder(collection, model) / "CURRENT"
        try:
            stat = pointer.stat()
            return f"{_text(pointer)}:{stat.st_ino}:{stat.st_mtime_ns}"
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"cannot read {pointer}: {error.strerror}; check its permissions") from error

    def current(self, collection: str, model: str) -> Manifest | None:
        """Return the manifest of the published generation, or None where one starts from nothing.

        That is before the first, and also when pointer or manifest is damaged, which the log tells.
        """
        generation = self._usable(self.folder(collection, model))
        return generation.manifest if generation else None

    def published(self) -> list[Manifest]:
        """Return the current manifest of every published (collection, model), by name; no damaged one."""
        with storage_errors("read", self.root):
            folders = [pointer.parent for pointer in self.root.glob("*/*/CURRENT")]
        found = [generation.manifest for generation in map(self._usable, folders) if generation]
        return sorted(found, key=lambda manifest: (manifest.collection, manifest.model))

    def open(self, collection: str, model: str) -> ShardReader:
        """Open the published generation; the reader stays valid whatever is published later.

        Raises:
            NotPublished: There is none yet.
            StorageError: Its files cannot be opened.
        """
        for attempt in range(_OPEN_ATTEMPTS):
            before = self.version(collection, model)
            try:
                generation = self._published(self.folder(collection, model))
                if generation is None:
                    break
                return self._reader(generation.manifest)
            except StorageError:
                # Replaced and removed between reading the pointer and opening the files: look again.
                if attempt + 1 == _OPEN_ATTEMPTS or self.version(collection, model) == before:
                    raise
        raise NotPublished(
            f"nothing is published for collection {collection!r} and model {model!r}; ingest documents first"
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
        folder = self.folder(collection, model)
        with self._writer(folder):
            old = self._last(folder)
            check_dim(old, dim, rebuild=rebuild)
            _sweep(folder, old.manifest.generation if old else None)  # what a killed publisher left
            base = None if rebuild or old is None or old.manifest.recipe != recipe else old
            if base and base.manifest.documents == dict(documents) and self._is_intact(base.manifest):
                return base.manifest
            n = 1 + max(_numbers(folder), default=0)
            empty = Manifest(collection, model, n, 0, dim, recipe, dict(documents), *_address(folder, n))
            manifest = self._build(folder, base, empty, load)
            _sweep(folder, n)
            return manifest

    @contextlib.contextmanager
    def _writer(self, folder: Path) -> Iterator[None]:
        """Hold the writer's lock: two writers on one shard would lose points silently."""
        with storage_errors("write", folder), writer_lock(folder, self._lock_timeout_s):
            (folder / "generations").mkdir(exist_ok=True)
            yield

    def _is_intact(self, manifest: Manifest) -> bool:
        try:
            self._reader(manifest)
        except StorageError as error:
            logger.warning("generation %s cannot be read, it is built anew: %s", manifest.address, error)
            return False
        return True

    def _published(self, folder: Path) -> Generation | None:
        return _published(folder, self._analyzer)

    def _last(self, folder: Path) -> Generation | None:
        """Return what is published, None also when it is damaged: the tables can make it all again."""
        try:
            return self._published(folder)
        except StorageError as error:
            logger.warning("building from nothing: %s", error)
            return None

    def _usable(self, folder: Path) -> Generation | None:
        """Return what is published, None also when it is damaged; a disk that cannot be read is an error."""
        try:
            return self._published(folder)
        except DamagedFile as error:
            logger.warning("%s", error)
            return None

    def _reader(self, manifest: Manifest) -> ShardReader:
        return ShardReader(Path(manifest.address), manifest, hnsw_ef=self._hnsw_ef, analyzer=self._analyzer)

    def _build(
        self, folder: Path, base: Generation | None, manifest: Manifest, load: PointLoader
    ) -> Manifest:
        """Build, verify, and switch; whatever fails leaves the old generation and no leftovers."""
        final = folder / "generations" / str(manifest.generation)
        building = final.with_name(f"{final.name}.building")
        try:
            with storage_errors("build", building):
                counts = _fill(building, base, manifest, load, self._analyzer)
                manifest = dataclasses.replace(manifest, points=sum(counts.values()))
                generation = Generation(manifest, counts, self._analyzer)
                write_json(building / "manifest.json", generation.to_json())
                sync_tree(building)
                building.rename(final)
                sync_folder(final.parent)
                with atomic(folder / "CURRENT") as file:
                    file.write(f"{manifest.generation}\n".encode())
                sync_folder(folder)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        return manifest


def _fill(
    building: Path, base: Generation | None, manifest: Manifest, load: PointLoader, analyzer: AnalyzerOptions
) -> dict[str, int]:
    """Write and verify shard and lexicon of the next generation and return its points a document."""
    building.mkdir()
    changes = Changes.between(base, manifest.documents)
    copied = _copied(base, changes, building / "shard") if base else None
    if copied is None:
        changes = Changes.between(None, manifest.documents)
        empty = StoredLexicon.of(Tally(analyzer=analyzer))
        copied = ShardWriter.create(building / "shard", manifest.dim, analyzer), empty
    shard, lexicon = copied
    loaded: Counter[str] = Counter()
    try:
        for batch in loaded_batches(load, changes, manifest.dim, loaded):
            shard.upsert(batch)
        shard.finish()
    except BaseException:
        shard.abandon()
        raise
    counts = {**changes.kept, **loaded}
    verify(counts, counts_on_disk(shard.folder), str(shard.folder))
    folder = lexicon_folder(shard.folder)
    chunks = partial(chunks_on_disk, shard.folder)
    following(lexicon, added=shard.added, removed=shard.removed, chunks=chunks).save(folder)
    StoredLexicon.open(folder, sum(counts.values()))
    return counts


def _copied(base: Generation, changes: Changes, target: Path) -> tuple[ShardWriter, StoredLexicon] | None:
    """Return a copy of the last generation without its outdated points, and its lexicon with them.

    None when they are damaged.
    """
    source = Path(base.manifest.address)
    if not source.is_dir():
        logger.warning("generation %s is gone, building from nothing", source)
        return None
    require_space(target.parent, allocated_bytes(source) + SPARE_BYTES)
    copy_tree(source, target)
    try:
        lexicon = StoredLexicon.open(lexicon_folder(source), base.manifest.points, base.analyzer)
        shard = ShardWriter.load(target, base.analyzer)
        shard.delete(changes.delete)
        verify(changes.kept, shard.counts(), str(source))
    except StorageError as error:
        logger.warning("generation %s is damaged, building from nothing: %s", source, error)
        shutil.rmtree(target)
        return None
    return shard, lexicon


def _address(folder: Path, n: int) -> tuple[str, str]:
    """Return address and alias of a generation."""
    return str(folder / "generations" / str(n) / "shard"), str(folder / "CURRENT")


def _published(folder: Path, analyzer: AnalyzerOptions) -> Generation | None:
    """Return the generation that ``CURRENT`` names.

    Raises:
        DamagedFile: Pointer or manifest is not what was written.
        StorageError: They cannot be read.
    """
    pointer = folder / "CURRENT"
    with storage_errors("read", pointer):
        if not pointer.exists():
            return None
        text = _text(pointer)
    if not text.isdecimal():
        raise DamagedFile(f"{pointer} holds {text!r} instead of a number; {_REMEDY}")
    address, alias = _address(folder, int(text))
    path = folder / "generations" / text / "manifest.json"
    with storage_errors("read", path):
        if not path.exists():
            raise DamagedFile(f"{pointer} names the generation {text}, but there is no {path}; {_REMEDY}")
        content = path.read_bytes()
    try:
        value = json.loads(content)
    except ValueError as error:
        raise DamagedFile(f"{path} is damaged ({error}); {_REMEDY}") from error
    return Generation.from_json(value, address=address, alias=alias, analyzer=analyzer)


def _text(pointer: Path) -> str:
    return pointer.read_bytes().decode("utf-8", "backslashreplace").strip()


def _numbers(folder: Path) -> list[int]:
    """Return the numbers of the generations on disk."""
    return [int(entry.name) for entry in (folder / "generations").iterdir() if entry.name.isdecimal()]


def _sweep(folder: Path, current: int | None) -> None:
    """Remove unfinished builds and, when ``current`` is known, all but it and the one before."""
    numbers = _numbers(folder)
    kept = numbers if current is None else sorted(n for n in numbers if n <= current)[-_KEPT_GENERATIONS:]
    for entry in list((folder / "generations").iterdir()):
        if entry.name in map(str, kept):
            continue
        # Renamed first: a reader that opens it just now then fails at once, and opens the current one.
        gone = entry if entry.suffix == ".removed" else entry.rename(entry.with_name(f"{entry.name}.removed"))
        try:
            shutil.rmtree(gone)
        except OSError as error:
            logger.warning("%s stays until the next publish: %s", gone, error)
