"""What the catalog says of a document, as values: its stages, its status, its partition key.

How they are stored and claimed is the catalog's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import regex

from rag_platform.types import ALL_KINDS, Failure, Kind, Status, document_id, fingerprint

__all__ = ["Entry", "Observed", "StageRecord", "partition_key"]

_SLUG_BYTES = 60


def partition_key(collection: str, source: str) -> str:
    """Return the partition of a document: a readable slug and a hash of its identity.

    Safe as a Dagster key and as a file name: letters, marks, digits and single hyphens only.

    >>> partition_key("nepali_docs", "ऐन/नागरिकता ऐन, २०६३.pdf").rsplit("-", 1)[0]
    'नागरिकता-ऐन-२०६३-pdf'
    """
    name = source.rsplit("/", 1)[-1]
    slug = regex.sub(r"[^\p{L}\p{M}\p{N}]+", "-", name).strip("-")
    cut = ""
    for cluster in regex.findall(r"\X", slug):
        if len((cut + cluster).encode()) > _SLUG_BYTES:
            break
        cut += cluster
    return f"{cut.strip('-') or 'document'}-{fingerprint(document_id(collection, source))[:12]}"


@dataclass(frozen=True, slots=True)
class StageRecord:
    """The last outcome of one stage for one document."""

    fingerprint: str
    n_rows: int
    measures: Mapping[str, int | float | str] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A document as the catalog knows it; ``stages`` maps a stage's name to its last outcome."""

    document_id: str
    collection: str
    source: str
    partition: str
    claimed: str | None
    owner: str | None
    deleted: bool
    updated_at: float
    stages: Mapping[str, StageRecord]

    @property
    def failure(self) -> Failure | None:
        """The first stage's failure, in the order of the stages."""
        order = ("raw_documents", "pages", "chunks")
        for stage in (*order, *(s for s in self.stages if s not in order)):
            record = self.stages.get(stage)
            if record is not None and record.failure is not None:
                return record.failure
        return None

    @property
    def status(self) -> Status:
        """``deleted``, ``failed``, ``unsupported``, ``pending``, ``empty`` or ``ok``."""
        if self.deleted:
            return "deleted"
        failure = self.failure
        if failure is not None:
            return "unsupported" if failure.code == "unsupported_format" else "failed"
        chunks = self.stages.get("chunks")
        if chunks is None:
            return "pending"
        return "ok" if chunks.n_rows else "empty"

    @property
    def format(self) -> str:
        """Format by content, empty before the document was parsed."""
        return str(self._measure("pages", "format", ""))

    @property
    def content_sha256(self) -> str:
        """Digest of the bytes, empty before they were read."""
        return str(self._measure("raw_documents", "content_sha256", ""))

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return int(self._measure("raw_documents", "n_bytes", 0))

    @property
    def given(self) -> str:
        """Fingerprint of the fields that its owner gave it, empty without any."""
        return str(self._measure("raw_documents", "given", ""))

    @property
    def languages(self) -> str:
        """Tesseract languages that its owner wants for it, empty for those of the settings."""
        return str(self._measure("raw_documents", "languages", ""))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds that its owner wants of it, empty for those of the settings."""
        wanted = str(self._measure("raw_documents", "kinds", "")).split(",")
        return tuple(kind for kind in ALL_KINDS if kind in wanted)

    @property
    def n_pages(self) -> int:
        """Number of pages."""
        return self.stages["pages"].n_rows if "pages" in self.stages else 0

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return self.stages["chunks"].n_rows if "chunks" in self.stages else 0

    def _measure(self, stage: str, name: str, default: int | float | str) -> int | float | str:
        record = self.stages.get(stage)
        return default if record is None else record.measures.get(name, default)


@dataclass(frozen=True, slots=True)
class Observed:
    """What one look at the inbox found."""

    n_new: int
    n_changed: int
    n_waiting: int
    vanished: tuple[Entry, ...]
