"""The process that one document at a time is read in: jobs come in on stdin, results go out on stdout.

Started by ``pool`` and by nothing else. It ends when its stdin closes, with everything it started: an OCR
whose caller was killed must not go on for minutes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from rag_platform.errors import ParseError, RagError
from rag_platform.parsing.reading import ParseOptions
from rag_platform.types import Document

__all__ = ["READY", "Job", "Task", "attempt", "parse_job", "receive", "send", "serve"]

READY = "ready"
_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Job:
    """A file to parse: its key, where its bytes are, and the name that readers are to know it by."""

    key: str
    path: Path
    source: str
    collection: str


Task = Callable[[Job, ParseOptions], object]
"""What is done with a file; it goes to the other process by its name, so it stands in a module."""


def parse_job(job: Job, options: ParseOptions) -> Document:
    """Parse one file."""
    from rag_platform.parsing.parse import parse_file

    return parse_file(job.path, source=job.source, collection=job.collection, options=options)


def attempt(task: Task, job: Job, options: ParseOptions) -> object:
    """Do one task; an error of ours is a result, too."""
    try:
        return task(job, options)
    except RagError as error:
        return error


def send(stream: BinaryIO, value: object) -> None:
    """Write a value so that ``receive`` knows where it ends."""
    content = pickle.dumps(value)
    stream.write(len(content).to_bytes(_LENGTH_BYTES, "big") + content)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Read what ``send`` wrote.

    Raises:
        EOFError: The other side is gone.
    """
    return pickle.loads(_exactly(stream, int.from_bytes(_exactly(stream, _LENGTH_BYTES), "big")))


def _exactly(stream: BinaryIO, n_bytes: int) -> bytes:
    content = bytearray()
    while len(content) < n_bytes:
        piece = stream.read(n_bytes - len(content))
        if not piece:
            raise EOFError("the other process is gone")
        content += piece
    return bytes(content)


def serve(memory_bytes: int) -> None:
    """Answer jobs until stdin closes."""
    # What a library prints must not get between results, and what it starts must not read our jobs.
    # Without a buffer, whose lock the listening thread would hold when the interpreter ends.
    jobs_in = cast(BinaryIO, os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0))
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit_memory(memory_bytes)
    jobs: queue.SimpleQueue[tuple[Task, Job, ParseOptions]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs_in, jobs), daemon=True).start()
    import rag_platform.parsing.parse  # noqa: F401  # ready means: nothing is left to import

    send(out, READY)
    while True:
        send(out, _guarded(*jobs.get(), memory_bytes))


def _guarded(task: Task, job: Job, options: ParseOptions, memory_bytes: int) -> object:
    try:
        return _portable(attempt(task, job, options))
    except MemoryError:
        return ParseError(
            f"{job.source!r} needs more than {memory_bytes >> 20} MB to be read; split it, or raise "
            "RAG_PARSE_MEMORY_MB"
        )
    except Exception as error:  # a fault of the program: it is raised again in the caller's process
        error.add_note(traceback.format_exc())
        return _portable(error)


def _portable(result: object) -> object:
    """Return a result that survives the way to another process; not every exception does."""
    if isinstance(result, Exception):
        try:
            pickle.loads(pickle.dumps(result))
        except Exception:  # whatever its own constructor does
            kind = RagError if isinstance(result, RagError) else RuntimeError
            return kind(f"{type(result).__name__}: {result}")
    return result


def _listen(stream: BinaryIO, jobs: queue.SimpleQueue[tuple[Task, Job, ParseOptions]]) -> None:
    with contextlib.suppress(EOFError):
        while True:
            jobs.put(receive(stream))  # type: ignore[arg-type]  # our own pool sends nothing else
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _limit_memory(memory_bytes: int) -> None:
    """Let the system refuse what goes beyond, so that no burst between two looks of the pool fills it."""
    try:
        import resource
    except ImportError:  # not on Windows, where the pool's looks must do
        return
    limit = memory_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
