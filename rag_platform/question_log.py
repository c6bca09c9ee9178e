"""``QuestionLog``: what people asked a service and what they were shown; off unless it is wanted.

JSON Lines below the home, ``logs/questions.jsonl`` and older ones beside it, bounded. Nothing of who asked is
kept. Sets are made of it by ``evaluation.question_sets.from_log``.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from rag_platform.errors import Busy, RagError
from rag_platform.moments import utc
from rag_platform.storage import storage_errors
from rag_platform.types import Hit

__all__ = ["QuestionLog"]

_log = logging.getLogger(__name__)

_NAME = "questions"
_MOST_BYTES = 10 << 20
_OLDER = 4
"""Files beside the one that is written, so that all together have 50 MB at most."""
_WAIT_S = 2.0
_BREAKS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
"""What JSON leaves as it is and some readers take for the end of a line."""


class QuestionLog:
    """Questions on disk; safe for several threads and processes at once.

    Args:
        folder: Where the files are; made with the first question.
        most_bytes: Of one file; then another is begun, and the oldest goes.
        older: How many are kept beside it.
    """

    def __init__(self, folder: Path, *, most_bytes: int = _MOST_BYTES, older: int = _OLDER) -> None:
        self.folder, self._most_bytes, self._older = folder, most_bytes, older
        self._lock = threading.Lock()
        self._file_lock = FileLock(folder / f".{_NAME}.lock", timeout=_WAIT_S)

    @classmethod
    def of(cls, home: Path) -> Self:
        """Return the log of the services of a home."""
        return cls(home / "logs")

    @property
    def path(self) -> Path:
        """The file that is written."""
        return self.folder / f"{_NAME}.jsonl"

    @property
    def files(self) -> list[Path]:
        """The files that there are, oldest first."""
        named = [*(self._old(n) for n in range(self._older, 0, -1)), self.path]
        return [path for path in named if path.is_file()]

    def keep(
        self,
        question: str,
        hits: Sequence[Hit],
        generations: Mapping[str, int],
        *,
        standalone: str = "",
        refused: bool | None = None,
    ) -> None:
        """Keep a question; where that cannot be, the log says so, and the answer goes on.

        Args:
            question: As it was asked.
            hits: What was shown.
            generations: The generation that was searched of each collection.
            standalone: The question with its topic, where it was a follow-up.
            refused: Whether an answer was refused; None where none was asked for.
        """
        value = {
            "time": utc(time.time()),
            "question": question,
            **({"standalone": standalone} if standalone and standalone != question else {}),
            "generations": dict(generations),
            "documents": list(dict.fromkeys(hit.chunk.document_id for hit in hits)),
            "refused": refused,
        }
        text = json.dumps(value, ensure_ascii=False).translate(_BREAKS)
        line = text.encode("utf-8", "replace") + b"\n"
        try:
            self._append(line)
        except RagError as error:
            _log.warning("a question is not kept: %s", error)

    def _append(self, line: bytes) -> None:
        with storage_errors("write", self.path), self._lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                with self._file_lock:
                    self._write(line)
            except Timeout as error:
                raise Busy(f"{self.path} was locked for {_WAIT_S:g} s by another process") from error

    def _write(self, line: bytes) -> None:
        if self.path.exists() and self.path.stat().st_size + len(line) > self._most_bytes:
            self._turn()
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                if file.write(line) != len(line):
                    raise OSError(28, "No space left on device")
            except OSError:
                file.truncate(size)  # half a line would spoil the next one, too
                raise

    def _turn(self) -> None:
        """Begin another file."""
        for n in range(self._older, 1, -1):
            if self._old(n - 1).exists():
                self._old(n - 1).replace(self._old(n))
        if self._older:
            self.path.replace(self._old(1))
        else:
            self.path.unlink()

    def _old(self, n: int) -> Path:
        return self.folder / f"{_NAME}.{n}.jsonl"
