"""Many files parsed at once, in processes of their own: a reader that crashes takes one document with it.

What a file contains is the readers' business.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from rag_platform.errors import ParseError, RagError
from rag_platform.parsing.parse import ParseOptions, parse_file
from rag_platform.types import Document

__all__ = ["Job", "parse_all"]

_INLINE_BYTES = 1 << 20
"""Files of markup up to this size are parsed in the calling process: starting another costs more."""

_INLINE_SUFFIXES = {".txt", ".md", ".markdown", ".html", ".htm"}


@dataclass(frozen=True, slots=True)
class Job:
    """A file to parse: its key, where its bytes are, and the name that readers are to know it by."""

    key: str
    path: Path
    source: str
    collection: str


def parse_all(
    jobs: Sequence[Job], options: ParseOptions, *, workers: int = 0
) -> Iterator[tuple[str, Document | RagError]]:
    """Parse files and yield ``(key, document or error)`` as each is done.

    Args:
        jobs: What to parse.
        options: How.
        workers: Processes at once; 0: one a core.
    """
    inline = [job for job in jobs if _is_light(job)]
    inline_keys = {job.key for job in inline}
    heavy = [job for job in jobs if job.key not in inline_keys]
    for job in inline:
        yield job.key, _parse(job, options)
    if not heavy:
        return
    n_workers = min(workers or os.cpu_count() or 1, len(heavy))
    crashed: list[Job] = []
    for job, result in _in_pool(heavy, options, n_workers):
        if result is None:
            crashed.append(job)
        else:
            yield job.key, result
    for job in crashed:  # one broken process takes the whole pool down: find whose fault it was
        (_, result), *_ = _in_pool([job], options, 1)
        yield job.key, result or ParseError(f"the reader of {job.source!r} crashed; is the file damaged?")


def _in_pool(
    jobs: Sequence[Job], options: ParseOptions, n_workers: int
) -> Iterator[tuple[Job, Document | RagError | None]]:
    """Yield results as they come, None for a job whose process died."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, mp_context=context) as pool:
        waiting: dict[Future[Document | RagError], Job] = {
            pool.submit(_parse, job, options): job for job in jobs
        }
        for future in as_completed(waiting):
            job = waiting.pop(future)
            try:
                result = future.result()
            except BrokenProcessPool:
                yield job, None
            else:
                yield job, result


def _is_light(job: Job) -> bool:
    return Path(job.source).suffix.lower() in _INLINE_SUFFIXES and job.path.stat().st_size <= _INLINE_BYTES


def _parse(job: Job, options: ParseOptions) -> Document | RagError:
    try:
        return parse_file(job.path, source=job.source, collection=job.collection, options=options)
    except RagError as error:
        return error
