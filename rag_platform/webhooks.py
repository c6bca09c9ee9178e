"""Tells others of each new generation: signed messages by HTTP, kept in one SQLite file until delivered.

Signed as Standard Webhooks (https://www.standardwebhooks.com) has it. A message is written down when a
generation is published and sent by threads of their own: a publish neither waits for a receiver nor fails by
one. What a process leaves is sent by the next that publishes or serves, so a message arrives at least once;
its id stays the same. What is published, and when, is decided elsewhere.
"""

from __future__ import annotations

import atexit
import base64
import binascii
import hashlib
import hmac
import json
import logging
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_platform.errors import InvalidSetting, RagError, StorageError
from rag_platform.moments import utc
from rag_platform.privacy import address_parts, shown_address
from rag_platform.protocols import Manifest
from rag_platform.sqlite_file import SqliteFile
from rag_platform.types import fingerprint

__all__ = ["EVENT", "WAITS_S", "Delivery", "Webhooks", "signature"]

_log = logging.getLogger(__name__)

EVENT = "generation.published"
WAITS_S = (5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0, 50400.0, 72000.0, 86400.0)
"""Seconds before each further attempt, as Standard Webhooks recommends: three days in all."""
_TIMEOUT_S = 15.0
_LEASE = 4
"""Timeouts after which an attempt that nobody recorded is taken for that of a killed process."""
_POLL_S = 5.0
_END_WAIT_S = 5.0
"""How long a process that ends waits for what is being sent."""
_KEPT_S = 30 * 24 * 3600.0
_GONE = 410

_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    key TEXT PRIMARY KEY,           -- what is told, so that it is told once
    message_id TEXT NOT NULL,
    subject TEXT NOT NULL,          -- collection and model
    body TEXT NOT NULL,
    created_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS deliveries (
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at REAL,                   -- NULL: it is over
    delivered INTEGER NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (key, url)
);
CREATE INDEX IF NOT EXISTS deliveries_by_time ON deliveries (url, next_at);
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message on its way to one receiver.

    Attributes:
        message_id: The same for every attempt and every receiver.
        url: Without user, password and query.
        body: As it is sent.
        attempts: So far, the one under way included.
        status: ``waiting``, ``delivered``, or ``failed`` where it is given up.
        outcome: What the last attempt came to.
    """

    message_id: str
    url: str
    body: str
    attempts: int
    status: Literal["waiting", "delivered", "failed"]
    outcome: str


@dataclass(frozen=True, slots=True)
class _Due:
    key: str
    message_id: str
    body: str
    attempts: int


class Webhooks:
    """The receivers and what they are yet to be told; safe to share between threads and processes.

    Args:
        path: The SQLite file, made with the first message.
        urls: Of the receivers; none: nothing is done.
        secret: ``whsec_`` and base64, or base64 alone; empty: messages are not signed.
        waits_s: Seconds before each further attempt; when they are used up, a message is given up.
        timeout_s: How long a receiver may be silent.

    Raises:
        InvalidSetting: An address is none, or the secret is not base64.
    """

    def __init__(
        self,
        path: Path,
        urls: Sequence[str],
        secret: str = "",
        *,
        waits_s: Sequence[float] = WAITS_S,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self._path, self._urls = path, tuple(dict.fromkeys(map(_checked, urls)))
        self._secret, self._waits_s, self._timeout_s = _decoded(secret), tuple(waits_s), timeout_s
        self._lock = threading.Lock()
        self._store: _Store | None = None
        self._threads: list[threading.Thread] = []
        self._wake = threading.Condition()
        self._news, self._ending = 0, False

    def announce(self, manifest: Manifest) -> None:
        """Have the receivers told of a published generation, once for each; never fails."""
        if not self._urls:
            return
        try:
            self._opened().add(manifest, self._urls)
            self.start()
        except RagError as error:
            _log.error(
                "generation %d of %r is told nobody: %s", manifest.generation, manifest.collection, error
            )

    def start(self) -> None:
        """Send what is due, also what other processes left, until ``close``.

        Raises:
            StorageError: The file cannot be used.
        """
        if not self._urls:
            return
        store = self._opened()
        with self._lock:
            if not self._threads:
                self._ending = False
                self._threads = [
                    threading.Thread(target=self._send, args=(store, url), name="webhooks", daemon=True)
                    for url in self._urls
                ]
                for thread in self._threads:
                    thread.start()
                atexit.register(self.close)
        with self._wake:
            self._news += 1
            self._wake.notify_all()

    def close(self, wait_s: float = _END_WAIT_S) -> None:
        """Let what is due be sent for a while; the rest is left to the next process."""
        atexit.unregister(self.close)
        with self._lock:
            threads, self._threads = self._threads, []
        with self._wake:
            self._ending = True
            self._wake.notify_all()
        deadline = time.monotonic() + wait_s
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def deliveries(self) -> list[Delivery]:
        """Return what was sent and what is yet to be, the newest first."""
        return self._opened().all() if self._store or self._path.exists() else []

    def _opened(self) -> _Store:
        with self._lock:
            if self._store is None:
                self._store = _Store(self._path)
            return self._store

    def _send(self, store: _Store, url: str) -> None:
        """Send to one receiver, so that none holds up another, until there is nothing due at the end."""
        seen = -1
        while True:
            with self._wake:
                seen = self._news
            try:
                due = store.take(url, lease_s=_LEASE * self._timeout_s)
                if due is not None:
                    self._attempt(store, url, due)
                    continue
                wait_s = store.rest_s(url)
            except StorageError as error:
                _log.error("%s", error)
                wait_s = _POLL_S
            with self._wake:
                if self._ending:
                    return
                if self._news == seen:
                    self._wake.wait(min(wait_s, _POLL_S))

    def _attempt(self, store: _Store, url: str, due: _Due) -> None:
        status, outcome = self._posted(url, due)
        shown = f"message {due.message_id} to {shown_address(url)}: {outcome}, attempt {due.attempts}"
        is_delivered = 200 <= status < 300
        if is_delivered or status == _GONE or due.attempts > len(self._waits_s):
            _log.log(logging.INFO if is_delivered else logging.ERROR, "%s", shown)
            store.over(url, due, delivered=is_delivered, outcome=outcome)
        else:
            wait_s = self._waits_s[due.attempts - 1]
            _log.warning("%s; again in %g s", shown, wait_s)
            store.again(url, due, wait_s=wait_s, outcome=outcome)

    def _posted(self, url: str, due: _Due) -> tuple[int, str]:
        """Return the status of an answer, 0 without one, and what it came to; redirects are not followed."""
        import httpx

        sent_at = int(time.time())
        headers = {
            "content-type": "application/json",
            "user-agent": "rag-platform",
            "webhook-id": due.message_id,
            "webhook-timestamp": str(sent_at),
        }
        if self._secret:
            headers["webhook-signature"] = signature(self._secret, due.message_id, sent_at, due.body)
        try:
            with httpx.stream(
                "POST", url, content=due.body.encode(), headers=headers, timeout=self._timeout_s
            ) as answer:  # whose body nobody reads
                return answer.status_code, f"answered {answer.status_code}"
        except httpx.TransportError as error:
            return 0, f"no answer ({type(error).__name__})"


def signature(secret: bytes, message_id: str, sent_at: int, body: str) -> str:
    """Return what a receiver compares: ``v1,`` and the HMAC-SHA256 of id, time and body.

    >>> key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    >>> signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    signed = f"{message_id}.{sent_at}.{body}".encode()
    return f"v1,{base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()}"


def _checked(url: str) -> str:
    if address_parts(url) is None:
        raise InvalidSetting(
            f"RAG_WEBHOOK_URLS names {shown_address(url)!r}; give an address as https://example.org/hook"
        )
    return url


def _decoded(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidSetting(
            "RAG_WEBHOOK_SECRET is not base64; make one with: echo whsec_$(openssl rand -base64 32)"
        ) from None


def _body(manifest: Manifest, now: float) -> str:
    told = {
        "collection": manifest.collection,
        "embedding_model": manifest.model,
        "generation": manifest.generation,
        "points": manifest.points,
        "documents": len(manifest.documents),
    }
    return json.dumps(
        {"type": EVENT, "timestamp": utc(now, "milliseconds"), "data": told}, ensure_ascii=False
    )


class _Store:
    """Messages and deliveries in SQLite; every change is one transaction."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path, "the messages to webhooks", lambda _: _SCHEMA)

    def add(self, manifest: Manifest, urls: Sequence[str]) -> None:
        """Write a message down for each receiver that has not had it yet, and forget what is long over."""
        subject = fingerprint(manifest.collection, manifest.model)
        content = fingerprint(manifest.recipe, sorted(manifest.documents.items()))
        key, now = fingerprint(subject, manifest.generation, content), time.time()
        with self._file.changes() as db:
            db.execute(
                "INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?, ?)",
                [key, f"msg_{uuid.uuid4().hex}", subject, _body(manifest, now), now],
            )
            db.executemany(
                "INSERT OR IGNORE INTO deliveries (key, url, next_at) VALUES (?, ?, ?)",
                [(key, url, now) for url in urls],
            )
            db.execute(
                "DELETE FROM messages WHERE subject = ? AND key != ? AND created_at < ?",
                [subject, key, now - _KEPT_S],
            )
            db.execute("DELETE FROM deliveries WHERE key NOT IN (SELECT key FROM messages)")

    def take(self, url: str, *, lease_s: float) -> _Due | None:
        """Take the oldest message that is due; nobody else does for a while."""
        now = time.time()
        with self._file.changes() as db:
            row = db.execute(
                "SELECT key, message_id, body, attempts FROM deliveries JOIN messages USING (key)"
                " WHERE url = ? AND next_at <= ? ORDER BY created_at LIMIT 1",
                [url, now],
            ).fetchone()
            if row is None:
                return None
            due = _Due(row[0], row[1], row[2], row[3] + 1)
            self._set(db, url, due, "attempts = ?, next_at = ?", due.attempts, now + lease_s)
        return due

    def rest_s(self, url: str) -> float:
        """Return how long nothing is due."""
        [(at,)] = self._file.rows("SELECT min(next_at) FROM deliveries WHERE url = ?", url)
        return _POLL_S if at is None else max(0.0, float(at) - time.time())

    def over(self, url: str, due: _Due, *, delivered: bool, outcome: str) -> None:
        """Record that nothing more is tried."""
        with self._file.changes() as db:
            self._set(db, url, due, "next_at = NULL, delivered = ?, outcome = ?", delivered, outcome)

    def again(self, url: str, due: _Due, *, wait_s: float, outcome: str) -> None:
        """Record what went wrong, and when it is tried again."""
        with self._file.changes() as db:
            self._set(db, url, due, "next_at = ?, outcome = ?", time.time() + wait_s, outcome)

    def all(self) -> list[Delivery]:
        """Return every delivery, the newest first."""
        query = (
            "SELECT message_id, url, body, attempts, next_at, delivered, outcome"
            " FROM deliveries JOIN messages USING (key) ORDER BY created_at DESC, url"
        )
        return [
            Delivery(
                message_id=row[0],
                url=shown_address(row[1]),
                body=row[2],
                attempts=row[3],
                status="waiting" if row[4] is not None else "delivered" if row[5] else "failed",
                outcome=row[6],
            )
            for row in self._file.rows(query)
        ]

    @staticmethod
    def _set(db: sqlite3.Connection, url: str, due: _Due, changes: str, *values: object) -> None:
        db.execute(f"UPDATE deliveries SET {changes} WHERE key = ? AND url = ?", [*values, due.key, url])
