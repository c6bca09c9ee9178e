"""The one object store below ``RAG_HOME``: atomic files, content-addressed raw copies, Parquet tables.

Every file of ours appears whole or not at all (temporary name, fsync, rename). What the files mean is
decided elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rag_platform.errors import DamagedFile, StorageError
from rag_platform.tables import check

__all__ = ["RawStore", "TableStore", "atomic", "copy_file", "sha256_of", "storage_errors", "write_json"]

_log = logging.getLogger(__name__)

_FINGERPRINTS = b"rag_platform.documents"


@contextlib.contextmanager
def storage_errors(action: str, path: Path) -> Iterator[None]:
    """Turn an ``OSError`` into a ``StorageError`` that says what was tried, where, and what to do."""
    try:
        yield
    except OSError as error:
        remedy = "free some space" if error.errno == 28 else "check that the path exists and its permissions"
        raise StorageError(
            f"cannot {action} {path}: {error.strerror or error}; {remedy}, then repeat"
        ) from error


@contextlib.contextmanager
def _table_errors(path: Path) -> Iterator[None]:
    """Tell a damaged Parquet file from a disk that cannot be read: Arrow's own errors have no number."""
    try:
        with storage_errors("read", path):
            try:
                yield
            except OSError as error:
                if error.errno is None:
                    raise pa.ArrowInvalid(str(error)) from error
                raise
    except pa.ArrowInvalid as error:
        raise DamagedFile(
            f"{path} is damaged ({str(error).splitlines()[0]}); ingest its document again with --force"
        ) from error


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its place when the block ends well."""
    with storage_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as JSON, atomically."""
    with atomic(path) as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).encode())


def sha256_of(path: Path) -> str:
    """Return the hex digest of a file's bytes."""
    with storage_errors("read", path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class RawStore:
    """Content-addressed copies of source files: ``raw/<first two digits>/<sha256>``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, content_sha256: str) -> Path:
        """Return where the bytes of this digest are, or would be."""
        return self.root / content_sha256[:2] / content_sha256

    def put(self, source: Path) -> str:
        """Copy a file in and return its digest; the digest is taken from the bytes that were copied."""
        digest = hashlib.sha256()
        with storage_errors("copy", source):
            self.root.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.root, prefix=".tmp-")
            try:
                with os.fdopen(handle, "wb") as target, source.open("rb") as file:
                    while block := file.read(1 << 20):
                        digest.update(block)
                        target.write(block)
                    target.flush()
                    os.fsync(target.fileno())
                final = self.path(digest.hexdigest())
                final.parent.mkdir(exist_ok=True)
                Path(name).replace(final)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        return digest.hexdigest()

    def remove(self, content_sha256: str) -> None:
        """Remove the bytes of this digest, if they are there."""
        path = self.path(content_sha256)
        with storage_errors("remove", path):
            path.unlink(missing_ok=True)


class TableStore:
    """Parquet tables at ``tables/<table>/<partition>.parquet``, several documents a file.

    The file's metadata hold ``{document_id: fingerprint}``, so that a document without rows (an empty
    file) is known as done too, and a fingerprint can never disagree with the rows beside it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, table: str, partition: str) -> Path:
        """Return the file of one partition; ``table`` may hold one ``/`` (``embeddings/<model slug>``)."""
        return self.root / table / f"{partition}.parquet"

    def fingerprints(self, table: str, partition: str) -> dict[str, str]:
        """Return ``{document_id: fingerprint}`` of one file, empty when there is none or it is damaged."""
        path = self.path(table, partition)
        if not path.exists():
            return {}
        try:
            with _table_errors(path), path.open("rb") as file:
                metadata = pq.read_schema(file).metadata or {}
        except DamagedFile as error:
            _log.warning("%s", error)
            return {}  # nothing in it is known to be done: it is made again
        found: dict[str, str] = json.loads(metadata.get(_FINGERPRINTS, b"{}"))
        return found

    def read(self, table: str, partition: str, document_ids: Sequence[str] | None = None) -> pa.Table | None:
        """Return the rows of a file, of these documents only if given; None when there is no file.

        Raises:
            DamagedFile: What is there is no whole Parquet file.
        """
        path = self.path(table, partition)
        if not path.exists():
            return None
        with _table_errors(path), path.open("rb") as file:
            rows = pq.read_table(file)
        if document_ids is None:
            return rows
        return rows.filter(pc.is_in(rows["document_id"], pa.array(document_ids, pa.string())))

    def write(
        self,
        table: str,
        partition: str,
        schema: pa.Schema,
        changed: Mapping[str, tuple[str, pa.Table | None]],
    ) -> Path:
        """Replace the rows of the ``changed`` documents, keep the others, and return the file's path.

        Args:
            table: Name of the table.
            partition: Key of the partition.
            schema: The table's contract; every row is checked against it.
            changed: ``document_id`` -> (fingerprint, rows); rows None removes the document.
        """
        prints = {k: v for k, v in self.fingerprints(table, partition).items() if k not in changed}
        old = self.read(table, partition, list(prints)) if prints else None
        parts = [] if old is None else [check(old.cast(schema), schema)]
        for document_id, (fingerprint, rows) in changed.items():
            if rows is not None:
                prints[document_id] = fingerprint
                parts.append(check(rows, schema))
        whole = pa.concat_tables(parts) if parts else schema.empty_table()
        metadata = {
            **(schema.metadata or {}),
            _FINGERPRINTS: json.dumps(prints, sort_keys=True).encode(),
        }
        path = self.path(table, partition)
        with atomic(path) as file:
            pq.write_table(whole.replace_schema_metadata(metadata), file, compression="zstd")
        return path

    def schema(self, table: str, partition: str) -> pa.Schema:
        """Return the columns of one file as it stands, without its fingerprints."""
        path = self.path(table, partition)
        with _table_errors(path), path.open("rb") as file:
            return pq.read_schema(file).remove_metadata()

    def drop(self, table: str, partition: str) -> None:
        """Remove the file of a partition, if there is one."""
        path = self.path(table, partition)
        with storage_errors("remove", path):
            path.unlink(missing_ok=True)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file to ``target`` atomically, making its folders."""
    with storage_errors("read", source), source.open("rb") as file, atomic(target) as out:
        shutil.copyfileobj(file, out)
