"""Many files parsed at once, each in a process of its own with limits: a bad one harms only itself.

A file that crashes its reader, hangs or fills the memory becomes an error of that document, and a fresh
process takes the next. What a file contains is the readers' business; what runs in the process stands in
``worker``.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeVar, cast

from rag_platform.errors import EnvironmentProblem, ParseError, RagError
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.sniff import sniff
from rag_platform.parsing.worker import READY, Job, Task, attempt, parse_job, receive, send
from rag_platform.types import Document

__all__ = ["Job", "Limits", "Standby", "do_all", "parse_all"]

_T = TypeVar("_T")

_INLINE_BYTES = {**dict.fromkeys(("txt", "md", "csv", "tsv", "jsonl"), 1 << 20), "html": 1 << 15}
"""Files of text up to these sizes are parsed in the calling process: starting another costs more.

Of HTML only small ones: no parser is quick with tags in tags in tags."""
_START_S = 120.0
"""A process that is not ready by then never will be; a cold, busy machine takes seconds."""
_LOOK_S = 0.25
_IDLE_S = 60.0
_BOOT = "import sys; sys.path[:] = {path!r}; from rag_platform.parsing.worker import serve; serve({memory})"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one document may take: ``RAG_PARSE_TIMEOUT_S`` and ``RAG_PARSE_MEMORY_MB``."""

    timeout_s: float = 3_600.0
    memory_mb: int = 4_096


_DEFAULT_LIMITS = Limits()


def parse_all(
    jobs: Sequence[Job], options: ParseOptions, *, workers: int = 0, limits: Limits = _DEFAULT_LIMITS
) -> Iterator[tuple[str, Document | RagError]]:
    """Parse files and yield ``(key, document or error)`` as each is done; see ``do_all``."""
    return do_all(parse_job, jobs, options, workers=workers, limits=limits)


def do_all(
    task: Callable[[Job, ParseOptions], _T],
    jobs: Sequence[Job],
    options: ParseOptions,
    *,
    workers: int = 0,
    limits: Limits = _DEFAULT_LIMITS,
) -> Iterator[tuple[str, _T | RagError]]:
    """Do a task for files and yield ``(key, result or error)`` as each is done.

    Args:
        task: A function of a module, or a ``partial`` of one.
        jobs: The files.
        options: How they are read.
        workers: Processes at once; 0: one a core.
        limits: What each file may take.

    Raises:
        EnvironmentProblem: No process can be started at all.
    """
    heavy = []
    for job in jobs:
        if _is_light(job):
            yield job.key, cast("_T | RagError", attempt(task, job, options))
        else:
            heavy.append(job)
    if heavy:
        pool = _Pool(task, heavy, options, limits)
        with contextlib.closing(pool):
            for key, result in pool.results(min(workers or os.cpu_count() or 1, len(heavy))):
                yield key, cast("_T | RagError", result)


def _is_light(job: Job) -> bool:
    """Say whether a file is small and of text alone, by its content: a name can be wrong."""
    try:
        return job.path.stat().st_size <= _INLINE_BYTES.get(sniff(job.path, job.source), 0)
    except Exception:  # refused at first sight: the parser says why
        return True


@dataclass
class _Process:
    """One process and what it is doing; ``verdict`` says why it was ended before its time."""

    popen: subprocess.Popen[bytes]
    job: Job | None = None
    deadline: float = 0.0
    verdict: str = ""

    @classmethod
    def start(cls, limits: Limits) -> _Process:
        """Start a process.

        Raises:
            EnvironmentProblem: It does not come up.
        """
        boot = _BOOT.format(path=sys.path, memory=limits.memory_mb << 20)
        try:
            # A session of its own: one signal ends it together with the OCR that it started.
            popen = subprocess.Popen(
                [sys.executable, "-c", boot],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, TypeError) as error:
            raise _no_process(str(error)) from error
        return cls(popen, deadline=time.monotonic() + _START_S)

    def wait_until_ready(self) -> None:
        """Return once it can take jobs."""
        try:
            if receive(self._stdout) == READY:
                return
        except EOFError:
            pass
        raise _no_process(self.verdict or f"it ended with status {self.popen.wait()} before it was ready")

    def do(self, task: Task, job: Job, options: ParseOptions, timeout_s: float) -> object:
        """Have a task done for a file; the end of the process is an error of that file."""
        self.job, self.deadline = job, time.monotonic() + timeout_s
        try:
            send(self._stdin, (task, job, options))
            result = receive(self._stdout)
        except (EOFError, OSError):
            return ParseError(f"{job.source!r} cannot be read: {self.verdict or self._end()}")
        self.job = None
        return result

    def _end(self) -> str:
        status = self.popen.wait()
        if status == -signal.SIGKILL:
            return "the system ended its reader, most likely for want of memory; lower RAG_WORKERS"
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        return f"its reader crashed ({how}); is the file damaged?"

    def kill(self, verdict: str = "") -> None:
        """End the process with everything it started."""
        self.verdict = self.verdict or verdict
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and forget it."""
        self.kill()
        self._stdout.close()
        with contextlib.suppress(OSError):  # what was not sent any more
            self._stdin.close()
        self.popen.wait()

    @property
    def _stdin(self) -> BinaryIO:
        return cast(BinaryIO, self.popen.stdin)

    @property
    def _stdout(self) -> BinaryIO:
        return cast(BinaryIO, self.popen.stdout)


class Standby:
    """A process for single tasks, one at a time, that stays up a while so that the next finds it ready.

    Args:
        limits: What each task may take.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._idle: threading.Timer | None = None

    def do(self, task: Callable[[Job, ParseOptions], _T], job: Job, options: ParseOptions) -> _T:
        """Do a task for a file, when those that came before are done.

        Raises:
            RagError: The task's; a ``ParseError`` where the process crashed, or was ended at a limit.
        """
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            process = self._ready()
            timeout_s = self._limits.timeout_s
            verdict = f"it takes longer than {timeout_s:g} s"
            with _ended_after(process, timeout_s, verdict):
                result = process.do(task, job, options, timeout_s)
            if process.job is not None:
                self._end()
            self._idle = threading.Timer(_IDLE_S, self._end_idle)
            self._idle.daemon = True
            self._idle.start()
        if isinstance(result, Exception):
            raise result
        return cast(_T, result)

    def close(self) -> None:
        """End the process; another task would start another."""
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            self._end()

    def _ready(self) -> _Process:
        """Return the process, or a new one where it has ended meanwhile."""
        if self._process is not None and self._process.popen.poll() is None:
            return self._process
        self._end()
        process = self._process = _Process.start(self._limits)
        try:
            with _ended_after(process, _START_S, f"it was not ready after {_START_S:g} s"):
                process.wait_until_ready()
        except EnvironmentProblem:
            self._end()
            raise
        return process

    def _end_idle(self) -> None:
        if self._lock.acquire(blocking=False):  # else it is not idle
            self._end()
            self._lock.release()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


@contextlib.contextmanager
def _ended_after(process: _Process, seconds: float, verdict: str) -> Iterator[None]:
    """End a process with a verdict where the block takes longer."""
    timer = threading.Timer(seconds, process.kill, [verdict])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _no_process(why: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"no process for parsing can be started ({why}); look at the lines above, free memory or raise "
        "RAG_PARSE_MEMORY_MB"
    )


class _Pool:
    """Threads that each keep one process busy, and the caller's thread, which watches their limits."""

    def __init__(self, task: Task, jobs: Sequence[Job], options: ParseOptions, limits: Limits) -> None:
        self._task = task
        self._waiting, self._n_jobs = deque(jobs), len(jobs)
        self._options, self._limits = options, limits
        self._results: queue.SimpleQueue[tuple[Job, object] | EnvironmentProblem] = queue.SimpleQueue()
        self._processes: dict[int, _Process] = {}
        self._threads: list[threading.Thread] = []

    def results(self, n_workers: int) -> Iterator[tuple[str, object]]:
        """Yield ``(key, result or error)`` of every job."""
        for slot in range(n_workers):
            thread = threading.Thread(target=self._work, args=(slot,), name=f"parse-{slot}", daemon=True)
            self._threads.append(thread)
            thread.start()
        looked = time.monotonic()
        n_done = 0
        while n_done < self._n_jobs:
            with contextlib.suppress(queue.Empty):
                got = self._results.get(timeout=_LOOK_S)
                if isinstance(got, EnvironmentProblem):
                    raise got
                job, result = got
                if isinstance(result, Exception) and not isinstance(result, RagError):
                    raise result
                n_done += 1
                yield job.key, result
            if time.monotonic() - looked >= _LOOK_S:
                self._look()
                looked = time.monotonic()

    def _work(self, slot: int) -> None:
        """Have jobs parsed one after another, in a fresh process after one that ended."""
        process: _Process | None = None
        try:
            while self._waiting:
                if process is None:
                    process = self._processes[slot] = _Process.start(self._limits)
                    process.wait_until_ready()
                try:
                    job = self._waiting.popleft()
                except IndexError:  # another thread took it
                    break
                self._results.put((job, process.do(self._task, job, self._options, self._limits.timeout_s)))
                if process.job is not None:
                    self._processes.pop(slot).close()
                    process = None
        except EnvironmentProblem as error:
            self._results.put(error)
        finally:
            if process is not None:
                process.close()
                self._processes.pop(slot, None)

    def _look(self) -> None:
        """End the processes that are over a limit."""
        processes = list(self._processes.values())
        memory = _memory({process.popen.pid for process in processes})
        for process in processes:
            used_mb = memory[process.popen.pid] >> 20
            if time.monotonic() > process.deadline:
                process.kill(self._overdue(process))
            elif used_mb > self._limits.memory_mb:
                process.kill(
                    f"it needs more than {self._limits.memory_mb} MB; split it, or raise RAG_PARSE_MEMORY_MB"
                )

    def _overdue(self, process: _Process) -> str:
        if process.job is None:
            return f"it was not ready after {_START_S:g} s"
        return f"it takes longer than {self._limits.timeout_s:g} s; split it, or raise RAG_PARSE_TIMEOUT_S"

    def close(self) -> None:
        """End whatever still runs."""
        self._waiting.clear()
        for process in list(self._processes.values()):
            process.kill()
        for thread in self._threads:
            thread.join()


def _memory(groups: set[int]) -> dict[int, int]:
    """Return the bytes in use of each process group: a reader and the OCR that it started."""
    import psutil

    used = dict.fromkeys(groups, 0)
    for pid in psutil.pids():
        try:
            group = os.getpgid(pid)
            if group in used:
                used[group] += psutil.Process(pid).memory_info().rss
        except (ProcessLookupError, PermissionError, psutil.Error):  # ended meanwhile, or not ours
            continue
    return used
