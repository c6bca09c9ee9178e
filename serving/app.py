"""``create_app``: the HTTP service over the latest published generation.

Only how it is put together: what routes do stands in ``routes``, what they share in ``service``, what an
error looks like in ``errors``, what a body looks like in ``schemas``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI

from rag_platform import __version__
from rag_platform.settings import Settings
from rag_platform.system import System
from serving import errors, mcp
from serving.middleware import BodyLimit, OriginCheck, RequestId
from serving.routes import ask, documents, reference, search, state
from serving.service import Service

__all__ = ["create_app"]

_BODY_BYTES = 8 << 20
"""What a body that is no upload may take: a history, or a text of two million characters."""
_UPLOADS = frozenset({"/v1/documents", "/api/v1/upload"})


def create_app(settings: Settings | None = None, *, system: System | None = None) -> FastAPI:
    """Return the application; its system is the one given, or wired from settings at start-up.

    Args:
        settings: Read from the environment and ``.env`` when neither is given.
        system: A wired system, for tests and for processes that have one already.
    """
    known = system.settings if system else settings or Settings.load()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = app.state.service = Service(system or System.from_settings(known))
        service.ingestions.start()
        warming = asyncio.create_task(service.warm_up())
        async with mcp.mount(app, service.system):
            yield
        warming.cancel()
        await asyncio.to_thread(service.close)

    # No /docs and /redoc: their pages fetch scripts from a foreign server. /openapi.json is ours.
    app = FastAPI(title="rag-platform", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for part in (search, ask, documents, state, reference):
        app.include_router(part.router)
    uploads = known.upload_mb << 20
    app.add_middleware(BodyLimit, limit_of=lambda path: uploads if path in _UPLOADS else _BODY_BYTES)
    app.add_middleware(OriginCheck, exempt=(mcp.PATH,))
    app.add_middleware(RequestId)  # the last added is the first that a request passes
    errors.install(app)
    return app
