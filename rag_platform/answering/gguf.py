"""Language models in GGUF files, served by processes of the platform's own on this machine.

When they start, end and start again; what is asked of them goes over HTTP as to any other server, and the
process itself is ``gguf_server``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import regex

from rag_platform.errors import InvalidSetting, MissingDependency, PromptTooLong, UpstreamError

__all__ = ["INSTALL_LOCAL", "Engine", "Engines", "require_gguf"]

INSTALL_LOCAL = "pip install 'rag-platform[local]'"
_MAGIC = b"GGUF"
_SERVER = Path(__file__).with_name("gguf_server.py")
_EDGE = 1 << 20
"""Bytes at either end of a file that tell it from another: what it says of itself, and weights."""
_READY_S = 300.0
"""Seconds that loading a file may take."""
_AGAIN_S = 60.0
"""Seconds from its second start until an engine that died again is started a third time."""
_END_S = 5.0
_COUNT_S = 10.0
_SHARE = 4
"""A quarter of the context is left for the answer, unless it may have less."""
_TOLD = regex.compile(r"^[\d.]+ E (.*)$", regex.MULTILINE)
"""An error among what the engine writes."""


class Engine:
    """One file and the process that serves it: started when it is first asked for, once more if it dies.

    Safe to share between threads. The process ends with this one, also when this one is killed.

    Args:
        file: A GGUF file; of a file in parts, the first.
        context: Tokens that prompt and answer may have together; 0: what the file says.
        threads: Threads that compute; 0: as many as the engine takes.

    Raises:
        InvalidSetting: There is no such file, or it is none.
        MissingDependency: The engine is not installed.
    """

    def __init__(self, file: Path, *, context: int = 0, threads: int = 0) -> None:
        require_gguf(file)
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingDependency(f"{file.name} needs xllamacpp, which serves it: {INSTALL_LOCAL}")
        self.file, self._context, self._threads = file, context, threads
        self.key = secrets.token_urlsafe(24)
        self._process: _Process | None = None
        self._is_second = False
        self._lock = threading.Lock()

    @cached_property
    def recipe(self) -> str:
        """What decides the answers: the file by its content, and the context."""
        with self.file.open("rb") as file:
            digest = sha256(file.read(_EDGE))
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _EDGE))
            digest.update(file.read())
        return f"gguf {size} {digest.hexdigest()[:16]}, context {self._context or 'own'}"

    def base_url(self) -> str:
        """Return where it answers, as OpenAI's servers do; blocks while the file is loaded.

        Raises:
            UpstreamError: It cannot be loaded, or died soon after it was started again.
        """
        with self._lock:
            if self._process is None or self._process.ended() is not None:
                self._start()
            assert self._process is not None
            return f"{self._process.address}/v1"

    def require_room(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any], answer: int) -> None:
        """Refuse a conversation behind which an answer finds no room: it would end after a few words.

        Args:
            messages: The conversation.
            tools: That are offered.
            answer: Tokens that the answer may have; a quarter of the context is enough.

        Raises:
            PromptTooLong: It is longer than what the file's model can read beside an answer.
            UpstreamError: The file cannot be loaded.
        """
        import httpx

        base, key = self.base_url().removesuffix("/v1"), {"authorization": f"Bearer {self.key}"}
        asked = {"messages": [*messages], **({"tools": [*tools]} if tools else {})}
        try:
            with httpx.Client(base_url=base, headers=key, timeout=_COUNT_S, trust_env=False) as client:
                context = client.get("/props").json()["default_generation_settings"]["n_ctx"]
                prompt = client.post("/apply-template", json=asked).json()["prompt"]
                n_read = len(client.post("/tokenize", json={"content": prompt}).json()["tokens"])
        except (httpx.TransportError, KeyError):
            return  # it died, or its template refuses such a conversation: the question itself will tell
        room = min(answer, context // _SHARE)
        if n_read + room > context:
            raise PromptTooLong(
                f"{self.file.name} reads {context} tokens (RAG_LOCAL_CONTEXT): {n_read} of the question and"
                f" {room} of its answer are more; ask with fewer passages or a shorter history",
                status=400,
            )

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.close()
            self._process = None

    def _start(self) -> None:
        died = self._process
        if died is not None:
            died.close()
            if self._is_second and time.monotonic() - died.began < _AGAIN_S:
                raise UpstreamError(
                    f"the engine of {self.file.name} died twice (exit code {died.ended()}): {died.said()};"
                    f" try again in {_AGAIN_S:g} s, lower RAG_LOCAL_CONTEXT, or use another file"
                )
        self._is_second, self._process = died is not None, None
        self._process = _Process(self.key, self.file, self._context, self._threads, os.getpid())


class Engines:
    """The engines of some files, each made when it is first asked for.

    Args:
        context: Of each.
        threads: Of each.
    """

    def __init__(self, *, context: int, threads: int) -> None:
        self._context, self._threads = context, threads
        self._engines: dict[Path, Engine] = {}
        self._lock = threading.Lock()

    def of(self, file: Path) -> Engine:
        """Return the engine of a file; nothing is started.

        Raises:
            InvalidSetting: There is no such file, or it is none.
            MissingDependency: The engine is not installed.
        """
        path = file.expanduser().absolute()
        with self._lock:
            if path not in self._engines:
                self._engines[path] = Engine(path, context=self._context, threads=self._threads)
            return self._engines[path]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            for engine in self._engines.values():
                engine.close()


class _Process:
    """A running server.

    Raises:
        UpstreamError: It ended before it was ready, or is not ready in time.
    """

    def __init__(self, key: str, file: Path, *numbers: int) -> None:
        self.began, self._said = time.monotonic(), ""
        # it lives as long as the process
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        # a session of its own: Ctrl-C in a chat stops an answer, not the model
        self._popen = subprocess.Popen(
            [sys.executable, "-P", str(_SERVER), str(file), *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self.address = self._listening(key)
        if not self.address:
            code = self.close()
            late = time.monotonic() - self.began > _READY_S
            reason = f"was not ready within {_READY_S:g} s" if late else f"ended with code {code}"
            raise UpstreamError(
                f"the engine of {file.name} {reason}: {self.said()}; use another file, or set"
                " RAG_LOCAL_CONTEXT lower"
            )

    def _listening(self, key: str) -> str:
        """Return the address once the file is loaded, an empty text where it never is."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        patience = threading.Timer(_READY_S, self._popen.kill)
        patience.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self._popen.stdin.write(f"{key}\n".encode())
                self._popen.stdin.flush()
            return self._popen.stdout.readline().decode().strip().rstrip("/")
        finally:
            patience.cancel()

    def ended(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._popen.poll()

    def said(self) -> str:
        """Return the first error that the engine told of, else the last of what it said."""
        if not self._log.closed:
            self._log.seek(0)
            said = self._log.read(20_000).decode(errors="replace")
            error = _TOLD.search(said)
            self._said = (error[1] if error else " ".join(said.split())[-300:]) or "no reason given"
        return self._said

    def close(self) -> int:
        """End it and return its exit code."""
        self._popen.terminate()
        try:
            code = self._popen.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            code = self._popen.wait()
        self.said()
        for pipe in (self._popen.stdin, self._popen.stdout, self._log):
            assert pipe is not None
            pipe.close()
        return code


def require_gguf(file: Path) -> None:
    """Refuse what cannot be served, before anything is started.

    Raises:
        InvalidSetting: There is no such file, it cannot be read, or it is none.
    """
    try:
        with file.open("rb") as opened:
            magic = opened.read(len(_MAGIC))
    except OSError as error:
        raise InvalidSetting(
            f"the model file {file} cannot be read: {error.strerror}; set RAG_LOCAL_MODEL to a GGUF file"
        ) from error
    if magic != _MAGIC:
        raise InvalidSetting(f"{file} is no GGUF file: it begins with {magic!r}; set RAG_LOCAL_MODEL to one")
