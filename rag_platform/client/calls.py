"""What each method asks of the service, and which value it makes of the answers. Nothing is sent here.

Each is written once for both clients: a generator that yields requests and is sent their JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import httpx

from rag_platform.client import reading
from rag_platform.client.failures import restored
from rag_platform.client.requests import Request, Steps
from rag_platform.errors import CallerError, InvalidMetadata, RagError, UpstreamError
from rag_platform.retrieval.options import SearchOptions
from rag_platform.states import CollectionState, Ingested, Models, StoredDocument
from rag_platform.talk import Names
from rag_platform.types import Condition, is_id

if TYPE_CHECKING:
    from rag_platform.answering.conversation import Turn
    from rag_platform.answering.reply import Reply
    from rag_platform.entries import Entry
    from rag_platform.evaluation.leaderboard import Leaderboard
    from rag_platform.inbox import Offered
    from rag_platform.retrieval.explain import Explanation
    from rag_platform.retrieval.result import SearchResult

__all__ = [
    "add_text",
    "ask",
    "collections",
    "delete",
    "document",
    "documents",
    "explain",
    "ingest",
    "ingest_folder",
    "leaderboard",
    "models",
    "search",
    "search_batch",
    "stream",
]

_PART = 1_000
"""Of a list, at once."""
_BATCH = 64
"""Searches at once."""
_UPLOAD_FILES, _UPLOAD_BYTES = 200, 32 << 20
"""Of one upload; a larger file goes alone."""
_POLL_S = 1.0
_PLAIN = (
    *("k", "mode", "fusion", "candidates", "reranker", "threshold", "per_document", "per_page", "distinct"),
    *("neighbours", "around", "keywords"),
)
"""Options that JSON has as they are."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def ingest(
    paths: str | Path | Sequence[str | Path],
    *,
    collection: str | None = None,
    metadata: Mapping[str, object] | Sequence[str] = (),
    kinds: Sequence[str] = (),
    language: str = "",
    password: str = "",
    force: bool = False,
) -> Steps[list[Ingested]]:
    """Send files and folders to the service, and return when they can be searched, as ``RagPlatform.ingest``.

    Names are kept from their common parent; what sidecars and folder defaults say goes with each file.

    Args:
        paths: One or several, on this machine.
        collection: Made where it does not exist.
        metadata: Said of all of them: values by name, or ``name=value``.
        kinds: Of text, table and image; empty: as the service is set.
        language: Tesseract languages, as ``nep+eng``; empty: as the service is set.
        password: Tried on locked PDFs; stored nowhere.
        force: Do everything again, current or not.
    """
    from rag_platform.inbox import offered

    refused: dict[str, RagError] = {}
    listed = [paths] if isinstance(paths, str | Path) else paths
    files = offered([Path(path) for path in listed], refused)
    said = _metadata(metadata)
    form = {"wait": "true", "keep_folders": "true", "force": str(force).lower()}
    form |= {name: value for name, value in (("collection", collection), ("password", password)) if value}

    def form_of(file: Offered) -> dict[str, str]:
        own = {
            "metadata": json.dumps({**file.given.plain, **said}, ensure_ascii=False),
            "kinds": ",".join(kinds or file.given.kinds),
            "language": language or file.given.languages,
        }
        return {**form, **own}

    done: list[Ingested] = []
    for fields, alike in groupby(files, form_of):
        for batch in _uploads(alike):
            sent = [(file.source, file.path) for file in batch]
            done += yield from _ended((yield Request("POST", "/v1/documents", files=sent, form=fields)))
    if refused and not (done or collection):
        raise next(iter(refused.values()))  # of what collection is the service's to say, and it was not asked
    where = collection or (done[0].collection_name if done else "")
    return [*done, *(Ingested.refused(where, source, error) for source, error in refused.items())]


def ingest_folder(folder: str | Path, *, collection: str | None = None) -> Steps[list[Ingested]]:
    """Send all files below a folder to the service; their paths below it are kept.

    Raises:
        CallerError: It is no folder.
    """
    if not Path(folder).is_dir():
        raise CallerError(f"{folder} is no folder; use ingest for files")
    return (yield from ingest(folder, collection=collection))


def add_text(
    text: str,
    *,
    name: str = "",
    collection: str | None = None,
    metadata: Mapping[str, object] | Sequence[str] = (),
) -> Steps[Ingested]:
    """Ingest a text that is in no file; the same name again is a new version of it.

    Args:
        text: Not blank.
        name: As of a file, with ``.txt`` or ``.md``; empty: made of the text itself.
        collection: Made where it does not exist.
        metadata: As of ``ingest``.
    """
    body = _given(text=text, name=name, collection=collection, metadata=_metadata(metadata), wait=True)
    (done,) = yield from _ended((yield Request("POST", "/v1/text", json=body)))
    return done


def documents(collection: str | None = None, *, deleted: bool = False) -> Steps[list[Entry]]:
    """List the documents of a collection, or of all, with their state.

    Raises:
        UnknownName: There is no such collection.
    """
    asked = _given(collection=collection, deleted=str(deleted).lower())
    written = yield from _listed("/v1/documents", "documents", asked)
    return list(map(reading.entry, written))


def document(key: str, *, collection: str | None = None) -> Steps[StoredDocument]:
    """Return a document, by its id or by its source in a collection, with its pages and chunks.

    Raises:
        UnknownName: There is none.
    """
    known = yield from _id(key, collection)
    return reading.stored((yield Request("GET", f"/v1/documents/{known}", safe=True)))


def delete(key: str, *, collection: str | None = None) -> Steps[Ingested]:
    """Remove a document, by its id or source, from the inbox and from the published collection.

    Raises:
        UnknownName: There is none.
    """
    known = yield from _id(key, collection)
    job = yield Request("DELETE", f"/v1/documents/{known}", params={"wait": "true"})
    (done,) = yield from _ended(job)
    return done


def search(
    query: str,
    *,
    collection: Names = None,
    k: int | None = None,
    filters: Sequence[str] = (),
    options: SearchOptions | None = None,
    embedding_model: str | None = None,
) -> Steps[SearchResult]:
    """Return the passages that answer a question best.

    Args:
        query: In Nepali, English or romanized Nepali.
        collection: Where to search.
        k: Number of passages; None: as the options say.
        filters: What passages must be like, as ``year=2081``.
        options: How it is searched; None: as the service is set.
        embedding_model: Whose published generations are searched; None: that of the service.
    """
    how = _searched(collection, k, filters, options, embedding_model)
    body = {"query": query, **how, "explain": True}
    return reading.search_result((yield Request("POST", "/v1/search", json=body, safe=True)))


def search_batch(
    queries: Sequence[str],
    *,
    collection: Names = None,
    k: int | None = None,
    filters: Sequence[str] = (),
    options: SearchOptions | None = None,
    embedding_model: str | None = None,
) -> Steps[list[SearchResult | RagError]]:
    """Answer several questions, as ``search``; encoded together; one that fails stops none."""
    how = _searched(collection, k, filters, options, embedding_model)
    asked = [{"query": query, **how, "explain": True} for query in queries]
    found: list[SearchResult | RagError] = []
    for at in range(0, len(asked), _BATCH):
        body = {"searches": asked[at : at + _BATCH]}
        answer = yield Request("POST", "/v1/search/batch", json=body, safe=True)
        for one in answer["results"]:
            told = one["error"]
            error = told and restored(
                told["detail"], code=told["code"], request_id=told["request_id"], status=one["status"]
            )
            found.append(error or reading.search_result(one["answer"]))
    return found


def explain(query: str, *, collection: Names = None, filters: Sequence[str] = ()) -> Steps[Explanation]:
    """Return why a search finds what it finds: how the question was read, terms, candidates, times."""
    return (yield from search(query, collection=collection, filters=filters)).explanation


def _asked(
    question: str,
    *,
    collection: Names = None,
    k: int | None = None,
    filters: Sequence[str] = (),
    options: SearchOptions | None = None,
    embedding_model: str | None = None,
    generator: str | None = None,
    temperature: float | None = None,
    history: Sequence[Turn] = (),
    tools: bool | None = None,
    expand: int | None = None,
    strict: bool = False,
) -> dict[str, Any]:
    """Answer a question from the documents, with checked citations, or refuse it.

    Args:
        question: In any language.
        collection: Where to search.
        k: Number of passages; None: as the options say.
        filters: What passages must be like, as ``year=2081``.
        options: How it is searched; None: as the service is set.
        embedding_model: Whose published generations are searched; None: that of the service.
        generator: Who answers, by a name that the service allows; None: that of the service.
        temperature: Of a language model; None: that of the service.
        history: What was said before, without the question; the service keeps nothing.
        tools: Whether a model may search by itself; None: as the service is set.
        expand: Other wordings of the question that the model writes and that are searched, too, 0 to 4;
            None: as the service is set.
        strict: Leave out what the documents do not support, instead of marking it.
    """
    from rag_platform.answering.conversation import checked

    if generator is not None and not isinstance(generator, str):
        raise CallerError(f"the generator {generator!r} stays in this process; name one that the service has")
    how = _searched(collection, k, filters, options, embedding_model)
    turns = [{"role": turn.role, "content": turn.content} for turn in checked(history)]
    given = _given(model=generator or None, temperature=temperature, tools=tools, expand=expand)
    return {"question": question, **how, **given, "history": turns, "strict": strict}


def _asking(
    asked: Callable[P, dict[str, Any]], ask: Callable[[dict[str, Any]], Steps[R]]
) -> Callable[P, Steps[R]]:
    """Return a call that asks a question, whose arguments are those of ``asked``."""

    @wraps(asked)
    def call(*args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        return (yield from ask(asked(*args, **kwargs)))

    return call


def _whole(body: dict[str, Any]) -> Steps[Reply]:
    return reading.reply((yield Request("POST", "/v1/ask", json=body)))


def _in_events(body: dict[str, Any]) -> Steps[httpx.Response]:
    response: httpx.Response = yield Request("POST", "/v1/ask", json={**body, "stream": True}, events=True)
    return response


ask = _asking(_asked, _whole)
stream = _asking(_asked, _in_events)


def collections() -> Steps[list[CollectionState]]:
    """List the collections with their documents and published generations."""
    written = yield from _listed("/v1/collections", "collections", {})
    return list(map(reading.collection, written))


def models() -> Steps[Models]:
    """List what can embed, rerank and answer, which of it is active, and what it needs to load."""
    return reading.models((yield Request("GET", "/v1/models", safe=True)))


def leaderboard(run: str | None = None, *, measure: str | None = None) -> Steps[Leaderboard]:
    """Compare the cells of a sweep's run, the last complete one unless another is named.

    Args:
        run: Its id.
        measure: Which orders the rows; None: the first of the run.
    """
    from rag_platform.evaluation.leaderboard import Leaderboard

    asked = _given(run=run, measure=measure)
    return Leaderboard.read((yield Request("GET", "/v1/leaderboard", params=asked, safe=True)))


def _given(**values: T | None) -> dict[str, T]:
    return {name: value for name, value in values.items() if value is not None}


def _searched(
    collection: Names,
    k: int | None,
    filters: Sequence[str],
    options: SearchOptions | None,
    embedding_model: str | None,
) -> dict[str, Any]:
    """Return how is searched, as the service is told."""
    how = options or SearchOptions()
    replace(how, k=how.k if k is None else k).check()
    where = {"collection": collection} if isinstance(collection, str) else {"collections": collection}
    body: dict[str, Any] = {name: value for name, value in where.items() if value}
    if options is not None:
        body |= {name: getattr(options, name) for name in _PLAIN}
        body |= {name: list(getattr(options, name)) for name in ("weights", "wordings")}
        body["kinds"] = None if options.kinds is None else list(options.kinds)
        filters = _written(options.where, filters)
    asked = _given(k=k, embedding_model=embedding_model or None)
    return {**body, "filters": list(filters), **asked}


def _written(where: Sequence[Condition], filters: Sequence[str]) -> list[str]:
    """Return filters that mean these conditions and those of other filters.

    Raises:
        CallerError: Filters cannot say it.
    """
    from rag_platform.retrieval.filters import parse_filters

    if not where:
        return list(filters)
    written = [*map(_filter_of, where), *filters]
    meant = (*where, *parse_filters(filters).conditions)
    if parse_filters(written).conditions != meant:
        raise CallerError(f"the conditions {list(where)} cannot be written as filters; give filters instead")
    return written


def _filter_of(condition: Condition) -> str:
    from rag_platform.metadata.sidecars import Given

    plain = Given({condition.field: condition.values}).plain[condition.field]
    values = plain if isinstance(plain, list) else [plain]
    return condition.field + condition.operator + "|".join(str(one).replace("|", r"\|") for one in values)


def _metadata(said: Mapping[str, object] | Sequence[str]) -> dict[str, object]:
    """Return what is said of documents as JSON has it."""
    if isinstance(said, Mapping):
        return {
            name: list(map(_plain, value)) if isinstance(value, list | tuple) else _plain(value)
            for name, value in said.items()
        }
    for one in said:
        if "=" not in one:
            raise InvalidMetadata(f"{one!r} has no '='; write it as name=value")
    return {name.strip(): value.strip() for name, _, value in (one.partition("=") for one in said)}


def _plain(value: object) -> str | int:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else str(value)


def _uploads(files: Iterable[Offered]) -> Iterator[list[Offered]]:
    """Yield files in parts that one upload may have."""
    part: list[Offered] = []
    n_bytes = 0
    for file in files:
        size = file.path.stat().st_size
        if part and (len(part) == _UPLOAD_FILES or n_bytes + size > _UPLOAD_BYTES):
            yield part
            part, n_bytes = [], 0
        part.append(file)
        n_bytes += size
    if part:
        yield part


def _ended(job: Mapping[str, Any]) -> Steps[list[Ingested]]:
    """Return what became of a job's documents when it has ended.

    Raises:
        UpstreamError: It ended by a fault of the service's machine.
    """
    while job["status"] in ("queued", "running"):
        yield _POLL_S
        job = yield Request("GET", f"/v1/jobs/{job['job_id']}", safe=True)
    if job["status"] == "failed":
        raise UpstreamError(f"the service could not finish job {job['job_id']}: {job['error']}")
    return list(map(reading.ingested, job["documents"]))


def _id(key: str, collection: str | None) -> Steps[str]:
    """Return the id of a document that is given by it or by its source."""
    if is_id(key):
        return key
    asked = _given(source=key, collection=collection or None)
    answer = yield Request("GET", "/v1/documents", params=asked, safe=True)
    return str(answer["documents"][0]["document_id"])


def _listed(path: str, name: str, asked: Mapping[str, Any]) -> Steps[list[Mapping[str, Any]]]:
    """Return a list that comes in parts."""
    found: list[Mapping[str, Any]] = []
    cursor: str | None = None
    while True:
        part = yield Request("GET", path, {**asked, "limit": _PART, **_given(cursor=cursor)}, safe=True)
        found += part[name]
        cursor = part["next_cursor"]
        if cursor is None:
            return found
