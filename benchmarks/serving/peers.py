"""What the service is held against: the same searches without HTTP, and HTTP without searches."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import corpus
from service import platform_of


def search_without_http(home: Path, model: str, seconds: float, *, repeated: bool) -> float:
    """Return searches a second of processor time, in a process that does nothing else."""
    platform = platform_of(home, model)
    asked = corpus.questions(10_000_000, repeated=repeated)
    for _ in range(corpus.REPEATED):  # loads the model, and fills the caches where questions repeat
        platform.search(next(asked))
    end, began, n = time.perf_counter() + seconds, time.process_time(), 0
    while time.perf_counter() < end:
        platform.search(next(asked))
        n += 1
    return n / (time.process_time() - began)


def echo() -> None:
    """Serve Starlette's bare route, which gives back what it gets, behind the same server."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from rag_platform.settings import Settings
    from serving.server import config

    async def back(request: Request) -> Response:
        return Response(await request.body(), media_type="application/json")

    async def ready(_: Request) -> Response:
        return Response()

    app = Starlette(routes=[Route("/echo", back, methods=["POST"]), Route("/readyz", ready)])
    uvicorn.Server(config(app, Settings.load(None), port=int(os.environ["PORT"]), log_level="error")).run()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        echo()
    else:
        home, model, seconds, repeated = json.loads(sys.argv[1])
        print(search_without_http(Path(home), model, seconds, repeated=repeated))
