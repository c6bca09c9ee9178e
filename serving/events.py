"""Server-sent events: how one is written, and how an answer in them is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse

__all__ = ["EVENTS", "framed", "streamed"]

EVENTS = "text/event-stream"


def framed(written: str, name: str = "") -> str:
    r"""Return one event.

    Args:
        written: JSON, which has no line breaks of its own.
        name: Of its kind; empty: none.

    >>> framed("[1]", "sources"), framed("[DONE]")
    ('event: sources\ndata: [1]\n\n', 'data: [DONE]\n\n')
    """
    return f"event: {name}\ndata: {written}\n\n" if name else f"data: {written}\n\n"


def streamed(events: AsyncIterator[str]) -> StreamingResponse:
    """Return an answer in events, of which proxies pass every one on at once."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type=EVENTS, headers=headers)
