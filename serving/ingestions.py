"""Ingestion behind the routes: jobs that one thread works off, and what is known of each.

A job's documents lie in the inbox before it begins, so a killed process loses none: what it left is taken up
at the next start. How documents are ingested is the library's business.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import queue
import re
import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, Self

from rag_platform import ingestion
from rag_platform.errors import DamagedFile, RagError, UnknownName
from rag_platform.states import Ingested
from rag_platform.storage import storage_errors, write_json
from rag_platform.system import System
from rag_platform.types import Failure, document_id

__all__ = ["Ingestions", "Job"]

_log = logging.getLogger(__name__)

_ID = re.compile(r"[0-9a-f]{32}")
_KEPT_S = 7 * 24 * 3600.0
"""How long a finished job can be asked for."""
_END = ""

Kind = Literal["ingest", "delete"]
State = Literal["queued", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work.

    Attributes:
        left: Nobody waits for it, and it is left to the sensor of the inbox.
        documents: As they were when it ended; empty before.
        error: Why it ended, where that is no single document's fault.
    """

    job_id: str
    kind: Kind
    collection: str
    sources: tuple[str, ...]
    created_at: float
    force: bool = False
    left: bool = False
    started: bool = False
    finished_at: float | None = None
    error: str | None = None
    documents: tuple[Ingested, ...] = ()

    @property
    def status(self) -> State:
        """Where it stands."""
        if self.finished_at is None:
            return "running" if self.started else "queued"
        return "failed" if self.error else "done"

    @property
    def named(self) -> list[ingestion.Source]:
        """Its documents by collection and source."""
        return [(self.collection, source) for source in self.sources]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return a job from its file.

        Raises:
            DamagedFile: It holds something else.
        """
        with storage_errors("read", path):
            written = path.read_bytes()
        try:
            said = json.loads(written)
            documents = [
                Ingested(**{**one, "failure": Failure(**one["failure"]) if one["failure"] else None})
                for one in said["documents"]
            ]
            return cls(**{**said, "sources": tuple(said["sources"]), "documents": tuple(documents)})
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedFile(f"{path} tells of no job ({error}); remove it") from error


class Ingestions:
    """Takes jobs and does them one after the other, in a thread of its own."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._folder = system.home / "jobs"
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._ends: dict[str, Future[Job]] = {}
        self._passwords: dict[str, str] = {}
        self.ended_by_status: dict[State, int] = {"done": 0, "failed": 0}
        # In the context of who makes it, so that whoever watches there hears of this work as well.
        work = (self._work,)
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=work, name="ingestions", daemon=True
        )

    def start(self) -> None:
        """Begin to work, with what an earlier process left."""
        for path in sorted(self._folder.glob("*.json")):
            try:
                job = Job.read(path)
            except DamagedFile as error:  # its documents lie in the inbox, where the next look finds them
                _log.warning("%s", error)
                continue
            if job.finished_at is None and not job.left:
                self._enqueue(replace(job, started=False))
            elif time.time() - (job.finished_at or job.created_at) > _KEPT_S:
                path.unlink(missing_ok=True)
        self._thread.start()

    def stop(self, wait_s: float = 10.0) -> None:
        """Take nothing up any more, and give what is running a while to end."""
        self._waiting.put(_END)
        self._thread.join(wait_s)

    def submit(
        self,
        kind: Kind,
        collection: str,
        sources: Sequence[str],
        *,
        force: bool = False,
        password: str = "",
        left: bool = False,
    ) -> Job:
        """Have documents ingested that lie in the inbox, or deleted ones taken out of the collection."""
        job = Job(uuid.uuid4().hex, kind, collection, tuple(sources), time.time(), force, left)
        self._write(job)
        if left:
            return self.get(job.job_id)
        if password:  # in memory alone: a job taken up by another process has none
            self._passwords[job.job_id] = password
        self._enqueue(job)
        return job

    def get(self, job_id: str) -> Job:
        """Return a job with its documents as they are now.

        Raises:
            UnknownName: There is none, or it ended too long ago.
        """
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            path = self._folder / f"{job_id}.json"
            if not _ID.fullmatch(job_id) or not path.is_file():
                raise UnknownName("job", job_id, [])
            job = Job.read(path)
        if job.finished_at is not None:
            return job
        is_done = job.left and all(self._settled(job, source) for source in job.named)
        return replace(job, documents=self._looked_at(job), finished_at=time.time() if is_done else None)

    @property
    def under_way(self) -> dict[State, int]:
        """The number of jobs that have no end yet, those left to others not counted."""
        with self._lock:
            open_ = [job.status for job in self._jobs.values() if job.finished_at is None]
        return {"queued": open_.count("queued"), "running": open_.count("running")}

    async def ended(self, job: Job, limit_s: float) -> Job:
        """Wait for a job's end, and return it as it is then, or after ``limit_s``."""
        with self._lock:
            end = self._ends.get(job.job_id)
        if end is not None:
            await asyncio.wait([asyncio.wrap_future(end)], timeout=limit_s)
        return await asyncio.to_thread(self.get, job.job_id)

    def _looked_at(self, job: Job) -> tuple[Ingested, ...]:
        """Return what is known of a job's documents; one that nobody has looked at yet is left out."""
        found = []
        for source in job.named:
            try:
                found.append(ingestion.outcome(self._system, source))
            except UnknownName:
                continue
        return tuple(found)

    def _settled(self, job: Job, source: ingestion.Source) -> bool:
        """Say whether a document that is left to others has gone all the way, with the bytes it has now."""
        try:
            entry = self._system.catalog.known(document_id(*source))
            now = ingestion.outcome(self._system, source)
        except UnknownName:
            return False
        if job.kind == "delete":
            return now.chunks_indexed == 0
        raw, path = entry.stages.get("raw_documents"), self._system.inbox.path(*source)
        if raw is None or not path.is_file():
            return False
        lies = path.stat()
        is_taken = raw.fingerprint.split("+")[0] == f"{lies.st_size}:{lies.st_mtime_ns}"
        is_through = entry.status in ("failed", "unsupported", "empty") or now.chunks_indexed > 0
        return is_taken and entry.owner is None and is_through

    def _enqueue(self, job: Job) -> None:
        with self._lock:
            self._jobs[job.job_id] = job
            self._ends[job.job_id] = Future()
        self._waiting.put(job.job_id)

    def _work(self) -> None:
        while (job_id := self._waiting.get()) != _END:
            with self._lock:
                job = self._jobs[job_id] = replace(self._jobs[job_id], started=True)
                end = self._ends[job_id]
            done = self._done(job)
            is_recorded = self._recorded(done)
            with self._lock:
                self.ended_by_status[done.status] += 1
                del self._ends[job_id]
                if is_recorded:
                    del self._jobs[job_id]  # its file tells the rest
                else:
                    self._jobs[job_id] = done
            end.set_result(done)

    def _recorded(self, job: Job) -> bool:
        try:
            self._write(job)
        except RagError as error:
            _log.error("job %s cannot be recorded: %s", job.job_id, error)
            return False
        return True

    def _done(self, job: Job) -> Job:
        """Do a job and return it ended."""
        error: str | None = None
        documents: tuple[Ingested, ...] = ()
        password = self._passwords.pop(job.job_id, "")
        try:
            documents = tuple(ingestion.ingest(self._system, job.named, password=password, force=job.force))
        except RagError as problem:
            _log.error("job %s: %s", job.job_id, problem)
            error, documents = str(problem), self._looked_at(job)
        except Exception:  # a fault of ours ends this job and not the thread that does the others
            _log.exception("job %s", job.job_id)
            error = "internal error; the service's log has the details"
        return replace(job, finished_at=time.time(), error=error, documents=documents)

    def _write(self, job: Job) -> None:
        write_json(self._folder / f"{job.job_id}.json", asdict(job))
