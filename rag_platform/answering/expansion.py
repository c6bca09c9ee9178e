"""A question in other words, written by a model, so that a search finds passages that put it otherwise.

One short call with a time limit. Whatever goes wrong, the question is searched as it stands, and a note says
so: other words only ever add to a search. How rankings are joined stands in ``retrieval``.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

import regex

from rag_platform.answering.chat import Chat, Message, Said
from rag_platform.errors import CallerError, RagError
from rag_platform.text.normalize import search_key, stored_text
from rag_platform.types import Usage
from rag_platform.watching import step

__all__ = ["MOST", "Expander"]

MOST = 4
"""Other wordings of a question at most."""
_LONGEST = 500
"""Characters of a wording; what a model writes beyond is none."""
_LIST = regex.compile(r"\[.*\]", regex.S)
_TASK = (
    "Put a question that is asked to a search over documents in Nepali and English into {n} other wordings:"
    " the same question in the other language, in plain everyday words, in the words that an official"
    " document would use. Keep names, numbers and dates as they are. Add nothing and answer nothing. Write a"
    ' JSON list of {n} strings and nothing else, as ["...", "..."].'
)


class Expander:
    """Writes other wordings of what is searched for one answer.

    Args:
        chat: The model that writes them.
        n: Wordings of each question; 0: none, and the model is not asked.
        seconds: That all calls for this answer may take together.

    Attributes:
        usage: What the model took, as far as it answered in time.
        notes: What went wrong.
    """

    def __init__(self, chat: Chat, n: int, seconds: float) -> None:
        if not 0 <= n <= MOST:
            raise CallerError(f"{n} other wordings are asked for, allowed are 0 to {MOST}")
        self._chat, self._n, self._left_s = chat, n, seconds
        self.usage, self.notes = Usage(), list[str]()

    def wordings(self, question: str) -> tuple[str, ...]:
        """Return a question in other words; none where the model failed or took too long."""
        if self._n == 0:
            return ()
        began = time.monotonic()
        try:
            with step("expansion"):
                said = _within(self._left_s, self._chat, _messages(question, self._n))
        except RagError as error:
            return self._none(f"the model failed ({error})")
        finally:
            self._left_s -= time.monotonic() - began
        if said is None:
            return self._none("the model took too long")
        self.usage += said.usage
        return _read(said.text, question)[: self._n] or self._none("the model wrote no other wording")

    def _none(self, why: str) -> tuple[str, ...]:
        self.notes.append(f"{why}: the question was searched as it stands")
        return ()


def _messages(question: str, n: int) -> list[Message]:
    return [{"role": "system", "content": _TASK.format(n=n)}, {"role": "user", "content": question}]


def _within(seconds: float, chat: Chat, messages: Sequence[Message]) -> Said | None:
    """Return what a model says, None where it has not said all of it in time.

    A call cannot be taken back: one that is late goes on in its thread until the next word comes, or until
    the model's own time limit, and is heard no further.
    """
    if seconds <= 0:
        return None
    heard: SimpleQueue[Said | Exception] = SimpleQueue()
    late = threading.Event()

    def listen() -> None:
        try:
            for piece in chat.stream(messages):
                if late.is_set():
                    return
                if isinstance(piece, Said):
                    heard.put(piece)
        except Exception as error:  # raised again by who waits for it
            heard.put(error)

    threading.Thread(target=copy_context().run, args=(listen,), daemon=True, name="expansion").start()
    try:
        answer = heard.get(timeout=seconds)
    except Empty:
        late.set()
        return None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _read(text: str, question: str) -> tuple[str, ...]:
    """Return the wordings in what a model wrote, each once, without the question itself.

    >>> _read('Here: ["कर कहिले तिर्ने?", "When is tax due?", "When is tax due?", 7, ""]', "कर कहिले तिर्ने?")
    ('When is tax due?',)
    >>> _read('["broken', "कर कहिले तिर्ने?")
    ()
    """
    found = _LIST.search(text)
    try:
        listed: Any = json.loads(found[0]) if found else []
    except (ValueError, RecursionError):
        return ()
    known, wordings = {_key(question)}, list[str]()
    for one in listed:
        wording = stored_text(one).strip() if isinstance(one, str) else ""
        if wording and len(wording) <= _LONGEST and _key(wording) not in known:
            known.add(_key(wording))
            wordings.append(wording)
    return tuple(wordings)


def _key(text: str) -> str:
    return " ".join(regex.findall(r"[\p{L}\p{M}\p{N}]+", search_key(text)))
