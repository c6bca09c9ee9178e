"""``create_app``: the HTTP service over the latest published generation.

Only how it is put together: what routes do stands in ``routes``, what they share in ``service``, what an
error looks like in ``errors``, what a body looks like in ``schemas``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI

from rag_platform import __version__
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.watching import begin
from serving import guard, mcp
from serving.metrics import Metrics
from serving.routes import (
    ask,
    chat_completions,
    conversations,
    documents,
    metrics,
    page,
    reference,
    rendering,
    search,
    state,
)
from serving.service import Service

__all__ = ["create_app"]


def create_app(settings: Settings | None = None, *, system: System | None = None) -> FastAPI:
    """Return the application; its system is the one given, or wired from settings at start-up.

    Args:
        settings: Read from the environment and ``.env`` when neither is given.
        system: A wired system, for tests and for processes that have one already.
    """
    known = system.settings if system else settings or Settings.load()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        counts: Metrics = app.state.metrics
        begin(counts)
        service = app.state.service = counts.service = Service(system or System.from_settings(known))
        service.ingestions.start()
        service.system.webhooks.start()
        warming = asyncio.create_task(service.warm_up())
        async with mcp.mount(app, service.system):
            yield
        warming.cancel()
        await asyncio.to_thread(service.close)

    # No /docs and /redoc: their pages fetch scripts from a foreign server. /openapi.json is ours.
    app = FastAPI(title="rag-platform", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    asking = (search, ask, chat_completions, conversations)
    for part in (page, *asking, documents, rendering, state, metrics, reference):
        app.include_router(part.router)
    app.state.metrics = Metrics()
    guard.install(app, known, counter=app.state.metrics)
    _describe_keys(app)
    return app


def _describe_keys(app: FastAPI) -> None:
    """Say in the OpenAPI document how a key is sent; whether one is asked for, each service decides."""
    ways = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    openapi = app.openapi

    def described() -> dict[str, Any]:
        document = openapi()
        document["components"]["securitySchemes"] = ways
        document["security"] = [{}, *({way: []} for way in ways)]
        return document

    app.openapi = described  # type: ignore[method-assign]
