"""``/metrics``: for Prometheus; where keys are asked for, by one with the scope ``admin``."""

from __future__ import annotations

import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import Response

__all__ = ["metrics", "router"]

router = APIRouter(tags=["state"])


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Return what the service counts of itself, in Prometheus' text format."""
    counted = request.app.state.metrics
    accept = request.headers.get("accept", "")
    body, kind = await anyio.to_thread.run_sync(lambda: counted.written(accept))
    return Response(body, media_type=kind)
