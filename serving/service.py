"""What the routes share: the wired platform, the limit on model work, and the state of the model.

No HTTP here: values of the library in, bodies of ``schemas`` out. Whatever a method does is done in a thread.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TypeVar

import anyio

from rag_platform.answering.conversations import Conversations
from rag_platform.answering.reply import Done, Event, Reply
from rag_platform.entries import Entry
from rag_platform.errors import RagError, UnknownName
from rag_platform.keys import Principal
from rag_platform.listing import among
from rag_platform.platform import RagPlatform
from rag_platform.retrieval.batch import Wanted, search_together
from rag_platform.retrieval.filters import Filters, parse_filters
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.result import SearchResult
from rag_platform.states import Models
from rag_platform.system import System
from rag_platform.watching import waited
from serving.chat_models import chat_models
from serving.ingestions import Ingestions
from serving.keeping import keep_reply, keep_search
from serving.schemas.ask import AskAnswer, AskRequest
from serving.schemas.search import SearchAnswer, SearchedBody, SearchRequest
from serving.schemas.state import NotReadyAnswer, ReadyAnswer
from serving.threads import Threads

__all__ = ["Asked", "Service"]

_log = logging.getLogger(__name__)

SEARCHES_AT_ONCE = 8
"""Threads that may encode and search together; the rest wait their turn without holding the event loop."""
ANSWERS_AT_ONCE = 16
"""Threads that may wait for models that write, however slow: they keep nobody from searching."""

T = TypeVar("T")


class Service:
    """A wired system as the routes use it."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.platform = RagPlatform(system=system)
        self.ingestions = Ingestions(system)
        self.conversations = Conversations(
            system.home / "conversations.sqlite", days=system.settings.conversation_days
        )
        self._threads = Threads(SEARCHES_AT_ONCE, "question")
        self._answering = Threads(ANSWERS_AT_ONCE, "answer")
        self.model_problem = "the embedding model is still loading"

    def close(self) -> None:
        """Let what is being ingested end, and close the conversations; the system stays open."""
        self.ingestions.stop()
        self.system.webhooks.close()
        self._threads.close()
        self._answering.close()
        self.conversations.close()

    def begun(self, work: Callable[[], T], *, goes_on: bool = False, is_told: bool = False) -> Future[T]:
        """Have ``work`` run in a thread.

        Args:
            work: At most ``SEARCHES_AT_ONCE`` are done at a time.
            goes_on: It is the next step of what has begun, and comes before what has not.
            is_told: A model writes it: ``ANSWERS_AT_ONCE`` are waited for beside the searches.
        """
        threads = self._answering if is_told else self._threads
        return threads.begin(waited("queue", work), goes_on=goes_on)

    async def off_loop(self, work: Callable[[], T], *, goes_on: bool = False) -> T:
        """Run ``work`` in a thread, where it stays to its end even if nobody waits for it any more."""
        return await asyncio.wrap_future(self.begun(work, goes_on=goes_on))

    async def warm_up(self) -> None:
        """Load the model before the first question needs it; a failure is told by ``/readyz``."""
        try:
            await self.off_loop(self.system.warm_up)
            self.model_problem = ""
        except RagError as error:
            _log.error("cannot load the embedding model: %s", error)
            self.model_problem = str(error)

    def search(self, request: SearchRequest, caller: Principal) -> SearchAnswer:
        """Answer a search, with the settings' defaults for what it leaves open.

        Raises:
            Forbidden: A collection is not the caller's.
        """
        names = self.named(request, caller)
        options, filters = self._searched(request, names)
        result = self.platform.search(
            request.query,
            collection=names,
            options=options,
            embedding_model=request.embedding_model,
        )
        return self._shown(result, filters, request)

    def _shown(self, result: SearchResult, filters: Filters, request: SearchRequest) -> SearchAnswer:
        """Return what is shown of a result, and keep the question where that is wanted."""
        keep_search(self.system.question_log, result)
        return SearchAnswer.of(result, filters.understood, explain=request.explain)

    def search_batch(
        self, asked: Sequence[SearchRequest | Exception], caller: Principal
    ) -> list[SearchAnswer | Exception]:
        """Answer several searches; what cannot be, or is an error already, is one in its place."""
        prepared = [self._prepared(one, caller) for one in asked]
        wanted = [one[0] for one in prepared if not isinstance(one, Exception)]
        results = iter(search_together(self.system.searcher, wanted, self.system.cache))
        found: list[SearchAnswer | Exception] = []
        for one in prepared:
            if isinstance(one, Exception):
                found.append(one)
                continue
            (_, filters, request), result = one, next(results)
            found.append(result if isinstance(result, RagError) else self._shown(result, filters, request))
        return found

    def _prepared(
        self, one: SearchRequest | Exception, caller: Principal
    ) -> tuple[Wanted, Filters, SearchRequest] | Exception:
        """Return a search of a batch as the library knows it, or why it cannot be made."""
        if isinstance(one, Exception):
            return one
        try:
            return (*self.wanted(one, caller), one)
        except RagError as error:
            return error

    def begin(self, request: AskRequest, caller: Principal) -> Asked:
        """Begin to answer a question; nothing is asked of a model yet.

        Raises:
            Forbidden: A collection is not the caller's.
        """
        names = self.named(request, caller)
        options, filters = self._searched(request, names)
        key = request.conversation_id
        turns = request.turns if key is None else self.conversations.turns(key, owner=caller.name)
        events = self.platform.stream(
            request.question,
            collection=names,
            options=options,
            embedding_model=request.embedding_model,
            generator=request.model,
            temperature=request.temperature,
            history=turns,
            tools=request.tools,
            expand=request.expand,
            strict=request.strict,
        )
        if key is None and request.history is None:
            key = self.conversations.new_id()
        is_told = (request.model or self.system.settings.llm_provider) not in ("", "extractive", "prompt")
        return Asked(self, events, filters, key, request.question, caller.name, is_told=is_told)

    def chat_models(self, caller: Principal, found: Models | None = None) -> list[str]:
        """Return what a chat completion may name as its model: what is published, and who answers."""
        known = found or self.platform.models()
        settings = self.system.settings
        model = self.system.embedding().name
        published = [one.collection for one in self.system.index.published() if one.model == model]
        generators = [one.name for one in known.generators if not (one.active or one.remedy)]
        usual = caller.default(settings.collection_name)
        return chat_models(filter(caller.may_use, published), generators, usual)

    def documents(
        self,
        collection: str | None,
        caller: Principal,
        *,
        deleted: bool = False,
        after: tuple[str, str] | None = None,
        limit: int = -1,
    ) -> list[Entry]:
        """Return documents of a collection, or of all that are the caller's, as ``Catalog.page``.

        Raises:
            Forbidden: The collection is not the caller's.
            UnknownName: There is no such collection.
        """
        catalog = self.system.catalog
        if collection is not None:
            caller.check_collections([collection])
            if collection not in (known := catalog.collections()):
                raise UnknownName("collection", collection, known)
        names = caller.collections if collection is None else [collection]
        return catalog.page(names, deleted=deleted, after=after, limit=limit)

    def wanted(self, request: SearchRequest, caller: Principal) -> tuple[Wanted, Filters]:
        """Return a search as the library knows it, and how its filters were understood.

        Raises:
            Forbidden: A collection is not the caller's.
        """
        names = self.named(request, caller)
        options, filters = self._searched(request, names)
        model = self.system.embedding(request.embedding_model or "").name
        return Wanted(request.query, names, model, options), filters

    def versions(self, wanted: Wanted) -> list[str]:
        """Return what changes with every generation that a search looks at, and with its calibration.

        Raises:
            UnknownName: Nothing is published under one of these names.
        """
        path = self.system.calibration_of(wanted.model)
        constants = f"{path} {path.stat().st_mtime_ns}" if path else ""
        return [constants, *(self.system.searcher.version(one, wanted.model) for one in wanted.collections)]

    def named(self, request: SearchedBody, caller: Principal) -> list[str]:
        """Return the collections that a request is about.

        Raises:
            Forbidden: One is not the caller's.
        """
        usual = caller.default(self.system.settings.collection_name)
        names = request.collections or [request.collection or usual]
        caller.check_collections(names)
        return names

    def entry(self, document_id: str, caller: Principal) -> Entry:
        """Return what is known of a document; of one that is not the caller's, nothing.

        Raises:
            UnknownName: There is none that it may see.
        """
        entry = self.system.catalog.known(document_id)
        if entry.deleted or not caller.may_use(entry.collection):
            raise UnknownName("document", document_id, [])
        return entry

    def _searched(self, request: SearchedBody, names: list[str]) -> tuple[SearchOptions, Filters]:
        """Return how is searched, and how the filters were understood; a request loads no reranker."""
        defaults = self.system.search_options
        if request.reranker not in (None, "none", defaults.reranker):
            raise UnknownName("reranker of this service", str(request.reranker), {"none", defaults.reranker})
        filters = parse_filters(request.filters)
        where = filters.conditions
        if request.documents:
            where = (*where, among(self.system, request.documents, names))
        return request.options(defaults, where), filters

    def readiness(self) -> ReadyAnswer | NotReadyAnswer:
        """Say whether the default collection can be searched, or what is missing."""
        settings = self.system.settings
        model = self.system.embedding().name
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
        owner: str,
        *,
        is_told: bool,
    ) -> None:
        self._service, self._events, self._filters = service, events, filters
        self._is_told = is_told
        self._conversation_id, self._question, self._owner = conversation_id, question, owner
        self._step: Future[Event | None] | None = None

    async def next(self) -> Event | None:
        """Return the next event; None after the last."""
        step = functools.partial(next, self._events, None)
        self._step = self._service.begun(step, goes_on=True, is_told=self._is_told)
        return await asyncio.wrap_future(self._step)

    async def reply(self, event: Event | None) -> Reply:
        """Return the whole reply, from an event on that was taken already."""
        while not isinstance(event, Done):
            if event is None:
                raise RuntimeError("the answer ended without a reply")
            event = await self.next()
        return event.reply

    async def finished(self, reply: Reply) -> AskAnswer:
        """Keep the exchange where it belongs to a conversation, and return the answer."""
        key = self._conversation_id
        if key is not None or self._service.system.question_log:
            await self._service.off_loop(lambda: self._keep(reply), goes_on=True)
        return AskAnswer.of(reply, self._filters.understood, key)

    def _keep(self, reply: Reply) -> None:
        key, service = self._conversation_id, self._service
        if key is not None:
            service.conversations.add(key, self._question, reply.answer, owner=self._owner)
        keep_reply(service.system.question_log, reply)

    async def abandon(self) -> None:
        """Let go of an answer that nobody waits for any more, as soon as its last step has ended."""
        close = getattr(self._events, "close", None)
        if close is None:
            return
        if self._step is None or self._step.done():
            with anyio.CancelScope(shield=True):
                await self._service.off_loop(close, goes_on=True)
        else:  # in the thread that makes the step
            self._step.add_done_callback(lambda _: close())
