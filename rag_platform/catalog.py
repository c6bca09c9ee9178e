"""What is known of every document: looks at the inbox, claims, the state of each stage, tombstones.

One SQLite file, safe for several processes. Fingerprints here are an index for planning and listing;
the truth about a table stands in the table's own file. Nothing is read, parsed or embedded here.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import regex

from rag_platform.entries import Entry, Observed, StageRecord, partition_key
from rag_platform.errors import CallerError, StorageError, UnknownName
from rag_platform.inbox import InboxFile, Listing
from rag_platform.types import Failure, document_id

__all__ = ["Catalog"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS collections (
    name TEXT PRIMARY KEY,
    is_root INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS documents (
    document_id TEXT PRIMARY KEY,
    collection TEXT NOT NULL,
    source TEXT NOT NULL,
    partition TEXT NOT NULL,
    seen TEXT NOT NULL,             -- signature at the last look
    settled INTEGER NOT NULL,       -- two equal looks, and quiet
    claimed TEXT,                   -- signature handed out for ingestion
    owner TEXT,                     -- who works on it now
    deleted INTEGER NOT NULL DEFAULT 0,
    updated_at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_by_partition ON documents (partition);
CREATE INDEX IF NOT EXISTS documents_by_source ON documents (collection, source);
CREATE TABLE IF NOT EXISTS stages (
    document_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    n_rows INTEGER NOT NULL,
    measures TEXT NOT NULL,
    failure TEXT,
    PRIMARY KEY (document_id, stage)
);
CREATE INDEX IF NOT EXISTS stages_by_work ON stages (stage, fingerprint);
"""

_COLLECTION_NAME = regex.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Catalog:
    """The state of every document, shared by the sensor, the command line and the service."""

    def __init__(self, path: Path, *, default_collection: str) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"cannot create {path.parent}: {error.strerror}; set RAG_HOME elsewhere"
            ) from error
        self._lock = threading.RLock()
        self._db = self._connect()
        with self._write() as db:
            empty = db.execute("SELECT count(*) FROM collections").fetchone()[0] == 0
            if empty:
                db.execute("INSERT INTO collections VALUES (?, 1)", [_checked(default_collection)])

    def close(self) -> None:
        """Close the file; nothing can be asked afterwards."""
        with self._lock:
            self._finalizer()

    # Collections

    def collections(self) -> list[str]:
        """Return the names of all collections, the owner of the inbox's root first."""
        with self._read() as db:
            return [
                name for (name,) in db.execute("SELECT name FROM collections ORDER BY is_root DESC, name")
            ]

    def create_collection(self, name: str) -> None:
        """Create a collection; one that exists already is no error.

        Raises:
            CallerError: The name is not allowed, or is a file or folder of the root collection already.
        """
        _checked(name)
        with self._write() as db:
            if db.execute("SELECT 1 FROM collections WHERE name = ?", [name]).fetchone():
                return
            taken = db.execute(
                "SELECT source FROM documents JOIN collections ON name = collection "
                "WHERE is_root AND NOT deleted AND substr(source || '/', 1, ?) = ? LIMIT 1",
                [len(name) + 1, f"{name}/"],
            ).fetchone()
            if taken:
                raise CallerError(
                    f"cannot create the collection {name!r}: the inbox already holds {name!r} as part of "
                    f"{self.collections()[0]!r}; rename that, or choose another name"
                )
            db.execute("INSERT INTO collections VALUES (?, 0)", [name])

    # Looks at the inbox

    def observe(
        self,
        listing: Listing,
        *,
        now: float,
        quiet_s: float,
        complete: Collection[tuple[str, str]] = (),
    ) -> Observed:
        """Record one look: which files are new, changed, still growing, or gone.

        A file is settled when two looks saw the same size and time and it was quiet for ``quiet_s``,
        or at once when the caller vouches for it.

        Args:
            listing: What lies in the inbox.
            now: Seconds since the epoch.
            quiet_s: How long a file must not have changed.
            complete: (collection, source) of files that are known to be whole.
        """
        with self._write() as db:
            known = {
                row["document_id"]: row
                for row in db.execute("SELECT document_id, seen, settled, deleted FROM documents")
            }
            counts = {"new": 0, "changed": 0, "waiting": 0}
            present = set()
            for file in listing.files:
                key = document_id(file.collection, file.source)
                present.add(key)
                vouched = (file.collection, file.source) in complete
                counts[self._look(db, key, known.get(key), file, now, quiet_s, vouched)] += 1
            gone = self._vanished(db, present, listing)
            db.executemany(
                "UPDATE documents SET deleted = 1, claimed = NULL, owner = NULL, updated_at = ? "
                "WHERE document_id = ?",
                [(now, entry.document_id) for entry in gone],
            )
        return Observed(counts["new"], counts["changed"], counts["waiting"], tuple(gone))

    @staticmethod
    def _look(
        db: sqlite3.Connection,
        key: str,
        row: sqlite3.Row | None,
        file: InboxFile,
        now: float,
        quiet_s: float,
        vouched: bool,
    ) -> str:
        if row is None:
            db.execute(
                "INSERT INTO documents "
                "(document_id, collection, source, partition, seen, settled, updated_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    key,
                    file.collection,
                    file.source,
                    partition_key(file.collection, file.source),
                    file.signature,
                    vouched,
                    now,
                ],
            )
            return "new"
        same = row["seen"] == file.signature and not row["deleted"]
        touched = file.touched_ns / 1e9
        quiet = now - touched >= quiet_s or now < touched
        settled = vouched or (same and (row["settled"] or quiet))
        if not same or bool(settled) != bool(row["settled"]):
            revived = ", claimed = NULL" if row["deleted"] else ""
            db.execute(
                f"UPDATE documents SET seen = ?, settled = ?, deleted = 0, updated_at = ?{revived} "
                "WHERE document_id = ?",
                [file.signature, settled, now, key],
            )
        return "waiting" if same else "changed"

    def _vanished(self, db: sqlite3.Connection, present: set[str], listing: Listing) -> list[Entry]:
        if listing.unreadable:
            return []  # unknown is not gone
        live = self._select(db, "NOT deleted", [])
        return [entry for entry in live if entry.document_id not in present]

    # Claims

    def claim(
        self,
        owner: str,
        *,
        alive: Callable[[str], bool],
        sources: Sequence[tuple[str, str]] | None = None,
        limit: int | None = None,
    ) -> list[Entry]:
        """Hand the settled files that nobody has ingested in this version to ``owner``.

        Args:
            owner: Who will work on them; unique to one piece of work.
            alive: Says whether an earlier owner still works; claims of one that does not are taken over.
            sources: Only these (collection, source), if given.
            limit: At most so many.

        Returns:
            The claimed documents, in the order of collection and source.
        """
        wanted = None if sources is None else {document_id(*source) for source in sources}
        with self._write() as db:
            owners = [
                row[0] for row in db.execute("SELECT DISTINCT owner FROM documents WHERE owner NOT NULL")
            ]
            dead = [name for name in owners if name != owner and not alive(name)]
            db.executemany(
                "UPDATE documents SET owner = NULL, claimed = NULL WHERE owner = ?", [(d,) for d in dead]
            )
            due = self._select(db, "settled AND NOT deleted AND owner IS NULL AND claimed IS NOT seen", [])
            chosen = [entry for entry in due if wanted is None or entry.document_id in wanted][:limit]
            db.executemany(
                "UPDATE documents SET owner = ?, claimed = seen WHERE document_id = ?",
                [(owner, entry.document_id) for entry in chosen],
            )
            ids = {entry.document_id for entry in chosen}
            return [e for e in self._select(db, "owner = ?", [owner]) if e.document_id in ids]

    def finish(self, owner: str) -> None:
        """Record that ``owner`` has done its work; its files are due again only when they change."""
        with self._write() as db:
            db.execute("UPDATE documents SET owner = NULL WHERE owner = ?", [owner])

    def release(self, owner: str) -> None:
        """Give ``owner``'s files back: they are due again."""
        with self._write() as db:
            db.execute("UPDATE documents SET owner = NULL, claimed = NULL WHERE owner = ?", [owner])

    # Documents and stages

    def entries(
        self,
        collection: str | None = None,
        partitions: Collection[str] | None = None,
        deleted: bool = False,
    ) -> list[Entry]:
        """Return documents by collection and source; tombstones only when ``deleted``."""
        found = self.page(None if collection is None else [collection], deleted=deleted)
        wanted = None if partitions is None else set(partitions)
        return [entry for entry in found if wanted is None or entry.partition in wanted]

    def page(
        self,
        collections: Collection[str] | None = None,
        *,
        deleted: bool = False,
        after: tuple[str, str] | None = None,
        limit: int = -1,
    ) -> list[Entry]:
        """Return documents by collection and source, from a place on: whatever comes and goes, none twice.

        Args:
            collections: Only theirs; None: of all.
            deleted: Tombstones too.
            after: (collection, source) before the first; None: from the start.
            limit: How many at most; -1: all.
        """
        where: list[str] = ["1"]
        values: list[object] = []
        if collections is not None:
            where.append(f"collection IN ({','.join('?' * len(collections))})")
            values += collections
        if not deleted:
            where.append("NOT deleted")
        if after is not None:
            where.append("(collection, source) > (?, ?)")
            values += after
        with self._read() as db:
            return self._select(db, " AND ".join(where), values, limit=limit)

    def entry(self, collection: str, source: str) -> Entry:
        """Return one live document.

        Raises:
            UnknownName: There is none of that source in the collection.
        """
        with self._read() as db:
            found = self._select(db, "document_id = ? AND NOT deleted", [document_id(collection, source)])
        if not found:
            known = [entry.source for entry in self.entries(collection)]
            raise UnknownName(f"document of {collection!r}", source, known)
        return found[0]

    def known(self, key: str) -> Entry:
        """Return a document by its identity, a deleted one too.

        Raises:
            UnknownName: There never was one, or its last trace was purged.
        """
        with self._read() as db:
            found = self._select(db, "document_id = ?", [key])
        if not found:
            raise UnknownName("document", key, [])
        return found[0]

    def record(self, stage: str, records: Mapping[str, StageRecord]) -> None:
        """Store the outcome of a stage: ``document_id`` -> record."""
        rows = [
            (
                key,
                stage,
                record.fingerprint,
                record.n_rows,
                json.dumps(dict(record.measures), ensure_ascii=False),
                record.failure and json.dumps(asdict(record.failure), ensure_ascii=False),
            )
            for key, record in records.items()
        ]
        with self._write() as db:
            db.executemany("INSERT OR REPLACE INTO stages VALUES (?, ?, ?, ?, ?, ?)", rows)
            now = time.time()
            db.executemany(
                "UPDATE documents SET updated_at = ? WHERE document_id = ?", [(now, k) for k in records]
            )

    def forget(self, document_ids: Collection[str], *, stages: Collection[str] | None = None) -> None:
        """Drop what is known of these documents' stages (all, or those named)."""
        with self._write() as db:
            for key in document_ids:
                if stages is None:
                    db.execute("DELETE FROM stages WHERE document_id = ?", [key])
                    db.execute(
                        "UPDATE documents SET claimed = NULL WHERE document_id = ? AND owner IS NULL", [key]
                    )
                else:
                    db.executemany(
                        "DELETE FROM stages WHERE document_id = ? AND stage = ?", [(key, s) for s in stages]
                    )

    def purge(self, document_ids: Collection[str]) -> None:
        """Remove every trace of these tombstones."""
        with self._write() as db:
            for key in document_ids:
                db.execute("DELETE FROM stages WHERE document_id = ?", [key])
                db.execute("DELETE FROM documents WHERE document_id = ? AND deleted", [key])

    def tombstone(self, key: str) -> None:
        """Mark a document as deleted; its points go with the next generation."""
        with self._write() as db:
            db.execute(
                "UPDATE documents SET deleted = 1, claimed = NULL, owner = NULL, updated_at = ? "
                "WHERE document_id = ?",
                [time.time(), key],
            )

    def same_work(self, stage: str, work: str) -> list[Entry]:
        """Return documents, tombstones too, for which ``stage`` ended well with this fingerprint."""
        with self._read() as db:
            return self._select(
                db,
                "document_id IN (SELECT document_id FROM stages "
                "WHERE stage = ? AND fingerprint = ? AND failure IS NULL)",
                [stage, work],
            )

    @staticmethod
    def _select(
        db: sqlite3.Connection, where: str, values: Sequence[object], *, limit: int = -1
    ) -> list[Entry]:
        chosen = f"FROM documents WHERE {where} ORDER BY collection, source LIMIT ?"
        rows = db.execute(f"SELECT * {chosen}", [*values, limit]).fetchall()
        stages: dict[str, dict[str, StageRecord]] = {row["document_id"]: {} for row in rows}
        query = f"SELECT * FROM stages WHERE document_id IN (SELECT document_id {chosen})"
        for row in db.execute(query, [*values, limit]):
            failure = None if row["failure"] is None else Failure(**json.loads(row["failure"]))
            record = StageRecord(row["fingerprint"], row["n_rows"], json.loads(row["measures"]), failure)
            stages[row["document_id"]][row["stage"]] = record
        return [
            Entry(
                document_id=row["document_id"],
                collection=row["collection"],
                source=row["source"],
                partition=row["partition"],
                claimed=row["claimed"],
                owner=row["owner"],
                deleted=bool(row["deleted"]),
                updated_at=row["updated_at"],
                stages=stages[row["document_id"]],
            )
            for row in rows
        ]

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._db

    @contextlib.contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """Open one transaction that no other writer, in this process or another, can enter."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except sqlite3.OperationalError as error:
                raise StorageError(
                    f"cannot write the catalog {self.path}: {error}; free space or repeat"
                ) from error
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _connect(self) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise StorageError(
                f"cannot open the catalog {self.path}: {error}; check RAG_HOME, permissions and free space"
            ) from error
        self._finalizer = weakref.finalize(self, db.close)
        return db


def _checked(name: str) -> str:
    if not _COLLECTION_NAME.fullmatch(name):
        raise CallerError(
            f"{name!r} is no collection name; use up to 63 of a-z, 0-9, '_' and '-', "
            "beginning with a letter or digit"
        )
    return name
