"""Tasks for processes of their own, which find them by this module."""

from __future__ import annotations

import os
import signal
import time

from rag_platform.errors import ParseError
from rag_platform.parsing.reading import ParseOptions
from rag_platform.parsing.worker import Job

__all__ = ["crash", "pid", "refuse", "sleep"]


def pid(job: Job, options: ParseOptions) -> int:
    return os.getpid()


def refuse(job: Job, options: ParseOptions) -> int:
    raise ParseError(f"{job.source!r} is refused")


def crash(job: Job, options: ParseOptions) -> int:
    os.kill(os.getpid(), signal.SIGSEGV)
    return 0


def sleep(job: Job, options: ParseOptions) -> int:
    time.sleep(60)
    return 0
