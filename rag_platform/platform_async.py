"""``AsyncRagPlatform``: ``RagPlatform`` for asyncio; every call does its work in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from rag_platform.platform import RagPlatform
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.talk import AsyncConversation, Names

if TYPE_CHECKING:
    from rag_platform.answering.ask import Event

__all__ = ["AsyncRagPlatform"]

_THREADS = 8

P = ParamSpec("P")
R = TypeVar("R")


def _threaded(
    method: Callable[Concatenate[RagPlatform, P], R],
) -> Callable[Concatenate[AsyncRagPlatform, P], Awaitable[R]]:
    """Return a method that does its work in a thread."""

    @wraps(method)
    async def call(self: AsyncRagPlatform, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.off_loop(partial(method, self.platform, *args, **kwargs))

    return call


class AsyncRagPlatform:
    """``RagPlatform`` for asyncio: the same methods, awaited; no work is done on the event loop.

    Usable as an asynchronous context manager.

    Args:
        settings: None: those of the environment and ``.env``.
        system: A wired system instead, which is left open when this closes.
    """

    def __init__(self, settings: Settings | None = None, *, system: System | None = None) -> None:
        self.platform = RagPlatform(settings, system=system)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="rag")

    ingest = _threaded(RagPlatform.ingest)
    ingest_folder = _threaded(RagPlatform.ingest_folder)
    add_text = _threaded(RagPlatform.add_text)
    documents = _threaded(RagPlatform.documents)
    document = _threaded(RagPlatform.document)
    delete = _threaded(RagPlatform.delete)
    search = _threaded(RagPlatform.search)
    search_batch = _threaded(RagPlatform.search_batch)
    explain = _threaded(RagPlatform.explain)
    ask = _threaded(RagPlatform.ask)
    collections = _threaded(RagPlatform.collections)
    models = _threaded(RagPlatform.models)
    info = _threaded(RagPlatform.info)
    evaluate = _threaded(RagPlatform.evaluate)
    leaderboard = _threaded(RagPlatform.leaderboard)

    @classmethod
    def at(cls, home: str | Path, **settings: object) -> Self:
        """Open the platform that stores everything in a folder; settings by their names."""
        return cls(Settings.load(Path(".env"), RAG_HOME=home, **settings))

    async def stream(self, question: str, *, collection: Names = None) -> AsyncIterator[Event]:
        """Yield the sources, then the words of the answer as they are checked, then the reply."""
        events = await self.off_loop(partial(self.platform.stream, question, collection=collection))
        while (event := await self.off_loop(partial(next, events, None))) is not None:
            yield event

    def chat(self, *, collection: Names = None, generator: str | None = None) -> AsyncConversation:
        """Begin a conversation, in which follow-ups are understood."""
        return AsyncConversation(self, collection, generator)

    async def close(self) -> None:
        """Wait for what is running, then let go of models and files."""
        await asyncio.to_thread(self._threads.shutdown)
        self.platform.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def off_loop(self, work: Callable[[], R]) -> R:
        """Do some work in one of the platform's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
