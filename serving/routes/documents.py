"""``/v1/documents``, ``/v1/text`` and ``/v1/jobs``: documents in, listed, shown and out again.

What is uploaded lies whole in the inbox before anything is answered. ``wait`` answers when it can be
searched, or with the job after ``WAIT_S``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, BinaryIO
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from rag_platform.errors import UnknownName
from rag_platform.keys import Principal
from rag_platform.receiving import receive, safe_name, safe_path, said
from rag_platform.states import StoredDocument
from serving.etags import UNCHANGED, tagged
from serving.guard import principal
from serving.ingestions import Job
from serving.middleware import BodyRefused
from serving.paging import Cursor, Limit, Part, cut
from serving.routes.common import Responses, aside, errors, service_of
from serving.schemas.documents import (
    ChunkAnswer,
    ChunksAnswer,
    DocumentAnswer,
    DocumentsAnswer,
    IngestedAnswer,
    JobAnswer,
    PageAnswer,
    PagesAnswer,
    StoredAnswer,
    TextRequest,
    UploadFields,
)
from serving.service import Service

__all__ = [
    "FORM",
    "QUEUED",
    "WAIT_S",
    "answer_of",
    "chunks",
    "delete",
    "document",
    "documents",
    "job",
    "pages",
    "router",
    "text",
    "upload",
    "uploaded",
]

WAIT_S = 120.0
"""How long a request waits for its documents before it is told to poll."""
MAX_FILES = 500
MAX_FIELDS = 100
_FILE_FIELDS = ("file", "files")

router = APIRouter(tags=["documents"])

_FIELD_TYPES = {"force": "boolean", "keep_folders": "boolean", "wait": "boolean"}
FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "minItems": 1,
                        },
                        **{
                            name: {"type": _FIELD_TYPES.get(name, "string"), "description": field.description}
                            for name, field in UploadFields.model_fields.items()
                        },
                    },
                }
            }
        },
    }
}
"""How a form is documented, whose parts are read here and not by the framework."""
QUEUED: Responses = {202: {"model": JobAnswer, "description": "Ask /v1/jobs/{job_id} how it goes"}}


@router.post("/v1/documents", responses={**QUEUED, **errors(400, 413, 415)}, openapi_extra=FORM)
async def upload(request: Request, response: Response) -> JobAnswer:
    """Take files into the inbox and ingest them; a file name that is known is a new version of that document.

    202 with a job to poll, or with ``wait`` 200 when the documents can be searched. One file that cannot be
    read stops no other: see the ``status`` and ``error`` of each.
    """
    return await uploaded(request, response)


async def uploaded(
    request: Request,
    response: Response,
    *,
    wait: bool = False,
    names: Mapping[str, str] = MappingProxyType({}),
) -> JobAnswer:
    """Take an upload.

    Args:
        request: A form.
        response: Whose status is set.
        wait: Where the form does not say it.
        names: Other names of the form's fields.
    """
    service = service_of(request)
    caller = principal(request)
    form = await _form(request)
    try:
        fields = _fields(form, names, wait=wait)
        files = _files(form, safe_path if fields.keep_folders else safe_name)
        collection = _collection(service, fields.collection, caller)
        job = await anyio.to_thread.run_sync(lambda: _received(service, files, fields, collection))
    finally:
        await form.close()
    return await _answered(service, job, response, wait=fields.wait)


@router.post("/v1/text", responses={**QUEUED, **errors(400)})
async def text(body: TextRequest, request: Request, response: Response) -> JobAnswer:
    """Take a text that is in no file; the same name again is a new version of it."""
    service = service_of(request)
    collection = _collection(service, body.collection, principal(request))

    def put() -> Job:
        source = service.platform.put_text(
            body.text, name=body.name, collection=collection, metadata=body.metadata
        )
        return service.ingestions.submit("ingest", collection, [source], left=_is_left(service, body.wait))

    return await _answered(service, await aside(put), response, wait=body.wait)


@router.get("/v1/documents", response_model=DocumentsAnswer, responses={**UNCHANGED, **errors(400, 404)})
async def documents(
    request: Request,
    collection: str | None = None,
    source: Annotated[str | None, Query(description="that document of the collection alone; or 404")] = None,
    deleted: bool = False,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Response:
    """List the documents of a collection, or of all, with their state."""
    service, caller = service_of(request), principal(request)
    if source is not None:
        named = _collection(service, collection, caller)
        entry = await aside(lambda: service.system.catalog.entry(named, source))
        return tagged(request, DocumentsAnswer(documents=[DocumentAnswer.of(entry)], next_cursor=None))
    part = Part(limit, cursor, "documents", collection, deleted, key=(str, str))

    def listed() -> Response:
        found = service.documents(collection, caller, deleted=deleted, after=part.after, limit=part.asked)
        shown, following = cut(found, part, lambda entry: (entry.collection, entry.source))
        body = DocumentsAnswer(documents=[DocumentAnswer.of(one) for one in shown], next_cursor=following)
        return tagged(request, body)

    return await aside(listed)


@router.get(
    "/v1/documents/{document_id}", response_model=StoredAnswer, responses={**UNCHANGED, **errors(404)}
)
async def document(document_id: UUID, request: Request) -> Response:
    """Return a document with its pages and passages."""
    return await aside(lambda: tagged(request, StoredAnswer.of_stored(_stored(request, document_id))))


@router.get(
    "/v1/documents/{document_id}/pages",
    response_model=PagesAnswer,
    responses={**UNCHANGED, **errors(400, 404)},
)
async def pages(document_id: UUID, request: Request, limit: Limit = None, cursor: Cursor = None) -> Response:
    """Return pages of a document; a cursor is of this version of it alone."""

    def listed() -> Response:
        stored = _stored(request, document_id)
        part = _part_of(stored, "pages", limit, cursor)
        rest = [page for page in stored.document.pages if not part.after or (page.page_no,) > part.after]
        shown, following = cut(rest, part, lambda page: (page.page_no,))
        answer = PagesAnswer(
            document_id=str(document_id),
            content_sha256=stored.entry.content_sha256,
            pages=[PageAnswer.of(page) for page in shown],
            next_cursor=following,
        )
        return tagged(request, answer)

    return await aside(listed)


@router.get(
    "/v1/documents/{document_id}/chunks",
    response_model=ChunksAnswer,
    responses={**UNCHANGED, **errors(400, 404)},
)
async def chunks(document_id: UUID, request: Request, limit: Limit = None, cursor: Cursor = None) -> Response:
    """Return passages of a document; a cursor is of this version of it alone."""

    def listed() -> Response:
        stored = _stored(request, document_id)
        part = _part_of(stored, "chunks", limit, cursor)
        rest = [chunk for chunk in stored.chunks if not part.after or (chunk.ordinal,) > part.after]
        shown, following = cut(rest, part, lambda chunk: (chunk.ordinal,))
        answer = ChunksAnswer(
            document_id=str(document_id),
            content_sha256=stored.entry.content_sha256,
            chunks=[ChunkAnswer.of(chunk) for chunk in shown],
            next_cursor=following,
        )
        return tagged(request, answer)

    return await aside(listed)


@router.delete("/v1/documents/{document_id}", responses={**QUEUED, **errors(404)})
async def delete(document_id: UUID, request: Request, response: Response, wait: bool = False) -> JobAnswer:
    """Remove a document from the inbox at once, and from the collection with its next generation."""
    service, caller = service_of(request), principal(request)

    def removed() -> Job:
        entry = service.platform.remove(service.entry(str(document_id), caller).document_id)
        left = _is_left(service, wait)
        return service.ingestions.submit("delete", entry.collection, [entry.source], left=left)

    return await _answered(service, await aside(removed), response, wait=wait)


@router.get("/v1/jobs/{job_id}", responses=errors(404))
async def job(job_id: str, request: Request) -> JobAnswer:
    """Say how a piece of ingestion goes."""
    ingestions = service_of(request).ingestions
    found = await aside(lambda: ingestions.get(job_id))
    if not principal(request).may_use(found.collection):
        raise UnknownName("job", job_id, [])
    return answer_of(found)


def answer_of(job: Job) -> JobAnswer:
    """Return the JSON form of a job."""
    return JobAnswer(
        job_id=job.job_id,
        status=job.status,
        kind=job.kind,
        created_at=job.created_at,  # type: ignore[arg-type]
        finished_at=job.finished_at,  # type: ignore[arg-type]
        error=job.error,
        documents=[IngestedAnswer.of(one) for one in job.documents],
    )


async def _answered(service: Service, job: Job, response: Response, *, wait: bool) -> JobAnswer:
    if wait:
        job = await service.ingestions.ended(job, min(WAIT_S, 0.9 * service.system.settings.deadline_s))
    if job.finished_at is None:
        response.status_code = 202
        response.headers["Location"] = f"/v1/jobs/{job.job_id}"
    return answer_of(job)


def _is_left(service: Service, wait: bool) -> bool:
    return not wait and service.system.settings.uploads == "sensor"


async def _form(request: Request) -> FormData:
    """Read a form; its files are spooled under names that nobody chose."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise HTTPException(415, "send the files as multipart/form-data, as: curl -F files=@सूचना.pdf")
    parser = MultiPartParser(request.headers, request.stream(), max_files=MAX_FILES, max_fields=MAX_FIELDS)
    try:
        return await parser.parse()
    except BodyRefused:
        raise
    except (MultiPartException, KeyError) as error:
        message = error.message if isinstance(error, MultiPartException) else "it has no boundary"
        raise HTTPException(400, f"the form cannot be read: {message}") from error


def _files(form: FormData, named: Callable[[str], str]) -> list[tuple[str, BinaryIO]]:
    parts = [(field, part) for field, part in form.multi_items() if isinstance(part, UploadFile)]
    for field, _ in parts:
        if field not in _FILE_FIELDS:
            raise HTTPException(422, f"files belong into the field 'files', not {field!r}")
    found = [(named(part.filename or ""), part.file) for _, part in parts]
    if not found:
        raise HTTPException(422, "no file was sent; put at least one into the field 'files'")
    return found


def _fields(form: FormData, names: Mapping[str, str], *, wait: bool) -> UploadFields:
    given: dict[str, list[object]] = defaultdict(list)
    for name, value in form.multi_items():
        if not isinstance(value, UploadFile):
            given[names.get(name, name)].append(value)
    plain = {name: values if len(values) > 1 else values[0] for name, values in given.items()}
    try:
        return UploadFields.model_validate({"wait": wait, **plain})
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from error


def _stored(request: Request, document_id: UUID) -> StoredDocument:
    """Return a document that is the caller's to read, with what was made of it."""
    service = service_of(request)
    entry = service.entry(str(document_id), principal(request))
    return service.platform.document(entry.document_id)


def _part_of(stored: StoredDocument, stage: str, limit: int | None, cursor: str | None) -> Part:
    record = stored.entry.stages.get(stage)
    version = record.fingerprint if record else ""
    return Part(limit, cursor, stage, stored.entry.document_id, version, key=(int,))


def _collection(service: Service, named: str | None, caller: Principal) -> str:
    """Return where documents go.

    Raises:
        Forbidden: It is not the caller's.
    """
    collection = named or caller.default(service.system.settings.collection_name)
    caller.check_collections([collection])
    return collection


def _received(
    service: Service, files: list[tuple[str, BinaryIO]], fields: UploadFields, collection: str
) -> Job:
    changes = said(fields.metadata, kinds=fields.kinds, language=fields.language)
    sources = receive(service.system, collection, files, changes=changes)
    return service.ingestions.submit(
        "ingest",
        collection,
        sources,
        force=fields.force,
        password=fields.password,
        left=_is_left(service, fields.wait) and not (fields.force or fields.password),
    )
