"""What was embedded once is never embedded again: one SQLite file a model, shared by all processes.

A vector is found by the encoder's recipe, the prompt side and the digest of the prompted text, so it
outlives documents, renames and another chunking. The cache may be deleted at any time: only time is lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock

from rag_platform.errors import Busy, RagError, StorageError
from rag_platform.protocols import Encoder, FloatArray
from rag_platform.storage import storage_errors
from rag_platform.types import Prompt

__all__ = ["EmbeddingCache"]

_WAIT_S = 60.0
_KEYS_A_QUERY = 1_000
_SCHEMA = "CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"


class EmbeddingCache:
    """Vectors on disk by what was embedded; safe for several threads and processes at once.

    Every call opens the file anew (under a millisecond), so an instance holds nothing that a fork or a
    thread could share. A put is one transaction: a killed process loses the batch it was writing.

    Args:
        folder: Where the files are; made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, encoder: Encoder) -> Path:
        """Return the file of a model, for instance ``intfloat--multilingual-e5-small.sqlite``."""
        return self.folder / f"{encoder.name.replace('/', '--')}.sqlite"

    def get_many(self, encoder: Encoder, texts: Sequence[str], prompt: Prompt) -> dict[str, FloatArray]:
        """Return the known vectors by text; a text that was never embedded is not among them."""
        by_key = {_key(encoder, text, prompt): text for text in texts}
        keys, found = list(by_key), {}
        path = self.path(encoder)
        if not keys or not path.exists():
            return {}
        with _opened(path) as connection:
            for start in range(0, len(keys), _KEYS_A_QUERY):
                some = keys[start : start + _KEYS_A_QUERY]
                places = ",".join("?" * len(some))
                rows = connection.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({places})",
                    some,
                )
                for key, blob in rows:
                    found[by_key[key]] = _vector(blob, encoder.dim, path)
        return found

    def put_many(self, encoder: Encoder, texts: Sequence[str], vectors: FloatArray, prompt: Prompt) -> None:
        """Keep the vectors of texts, all or none; one that is there already stays."""
        path = self.path(encoder)
        self._create(path)
        rows = [
            (_key(encoder, text, prompt), np.ascontiguousarray(vector, dtype="<f4").tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with _opened(path) as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def _create(self, path: Path) -> None:
        """Make the file of a model whole or not at all, by one process."""
        if path.exists():
            return
        with storage_errors("write", path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock")):
                if path.exists():
                    return
                new = path.with_suffix(".new")
                for leftover in (new, path):  # a log without its database would be played into this one
                    for end in ("", "-wal", "-shm", "-journal"):
                        leftover.with_name(leftover.name + end).unlink(missing_ok=True)
                connection = sqlite3.connect(new)
                connection.execute(_SCHEMA)
                connection.execute("PRAGMA journal_mode=WAL")
                connection.close()
                new.replace(path)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing cache file; its troubles become errors that say what to do."""
    try:
        connection = sqlite3.connect(path.absolute().as_uri() + "?mode=rw", uri=True, timeout=_WAIT_S)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise _explained(path, error) from error


def _explained(path: Path, error: sqlite3.Error) -> RagError:
    """Return the platform's error for one of SQLite's."""
    code = error.sqlite_errorname if hasattr(error, "sqlite_errorname") else ""
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Busy(f"the embedding cache {path} was locked for {_WAIT_S:g} s by another process; try again")
    if code.startswith("SQLITE_FULL"):
        return StorageError(f"cannot write the embedding cache {path}: the disk is full; free some space")
    if isinstance(error, sqlite3.OperationalError) and not code.startswith("SQLITE_ERROR"):
        return StorageError(f"cannot use the embedding cache {path}: {error}; check disk and permissions")
    return StorageError(
        f"the embedding cache {path} is damaged ({error}); delete it and its -wal and -shm files:"
        " nothing is lost, the texts are embedded again"
    )


def _key(encoder: Encoder, text: str, prompt: Prompt) -> bytes:
    digest = hashlib.sha256(encoder.prompted(text, prompt).encode("utf-8", "surrogatepass")).hexdigest()
    return hashlib.sha256("\x1f".join((encoder.recipe, prompt, digest)).encode()).digest()


def _vector(blob: bytes, dim: int, path: Path) -> FloatArray:
    if len(blob) != 4 * dim:
        raise StorageError(
            f"the embedding cache {path} holds a vector of {len(blob)} bytes where {4 * dim} are due;"
            " delete the file: nothing is lost, the texts are embedded again"
        )
    return np.frombuffer(blob, dtype="<f4").astype(np.float32)
