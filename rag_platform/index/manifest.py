"""What all engines share: names on disk and server, payloads, manifests as JSON, what changed.

No engine is touched here.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from rag_platform.errors import DamagedFile, DimensionMismatch, StorageError
from rag_platform.index import lexical, lexicon
from rag_platform.index.filters import TAGS, tags
from rag_platform.protocols import Manifest, PointBatch, PointLoader
from rag_platform.text.analyze import ALL
from rag_platform.types import AnalyzerOptions, Chunk, fingerprint

__all__ = [
    "BATCH_POINTS",
    "DENSE",
    "LEXICAL",
    "Changes",
    "Generation",
    "check_dim",
    "check_vector",
    "chunk_from",
    "loaded_batches",
    "own_recipe",
    "payload",
    "seen_recipe",
    "slug",
    "verify",
]

DENSE = "dense"
LEXICAL = "lexical"
BATCH_POINTS = 500
"""Points written at once, so that memory and requests stay bounded whatever the loader yields."""

_LAYOUT = "points/7"
_CHUNK_FIELDS = tuple(field.name for field in fields(Chunk))


def own_recipe(analyzer: AnalyzerOptions = ALL) -> str:
    """Return what the index itself adds to a caller's recipe: analyzer, weights, lexicon, points."""
    return fingerprint(lexical.recipe(analyzer), lexicon.RECIPE, _LAYOUT)


def seen_recipe(stored: Mapping[str, Any], analyzer: AnalyzerOptions = ALL) -> str:
    """Return the publisher's recipe of a stored generation, or, made by another index, one nobody has."""
    recipe: str = stored.get("recipe", "")
    own = stored.get("index_recipe", "")
    return recipe if own == own_recipe(analyzer) else fingerprint(recipe, own)


def slug(name: str) -> str:
    """Return a name for folders and servers, readable, and different for different names.

    >>> slug("intfloat/multilingual-e5-small")
    'intfloat--multilingual-e5-small'
    >>> slug("a/b-c") == slug("a-b/c")
    False
    """
    name = unicodedata.normalize("NFC", name)
    parts = name.split("/")
    if all(map(_is_plain, parts)) and len(name.encode()) <= 120:
        return "--".join(parts)
    kept = "".join(char if _is_safe(char) else "-" for char in name)[:40]
    kept = re.sub(r"([-_.])[-_.]+", r"\1", kept).strip("-_.")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return "-".join(filter(None, (kept, digest)))


def _is_plain(part: str) -> bool:
    """Tell whether a part may stand as it is: no character or sequence that a slug itself uses."""
    edges = (part[:1], part[-1:])
    clean = all(map(_is_safe, part)) and "--" not in part and "__" not in part
    return bool(part) and clean and not set(edges) & set("-._")


def _is_safe(char: str) -> bool:
    return char in "-._" or unicodedata.category(char)[0] in "LMN"


def payload(chunk: Chunk) -> dict[str, Any]:
    """Return the stored fields of a point: those of ``Chunk``, and the tags that filters look up."""
    stored = {name: getattr(chunk, name) for name in _CHUNK_FIELDS}
    return {
        **stored,
        "fields": {name: list(values) for name, values in chunk.fields.items()},
        TAGS: tags(chunk),
    }


def chunk_from(stored: Mapping[str, Any]) -> Chunk:
    """Return the chunk of a payload; fields that others added are ignored."""
    fields_ = {name: tuple(values) for name, values in stored["fields"].items()}
    return Chunk(**{**{name: stored[name] for name in _CHUNK_FIELDS}, "fields": fields_})


@dataclass(frozen=True, slots=True)
class Generation:
    """A manifest with what only the publisher needs: the points of each document, and the analyzer."""

    manifest: Manifest
    counts: Mapping[str, int]
    analyzer: AnalyzerOptions = ALL

    def to_json(self) -> dict[str, Any]:
        """Return a JSON value; address and alias are left out, they follow from where it stands."""
        own = own_recipe(self.analyzer)
        value = asdict(self.manifest) | {"counts": dict(self.counts), "index_recipe": own}
        return {name: value[name] for name in value if name not in {"address", "alias"}}

    @classmethod
    def from_json(
        cls, value: Mapping[str, Any], *, address: str, alias: str, analyzer: AnalyzerOptions = ALL
    ) -> Self:
        """Return the generation that ``to_json`` wrote, as an index with this analyzer sees it.

        Its recipe is the publisher's, so that publishers compare their own; one that was made with another
        analyzer or layout than this program's gets a recipe that no publisher has.

        Raises:
            DamagedFile: A field is missing.
        """
        names = {field.name for field in fields(Manifest)} - {"address", "alias"}
        present = set(value) if isinstance(value, dict) else set()
        if missing := sorted((names | {"counts", "index_recipe"}) - present):
            raise DamagedFile(
                f"the manifest of {address} lacks {missing}; publish again (rag ingest --force)"
            )
        named = {name: value[name] for name in names}
        named["recipe"] = seen_recipe(value, analyzer)
        return cls(Manifest(**named, address=address, alias=alias), value["counts"], analyzer)


@dataclass(frozen=True, slots=True)
class Changes:
    """What leads from one generation to the next, by document id.

    Attributes:
        delete: Documents whose points go: removed or changed.
        load: Documents whose points come: new or changed, sorted.
        kept: Number of points of each document that stays as it is.
    """

    delete: tuple[str, ...]
    load: tuple[str, ...]
    kept: Mapping[str, int]

    @classmethod
    def between(cls, old: Generation | None, documents: Mapping[str, str]) -> Self:
        """Return the changes from ``old`` (None: from nothing) to ``documents``."""
        before = old.manifest.documents if old else {}
        load = tuple(sorted(key for key, print_ in documents.items() if before.get(key) != print_))
        delete = tuple(sorted(key for key, print_ in before.items() if documents.get(key) != print_))
        gone = set(delete)
        kept = {key: n for key, n in old.counts.items() if key not in gone} if old else {}
        return cls(delete, load, kept)


def check_dim(old: Generation | None, dim: int, *, rebuild: bool) -> None:
    """Refuse vectors of another size than the published ones, unless all is built anew on purpose.

    Raises:
        DimensionMismatch: The sizes differ.
    """
    if old and old.manifest.dim != dim and not rebuild:
        manifest = old.manifest
        raise DimensionMismatch(
            f"collection {manifest.collection!r} holds vectors of size {manifest.dim} of model"
            f" {manifest.model!r}, these have size {dim}; use another collection, or build this"
            " one anew: rag ingest --force PATH"
        )


def check_vector(manifest: Manifest, shape: Sequence[int]) -> None:
    """Refuse a query vector of another size.

    Raises:
        DimensionMismatch: It has.
    """
    if tuple(shape) != (manifest.dim,):
        raise DimensionMismatch(
            f"collection {manifest.collection!r} holds vectors of size {manifest.dim} of model"
            f" {manifest.model!r}, the query vector has shape {tuple(shape)}; encode with that model"
        )


def loaded_batches(
    load: PointLoader, changes: Changes, dim: int, counts: Counter[str]
) -> Iterator[PointBatch]:
    """Yield the points to write in bounded batches, checked, counting distinct ones a document.

    Args:
        load: The publisher's source of points.
        changes: Which documents to load.
        dim: Vector size.
        counts: Filled on the way: ``document_id`` -> number of points.

    Raises:
        DimensionMismatch: A batch has vectors of another size.
    """
    counts.update(dict.fromkeys(changes.load, 0))
    for batch in load(changes.load) if changes.load else ():
        if batch.vectors.shape != (len(batch.chunks), dim):
            raise DimensionMismatch(
                f"{len(batch.chunks)} chunks came with vectors of shape {batch.vectors.shape},"
                f" expected ({len(batch.chunks)}, {dim}); embed these documents again"
            )
        for chunk in batch.chunks:
            if chunk.document_id not in counts:
                raise ValueError(
                    f"the loader yielded document {chunk.document_id!r}, which was not asked for"
                )
            counts[chunk.document_id] += 1
        for start in range(0, len(batch.chunks), BATCH_POINTS):
            part = slice(start, start + BATCH_POINTS)
            yield PointBatch(batch.chunks[part], batch.vectors[part])


def verify(expected: Mapping[str, int], stored: Mapping[str, int], where: str) -> None:
    """Compare the number of points a document with what the engine holds.

    Raises:
        StorageError: They differ, so this generation must not be published.
    """
    wanted = {key: n for key, n in expected.items() if n}
    if wrong := sorted(key for key in wanted.keys() | stored.keys() if wanted.get(key) != stored.get(key)):
        key = wrong[0]
        raise StorageError(
            f"{where} holds {stored.get(key, 0)} points of document {key}, expected {wanted.get(key, 0)}"
            f" ({len(wrong)} documents differ); nothing was published, publish again with rebuild"
        )
