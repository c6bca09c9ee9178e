"""``/v1/search``: one question, by a body or by an address, or many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError

from rag_platform import __version__
from rag_platform.retrieval.memory import options_key
from rag_platform.types import Mode
from serving.errors import described
from serving.etags import UNCHANGED, is_known, tag_of, tagged
from serving.guard import principal
from serving.routes.common import errors, service_of
from serving.schemas.search import (
    NOT_BLANK,
    BatchAnswer,
    BatchItemAnswer,
    BatchRequest,
    SearchAnswer,
    SearchRequest,
)
from serving.schemas.state import ErrorAnswer

__all__ = ["router", "search", "search_batch", "search_by_address"]

router = APIRouter(tags=["questions"])


@router.post("/v1/search", responses=errors(400, 404, 503))
async def search(body: SearchRequest, request: Request) -> SearchAnswer:
    """Return the passages that answer a question best."""
    service = service_of(request)
    return await service.off_loop(lambda: service.search(body, principal(request)))


@router.get("/v1/search", response_model=SearchAnswer, responses={**UNCHANGED, **errors(400, 404, 503)})
async def search_by_address(
    request: Request,
    q: Annotated[str, Query(json_schema_extra=NOT_BLANK)],
    k: Annotated[int | None, Query(ge=1, le=1000)] = None,
    mode: Mode | None = None,
    collection: Annotated[list[str] | None, Query(description="repeatable")] = None,
    document: Annotated[list[str] | None, Query(description="repeatable: an id or a source")] = None,
    filter: Annotated[list[str] | None, Query(description="repeatable, as year=2081")] = None,  # noqa: A002
) -> Response:
    """Search by an address, which can be kept: with ``If-None-Match`` 304 until a new generation comes."""
    service, caller = service_of(request), principal(request)
    given = {"query": q, "k": k, "mode": mode, "collections": collection, "documents": document}
    body = _checked(given | {"filters": filter or []})

    def found() -> Response:
        wanted, _ = service.wanted(body, caller)
        decides = (__version__, wanted.query, wanted.model, options_key(wanted.options))
        tag = tag_of(*decides, *wanted.collections, *service.versions(wanted))
        return tagged(request, None if is_known(request, tag) else service.search(body, caller), tag)

    return await service.off_loop(found)


@router.post("/v1/search/batch", responses=errors(400))
async def search_batch(body: BatchRequest, request: Request) -> BatchAnswer:
    """Answer several searches, whose questions are encoded together; one that fails stops no other."""
    service, caller = service_of(request), principal(request)
    asked: list[SearchRequest | Exception] = []
    for number, given in enumerate(body.searches):
        try:
            asked.append(_checked(given, "body", "searches", number))
        except RequestValidationError as error:
            asked.append(error)
    found = await service.off_loop(lambda: service.search_batch(asked, caller))
    return BatchAnswer(results=[_item(request, one) for one in found])


def _item(request: Request, found: SearchAnswer | Exception) -> BatchItemAnswer:
    if isinstance(found, SearchAnswer):
        return BatchItemAnswer(status=200, answer=found, error=None)
    status, error = described(request, found)
    return BatchItemAnswer(status=status, answer=None, error=ErrorAnswer(**error))


def _checked(given: Mapping[str, object], *where: str | int) -> SearchRequest:
    """Return a search of these values.

    Raises:
        RequestValidationError: One is unknown, missing or of the wrong type.
    """
    try:
        return SearchRequest.model_validate(given)
    except ValidationError as error:
        faults = [{**fault, "loc": (*(where or ("query",)), *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from error
