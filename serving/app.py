"""``create_app``: the HTTP service over the latest published generation.

Routes only validate, call the library off the event loop, and shape the answer. What an error looks
like stands in ``errors``, what a body looks like in ``schemas``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse

from rag_platform import __version__
from rag_platform.embedding.encoders import can_load, resolve
from rag_platform.errors import MissingDependency, RagError, UnknownName
from rag_platform.retrieval.filters import parse_filters
from rag_platform.settings import Settings
from rag_platform.system import System
from serving import errors
from serving.schemas import (
    CollectionAnswer,
    CollectionsAnswer,
    ErrorAnswer,
    GenerationAnswer,
    HealthAnswer,
    NotReadyAnswer,
    ReadyAnswer,
    SearchAnswer,
    SearchRequest,
)

__all__ = ["Service", "collections", "create_app", "healthz", "readyz", "router", "search"]

_log = logging.getLogger(__name__)

SEARCHES_AT_ONCE = 8
"""Threads that may encode and search together; the rest wait their turn without holding the event loop."""

T = TypeVar("T")


class Service:
    """A wired system with what the routes share: the limit on model work and the state of the model."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.limiter = anyio.CapacityLimiter(SEARCHES_AT_ONCE)
        self.model_problem = "the embedding model is still loading"

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
        """Answer one question, with the settings' defaults for what it leaves open."""
        settings = self.system.settings
        defaults = self.system.search_options
        if request.reranker not in (None, "none", defaults.reranker):  # a request loads no model
            raise UnknownName("reranker of this service", str(request.reranker), {"none", defaults.reranker})
        filters = parse_filters(request.filters)
        result = self.system.searcher.search(
            request.query,
            collection=request.collections or request.collection or settings.collection_name,
            model=resolve(request.embedding_model or settings.embedding_model).name,
            options=request.options(defaults, filters.conditions),
        )
        return SearchAnswer.of(result, filters.understood, explain=request.explain)

    def collections(self) -> CollectionsAnswer:
        """List every collection with its published generations."""
        generations: dict[str, list[GenerationAnswer]] = {n: [] for n in self.system.catalog.collections()}
        for manifest in self.system.index.published():
            answer = GenerationAnswer(
                embedding_model=manifest.model,
                generation=manifest.generation,
                points=manifest.points,
                documents=len(manifest.documents),
                dim=manifest.dim,
                alias=manifest.alias,
            )
            generations.setdefault(manifest.collection, []).append(answer)
        found = [CollectionAnswer(name=name, generations=made) for name, made in generations.items()]
        return CollectionsAnswer(collections=found)

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
            return NotReadyAnswer(detail="; ".join(missing), code="not_ready", missing=missing)
        return ReadyAnswer(
            status="ready",
            collection=manifest.collection,
            embedding_model=manifest.model,
            generation=manifest.generation,
            points=manifest.points,
        )


router = APIRouter()
_ERRORS: dict[int | str, dict[str, object]] = {
    400: {"model": ErrorAnswer, "description": "A value that cannot be searched with"},
    404: {"model": ErrorAnswer, "description": "Unknown collection or embedding model"},
    422: {"model": ErrorAnswer, "description": "A field is unknown, missing or of the wrong type"},
    503: {"model": ErrorAnswer, "description": "Nothing is published yet, or a part is not available"},
}


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


@router.post("/v1/search", responses=_ERRORS)
async def search(body: SearchRequest, request: Request) -> SearchAnswer:
    """Return the passages that answer a question best."""
    service = _service(request)
    return await service.off_loop(lambda: service.search(body))


@router.get("/v1/collections")
async def collections(request: Request) -> CollectionsAnswer:
    """List the collections and their published generations."""
    return await anyio.to_thread.run_sync(_service(request).collections)


@router.get("/healthz")
async def healthz() -> HealthAnswer:
    """Say that the process is alive."""
    return HealthAnswer(status="ok", version=__version__)


@router.get("/readyz", response_model=ReadyAnswer, responses={503: {"model": NotReadyAnswer}})
async def readyz(request: Request) -> JSONResponse:
    """Say whether searches can be answered; 503 with what is missing otherwise."""
    answer = await anyio.to_thread.run_sync(_service(request).readiness)
    status = 503 if isinstance(answer, NotReadyAnswer) else 200
    return JSONResponse(answer.model_dump(), status)


def create_app(settings: Settings | None = None, *, system: System | None = None) -> FastAPI:
    """Return the application; its system is the one given, or wired from settings at start-up.

    Args:
        settings: Read from the environment and ``.env`` when neither is given.
        system: A wired system, for tests and for processes that have one already.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = Service(system or System.from_settings(settings))
        warming = asyncio.create_task(app.state.service.warm_up())
        yield
        warming.cancel()

    # No /docs and /redoc: their pages fetch scripts from a foreign server. /openapi.json is ours.
    app = FastAPI(title="rag-platform", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.include_router(router)
    errors.install(app)
    return app
