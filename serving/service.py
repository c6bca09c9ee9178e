"""What the routes share: the wired platform, the limit on model work, and the state of the model.

No HTTP here: values of the library in, bodies of ``schemas`` out. Whatever a method does is done in a thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

import anyio
import anyio.to_thread

from rag_platform.answering.conversations import Conversations
from rag_platform.answering.reply import Event, Reply
from rag_platform.embedding.encoders import can_load, resolve
from rag_platform.errors import MissingDependency, RagError, UnknownName
from rag_platform.listing import among
from rag_platform.platform import RagPlatform
from rag_platform.retrieval.filters import Filters, parse_filters
from rag_platform.retrieval.options import SearchOptions
from rag_platform.system import System
from serving.ingestions import Ingestions
from serving.schemas.ask import AskAnswer, AskRequest
from serving.schemas.search import SearchAnswer, SearchedBody, SearchRequest
from serving.schemas.state import NotReadyAnswer, ReadyAnswer

__all__ = ["Asked", "Service"]

_log = logging.getLogger(__name__)

SEARCHES_AT_ONCE = 8
"""Threads that may encode and search together; the rest wait their turn without holding the event loop."""

T = TypeVar("T")


class Service:
    """A wired system as the routes use it."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.platform = RagPlatform(system=system)
        self.ingestions = Ingestions(system)
        self.conversations = Conversations(system.home / "conversations.sqlite")
        self.limiter = anyio.CapacityLimiter(SEARCHES_AT_ONCE)
        self.model_problem = "the embedding model is still loading"

    def close(self) -> None:
        """Let what is being ingested end, and close the conversations; the system stays open."""
        self.ingestions.stop()
        self.conversations.close()

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread; at most ``SEARCHES_AT_ONCE`` run at the same time."""
        return await anyio.to_thread.run_sync(work, limiter=self.limiter)

    async def warm_up(self) -> None:
        """Load the model before the first question needs it; a failure is told by ``/readyz``."""
        try:
            await self.off_loop(self._load_model)
            self.model_problem = ""
        except RagError as error:
            _log.error("cannot load the embedding model: %s", error)
            self.model_problem = str(error)

    def _load_model(self) -> None:
        """Make the model ready; a service does not start downloads, it says what is missing."""
        spec = resolve(self.system.settings.embedding_model)
        remedy = can_load(spec)
        if remedy is not None:
            raise MissingDependency(f"the embedding model {spec.name} cannot be loaded: {remedy}")
        self.system.encoder(spec.name).encode(["नेपाल"], "query")

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Answer a search, with the settings' defaults for what it leaves open."""
        options, filters = self._searched(request)
        result = self.platform.search(
            request.query,
            collection=request.collections or request.collection,
            options=options,
            embedding_model=request.embedding_model,
        )
        return SearchAnswer.of(result, filters.understood, explain=request.explain)

    def begin(self, request: AskRequest) -> Asked:
        """Begin to answer a question; nothing is asked of a model yet."""
        options, filters = self._searched(request)
        key = request.conversation_id
        turns = request.turns if key is None else self.conversations.turns(key)
        events = self.platform.stream(
            request.question,
            collection=request.collections or request.collection,
            options=options,
            embedding_model=request.embedding_model,
            generator=request.model,
            temperature=request.temperature,
            history=turns,
            tools=request.tools,
            strict=request.strict,
        )
        if key is None and request.history is None:
            key = self.conversations.new_id()
        return Asked(self, events, filters, key, request.question)

    def _searched(self, request: SearchedBody) -> tuple[SearchOptions, Filters]:
        """Return how is searched, and how the filters were understood; a request loads no reranker."""
        defaults = self.system.search_options
        if request.reranker not in (None, "none", defaults.reranker):
            raise UnknownName("reranker of this service", str(request.reranker), {"none", defaults.reranker})
        filters = parse_filters(request.filters)
        where = filters.conditions
        if request.documents:
            named = request.collections or [request.collection or self.system.settings.collection_name]
            where = (*where, among(self.system, request.documents, named))
        return request.options(defaults, where), filters

    def readiness(self) -> ReadyAnswer | NotReadyAnswer:
        """Say whether the default collection can be searched, or what is missing."""
        settings = self.system.settings
        model = resolve(settings.embedding_model).name
        manifest = self.system.index.current(settings.collection_name, model)
        missing = [self.model_problem] if self.model_problem else []
        if manifest is None:
            missing.append(
                f"the collection {settings.collection_name!r} has no generation of {model} yet; "
                "publish one with: rag ingest PATH"
            )
        if missing or manifest is None:
            return NotReadyAnswer(detail="; ".join(missing), code="not_ready", request_id="", missing=missing)
        return ReadyAnswer(
            status="ready",
            collection=manifest.collection,
            embedding_model=manifest.model,
            generation=manifest.generation,
            points=manifest.points,
        )


class Asked:
    """A question on its way: its events, each taken in a thread; the exchange is kept when it is whole."""

    def __init__(
        self,
        service: Service,
        events: Iterator[Event],
        filters: Filters,
        conversation_id: str | None,
        question: str,
    ) -> None:
        self._service, self._events, self._filters = service, events, filters
        self._conversation_id, self._question = conversation_id, question

    async def next(self) -> Event | None:
        """Return the next event; None after the last."""
        return await self._service.off_loop(lambda: next(self._events, None))

    async def finished(self, reply: Reply) -> AskAnswer:
        """Keep the exchange where it belongs to a conversation, and return the answer."""
        key = self._conversation_id
        if key is not None:
            keep = self._service.conversations.add
            await self._service.off_loop(lambda: keep(key, self._question, reply.answer))
        return AskAnswer.of(reply, self._filters.understood, key)

    async def abandon(self) -> None:
        """Let go of an answer that nobody waits for any more."""
        close = getattr(self._events, "close", None)
        if close is not None:
            with anyio.CancelScope(shield=True):
                await self._service.off_loop(close)
