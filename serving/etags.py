"""Entity tags: what an answer is of, so that who has it already is told so and sent nothing.

Tags are weak: the same hits, not the same bytes. Every answer is to be asked for again (``no-cache``),
since a new generation may come at any time.
"""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

from rag_platform.types import fingerprint
from serving.routes.common import Responses

__all__ = ["UNCHANGED", "is_known", "tag_of", "tagged"]

UNCHANGED: Responses = {304: {"description": "The caller has it already (If-None-Match)"}}


def tag_of(*parts: object) -> str:
    """Return the tag of what these parts decide."""
    return f'W/"{fingerprint(*parts)}"'


def is_known(request: Request, tag: str) -> bool:
    """Say whether the caller has what a tag stands for."""
    given = [one.strip() for one in request.headers.get("if-none-match", "").split(",")]
    return "*" in given or tag.removeprefix("W/") in [one.removeprefix("W/") for one in given]


def tagged(request: Request, body: BaseModel | None, tag: str = "") -> Response:
    """Return an answer with its tag, or nothing but the tag where the caller has it.

    Args:
        request: What it knows.
        body: None where it is known already.
        tag: Empty: what the body itself decides.
    """
    written = "" if body is None else body.model_dump_json()
    tag = tag or tag_of(written)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, X-API-Key"}
    if body is None or is_known(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(written, media_type="application/json", headers=headers)
