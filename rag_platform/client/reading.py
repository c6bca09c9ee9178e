"""Values of the library from the JSON of the service: ``serving.schemas`` read backwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from rag_platform.answering.reply import Delta, Done, Event, Reply, Sources
from rag_platform.client.failures import expected, restored
from rag_platform.entries import Entry, partition_key
from rag_platform.errors import Unreachable
from rag_platform.retrieval.result import SearchResult
from rag_platform.states import CollectionState, Ingested, Models, StoredDocument

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Events", "collection", "entry", "ingested", "models", "reply", "search_result", "stored"]

R = TypeVar("R")
Written = Mapping[str, Any]


def search_result(written: Written) -> SearchResult:
    """Return the result of a search that was to be explained."""
    return _read(SearchResult, _found(written))


def reply(written: Written) -> Reply:
    """Return an answered question."""
    return _read(Reply, _found(written))


def ingested(written: Written) -> Ingested:
    """Return what became of a document."""
    return _read(Ingested, {**written, "failure": _failure(written["error"])})


def entry(written: Written) -> Entry:
    """Return a document with its state; in whose hands it is, only the service knows."""
    return _read(Entry, _entry(written))


def stored(written: Written) -> StoredDocument:
    """Return a document with its pages and passages."""
    about = ("document_id", "collection", "source", "content_sha256")
    shared = {name: written[name] for name in about}
    chunks = [{**one, **shared} for one in written["chunks"]]
    return _read(StoredDocument, {"entry": _entry(written), "document": written, "chunks": chunks})


def collection(written: Written) -> CollectionState:
    """Return a collection with its generations."""
    generations = [
        {**one, "model": one["embedding_model"], "n_documents": one["documents"]}
        for one in written["generations"]
    ]
    named = {**written, "n_documents": written["documents"], "generations": generations}
    return _read(CollectionState, named)


def models(written: Written) -> Models:
    """Return the catalogues."""
    return _read(Models, written)


class Events:
    """Reads server-sent events as they come in; a piece may end anywhere."""

    def __init__(self, address: str) -> None:
        self._address, self._rest = address, b""
        self._is_whole = False

    def read(self, piece: bytes) -> list[Event]:
        """Return the events that are whole now.

        Raises:
            RagError: The answer broke off, as the service says, or is none.
        """
        # not by lines of text: what Unicode takes for a line break stands in answers as it is
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        with expected(self._address):
            return [self._event(block) for block in blocks]

    def end(self) -> None:
        """Say that nothing more comes.

        Raises:
            Unreachable: The answer is not whole.
        """
        if not self._is_whole:
            raise Unreachable(f"{self._address} broke off in the middle of an answer; ask again", sent=True)

    def _event(self, block: bytes) -> Event:
        name, _, data = block.removeprefix(b"event: ").partition(b"\ndata: ")
        written = json.loads(data)
        if name == b"sources":
            return _read(Sources, {"hits": list(map(_hit, written["hits"]))})
        if name == b"delta":
            return _read(Delta, written)
        if name == b"answer":
            self._is_whole = True
            return Done(reply(written))
        raise restored(written["detail"], code=written["code"], request_id=written["request_id"])


def _read(kind: type[R], written: object) -> R:
    found: R = _adapter(kind).validate_python(written)  # type: ignore[arg-type]
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _hit(written: Written) -> Written:
    return {**written, "chunk": written}


def _found(written: Written) -> Written:
    return {**written, "hits": list(map(_hit, written["hits"])), "model": written["embedding_model"]}


def _failure(written: Written | None) -> Written | None:
    return None if written is None else {**written, "message": written["detail"]}


def _entry(written: Written) -> Written:
    stages = {name: {**one, "failure": _failure(one["error"])} for name, one in written["stages"].items()}
    return {
        **written,
        "partition": partition_key(written["collection"], written["source"]),
        "owner": None,
        "deleted": written["status"] == "deleted",
        "updated_at": datetime.fromisoformat(written["updated_at"]).timestamp(),
        "stages": stages,
    }
