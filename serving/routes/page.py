"""``GET /``: the page, with what a search finds where one is asked for; and the files it is made of.

It works without scripts; with them, what they ask for is this page again, and of that they show the part that
changed. Who has no key gets the page, and no word of what is stored.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, HTTPException, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ValidationError

from rag_platform.errors import CallerError, RagError, Unauthenticated
from rag_platform.keys import Principal
from rag_platform.parsing.page_pictures import PICTURED
from serving import page as _page
from serving.errors import status_of, told_to
from serving.guard import NOBODY, principal
from serving.page.form import EVERY, Form
from serving.page.highlight import telling_terms
from serving.page.static_files import address, files, scripts, version
from serving.page.view import HitView, Problem
from serving.page.words import Words, language_of, words
from serving.routes.common import service_of
from serving.schemas.search import SearchAnswer
from serving.service import Service

__all__ = ["asset", "page", "router"]

_COOKIE = "rag_language"
_YEAR_S = 365 * 24 * 3600
_LEVEL = 5
"""Of gzip; the page holds no secret that its length could give away."""
_MOST_DOCUMENTS = 300
"""Names that the field of documents offers; others can be typed."""
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Vary": "Accept-Encoding, Accept-Language, Authorization, Cookie, X-API-Key",
}

router = APIRouter(include_in_schema=False)


@router.get("/")
async def page(request: Request) -> Response:
    """Return the page; with ``?q=`` what a search finds."""
    asked = request.query_params.get("lang")
    language = language_of(asked, request.cookies.get(_COOKIE), request.headers.get("accept-language", ""))
    found = await _found(request, Form.read(request.query_params), words(language))
    status, html = await anyio.to_thread.run_sync(found.rendered)
    content, headers = html.encode(), _HEADERS
    if _takes_gzip(request):
        content = await anyio.to_thread.run_sync(gzip.compress, content, _LEVEL)
        headers = {**headers, "Content-Encoding": "gzip"}
    response = Response(content, status, headers, media_type="text/html; charset=utf-8")
    if asked == language:
        response.set_cookie(_COOKIE, language, max_age=_YEAR_S, samesite="lax", httponly=True)
    return response


@router.get("/assets/{kept}/{name}")
async def asset(kept: str, name: str, request: Request) -> Response:
    """Return a file of the page."""
    file = files().get(name)
    if file is None:
        raise HTTPException(404, f"the page has no file {name!r}")
    fresh = "public, max-age=31536000, immutable" if kept == version() else "no-cache"
    headers = {"Cache-Control": fresh, "X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding"}
    if file.packed and _takes_gzip(request):
        packed = {**headers, "Content-Encoding": "gzip"}
        return Response(file.packed, media_type=file.media_type, headers=packed)
    return Response(file.content, media_type=file.media_type, headers=headers)


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


@dataclass(frozen=True)
class _Shown:
    """A page that is ready to be written."""

    status: int
    values: Mapping[str, Any]

    def rendered(self) -> tuple[int, str]:
        """Return its status and HTML."""
        return self.status, _templates().get_template("page.html").render(self.values)


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(_page.__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


async def _found(request: Request, form: Form, said: Words) -> _Shown:
    """Search, where something is asked for, and return the page that tells it."""
    service, caller = service_of(request), principal(request)
    other = said("other_language")
    values: dict[str, Any] = {
        "w": said,
        "form": form,
        "asset": address,
        "scripts": scripts(),
        "home": "/",
        "other": form.address(lang=other),
        "upload_bytes": service.system.settings.upload_mb << 20,
        "own": "",
        "collections": [],
        "documents": [],
        "holdings": 0,
        "hits": [],
        "problem": None,
        "request": "",
        "reading": "",
        "conditions": [],
        "more": "",
    }
    try:
        if caller is NOBODY and not form.q:
            return _Shown(200, values)
        if caller is NOBODY:
            raise Unauthenticated("a search takes a key")
        caller.check("read")
        if not (form.collection or _own(service, caller)):
            form = values["form"] = replace(form, collection=EVERY)
        values |= await service.off_loop(lambda: _holdings(service, caller, form))
        if form.q:
            values |= await service.off_loop(lambda: _searched(service, caller, form, said))
    except RagError as error:
        told = told_to(caller, error)
        problem = Problem.of(told if isinstance(told, RagError) else error, said, request.state.request_id)
        return _Shown(status_of(error), {**values, "problem": problem})
    return _Shown(200, values)


def _holdings(service: Service, caller: Principal, form: Form) -> dict[str, Any]:
    """Return what the form offers the caller: collections, documents, and how many a search reaches."""
    known = [one for one in service.platform.collections() if caller.may_use(one.name)]
    chosen = form.collection if form.collection in {one.name for one in known} else _own(service, caller)
    sources = [entry.source for entry in service.system.catalog.entries(chosen)] if chosen else []
    return {
        "own": _own(service, caller),
        "collections": sorted(one.name for one in known),
        "documents": sources[:_MOST_DOCUMENTS],
        "holdings": sum(
            one.n_documents
            for one in known
            if one.generations and (form.collection == EVERY or one.name == chosen)
        ),
    }


def _own(service: Service, caller: Principal) -> str:
    """Return the collection that is meant where none is chosen; empty where the caller has several others."""
    usual = caller.default(service.system.settings.collection_name)
    return usual if caller.may_use(usual) else ""


def _searched(service: Service, caller: Principal, form: Form, said: Words) -> dict[str, Any]:
    """Return what a search finds, as it is shown."""
    names = [
        one.name for one in service.platform.collections() if caller.may_use(one.name) and one.generations
    ]
    try:
        wanted = form.request(names)
    except ValidationError as error:
        raise CallerError("; ".join(fault["msg"] for fault in error.errors())) from error
    answer = service.search(wanted, caller)
    explained = answer.explanation or {}
    terms = telling_terms(form.q, {term: weight for term, (weight, _) in explained.get("terms", {}).items()})
    pictured = _pictured(service, answer)
    hits = [HitView.of(hit, said, terms, pictured) for hit in answer.hits]
    asked = wanted.model_dump(exclude_none=True, exclude={"query", "explain"}, exclude_defaults=True)
    reading = explained.get("reading", "")
    return {
        "hits": hits,
        "problem": None if hits else Problem.named("nothing", said),
        "request": json.dumps(asked, ensure_ascii=False),
        "reading": reading if reading != form.q else "",
        "conditions": answer.filters,
        "more": form.more.address() if form.more and len(hits) >= form.k else "",
    }


def _pictured(service: Service, answer: SearchAnswer) -> Sequence[str]:
    """Return the ids of the documents found whose pages can be shown."""
    ids = dict.fromkeys(hit.document_id for hit in answer.hits)
    return [one for one in ids if service.system.catalog.known(one).format in PICTURED]
