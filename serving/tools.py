"""What agents can do: each tool as a plain function over the wired system, blocking, with typed answers.

Nothing of the protocol here, that is ``mcp``; how answers look stands in ``tool_answers``.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from rag_platform.answering.conversation import Turn as Said
from rag_platform.entries import Entry
from rag_platform.errors import CallerError, UnknownName
from rag_platform.keys import EVERYBODY, Principal, Scope
from rag_platform.platform import RagPlatform
from rag_platform.retrieval.filters import parse_filters
from rag_platform.system import System
from rag_platform.types import Kind, Mode, Page, Status, is_id
from serving.keeping import keep_reply, keep_search
from serving.tool_answers import (
    AnswerGiven,
    CitationGiven,
    CollectionListed,
    CollectionsListed,
    DocumentListed,
    DocumentsListed,
    DocumentText,
    Ingestion,
    ModelListed,
    ModelsListed,
    PageText,
    PassageFound,
    PassagesFound,
    Turn,
)

__all__ = ["CALLER", "Tools"]

CALLER: ContextVar[Principal] = ContextVar("caller", default=EVERYBODY)
"""Who calls a tool; the client that started this process, unless the protocol says otherwise."""

_MOST_CHARACTERS = 20_000
"""Of a document's text in one answer; an agent asks for the rest."""

Question = Annotated[
    str, Field(min_length=1, max_length=4_000, description="in Nepali, English or romanized Nepali")
]
Collections = Annotated[
    list[str] | None,
    Field(min_length=1, max_length=100, description="named corpora; the default one unless given"),
]
Collection = Annotated[str | None, Field(description="named corpus; the default one unless given")]
K = Annotated[int | None, Field(ge=1, le=50, description="passages; as the service is set unless given")]
FilterTexts = Annotated[
    list[Annotated[str, Field(max_length=1_000)]] | None,
    Field(
        max_length=100,
        description="what passages must be like, as year=2081, published>=2080-04-01, source=ऐन.pdf",
    ),
]


class Tools:
    """The tools of one wired system; safe to call from several threads at once.

    Args:
        system: The wired platform.
        folders: Where files may be ingested from; none: ``ingest_document`` refuses.
    """

    def __init__(self, system: System, folders: Sequence[Path] = ()) -> None:
        self._rag = RagPlatform(system=system)
        self._folders = [folder.resolve() for folder in folders]

    def search_documents(
        self,
        query: Question,
        collections: Collections = None,
        k: K = None,
        filters: FilterTexts = None,
        kinds: Annotated[list[Kind] | None, Field(min_length=1, description="all unless given")] = None,
        mode: Annotated[Mode | None, Field(description="hybrid unless the service is set otherwise")] = None,
        neighbours: Annotated[int, Field(ge=0, le=5, description="passages before and after a hit")] = 0,
    ) -> PassagesFound:
        """Find the passages of the documents that answer a question best, with source and page."""
        understood = parse_filters(filters or [])
        defaults = self._rag.system.search_options
        result = self._rag.search(
            query,
            collection=self._named(collections),
            k=k,
            options=dataclasses.replace(
                defaults,
                where=understood.conditions,
                kinds=kinds,
                mode=mode or defaults.mode,
                neighbours=neighbours,
            ),
        )
        keep_search(self._rag.system.question_log, result)
        return PassagesFound(
            query=result.query,
            passages=[PassageFound.of(hit) for hit in result.hits],
            mode=result.mode,
            embedding_model=result.model,
            generations=dict(result.generations),
            filters=list(understood.understood),
            notes=list(result.explanation.notes),
        )

    def ask_question(
        self,
        question: Question,
        collections: Collections = None,
        k: K = None,
        filters: FilterTexts = None,
        history: Annotated[
            list[Turn] | None, Field(max_length=100, description="what was said before, oldest first")
        ] = None,
        strict: Annotated[bool, Field(description="leave out sentences without support")] = False,
        model: Annotated[str | None, Field(description="who answers, see list_models")] = None,
    ) -> AnswerGiven:
        """Answer a question from the documents, in its language, each sentence cited and checked by code.

        Without an answer in the documents it is refused: `refused` is true and `answer` says so.
        """
        reply = self._rag.ask(
            question,
            collection=self._named(collections),
            k=k,
            filters=filters or (),
            history=[Said(turn.role, turn.content) for turn in history or []],
            strict=strict,
            generator=model,
        )
        keep_reply(self._rag.system.question_log, reply)
        return AnswerGiven(
            answer=reply.answer,
            refused=reply.refused,
            citations=[CitationGiven(**dataclasses.asdict(one)) for one in reply.citations],
            searched=reply.standalone,
            sources=[PassageFound.of(hit) for hit in reply.hits],
            unsupported=[one.text for one in reply.unsupported],
            mode=reply.mode,
            generator=reply.generator,
            embedding_model=reply.model,
            generations=dict(reply.generations),
            notes=list(reply.notes),
        )

    def get_document(
        self,
        document: Annotated[str, Field(description="its document_id, or its source in the collection")],
        collection: Collection = None,
        first_page: Annotated[int, Field(ge=1)] = 1,
        last_page: Annotated[int | None, Field(ge=1)] = None,
    ) -> DocumentText:
        """Read a document page by page, as it was read; long ones in several calls, see `next_page`."""
        caller = _caller("read")
        into = collection or caller.default(self._rag.system.settings.collection_name)
        if collection is not None or not is_id(document):
            caller.check_collections([into])
        known = self._rag.system.catalog.collections()
        if collection is not None and collection not in known:
            raise UnknownName("collection", collection, known)
        try:
            found = self._rag.document(document, collection=into)
            if not caller.may_use(found.entry.collection):
                raise UnknownName("document", document, [])
        except UnknownName as error:
            if error.known:
                raise
            raise CallerError(f"there is no document {document!r}; list_documents lists them") from error
        wanted = [
            page
            for page in found.document.pages
            if first_page <= page.page_no and (last_page is None or page.page_no <= last_page)
        ]
        shown = list(_fitting(wanted))
        return DocumentText(
            **_listed(found.entry),
            text=shown,
            next_page=wanted[len(shown)].page_no if len(shown) < len(wanted) else None,
        )

    def list_documents(
        self,
        collection: Annotated[str | None, Field(description="of this corpus alone")] = None,
        status: Annotated[Status | None, Field(description="of this state alone")] = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=500)] = 100,
    ) -> DocumentsListed:
        """List the documents with their state, and why one could not be read."""
        caller = _caller("read")
        caller.check_collections([] if collection is None else [collection])
        found = [
            entry
            for entry in self._rag.documents(collection)
            if status in (None, entry.status) and caller.may_use(entry.collection)
        ]
        end = offset + limit
        return DocumentsListed(
            documents=[DocumentListed(**_listed(entry)) for entry in found[offset:end]],
            total=len(found),
            next_offset=end if end < len(found) else None,
        )

    def list_collections(self) -> CollectionsListed:
        """List the collections of documents, and what of them is published for which embedding model."""
        caller = _caller("read")
        default = caller.default(self._rag.system.settings.collection_name)
        return CollectionsListed(
            collections=[
                CollectionListed(
                    name=one.name,
                    default=one.name == default,
                    documents=one.n_documents,
                    generations={made.model: made.generation for made in one.generations},
                )
                for one in self._rag.collections()
                if caller.may_use(one.name)
            ]
        )

    def list_models(self) -> ModelsListed:
        """List the embedding models, rerankers and answering models: which are active, which can load."""
        _caller("read")
        known = self._rag.models()
        return ModelsListed(
            models=[
                *(_model(one.name, "embedding", one.active, one.remedy) for one in known.embedding),
                *(_model(one.name, "reranker", one.active, one.remedy) for one in known.rerankers),
                *(_model(one.name, "generator", one.active, one.remedy) for one in known.generators),
            ]
        )

    def ingest_document(
        self,
        path: Annotated[
            str, Field(min_length=1, max_length=4_096, description="a file in an allowed folder")
        ],
        collection: Collection = None,
        force: Annotated[bool, Field(description="do everything again, current or not")] = False,
    ) -> Ingestion:
        """Take a file of an allowed folder to the published collection; waits until it can be searched."""
        into = self._of(_caller("ingest"), None if collection is None else [collection])
        made = self._rag.ingest(self._allowed(path), collection=into[0], force=force)
        if not made:
            raise CallerError(f"{path!r} says something of a document, it is none; ingest the document")
        given = {field: getattr(made[0], field) for field in Ingestion.model_fields if field != "error"}
        return Ingestion(**given, error=made[0].failure.message if made[0].failure else None)

    def _named(self, collections: Sequence[str] | None) -> list[str]:
        """Return the collections that a question is about; it is the caller's to read them."""
        return self._of(_caller("read"), collections)

    def _of(self, caller: Principal, collections: Sequence[str] | None) -> list[str]:
        names = list(collections or [caller.default(self._rag.system.settings.collection_name)])
        caller.check_collections(names)
        return names

    def _allowed(self, path: str) -> Path:
        """Return the real file behind a path that agents name, where it lies in an allowed folder.

        Raises:
            CallerError: It does not, or it is no file; of what lies elsewhere nothing is told.
        """
        for folder in self._folders if "\0" not in path else ():
            file = (folder / path).resolve()  # a path from the root stays one; links are followed
            if file.is_relative_to(folder):
                with contextlib.suppress(OSError):  # a name that no file can have
                    if file.is_file():
                        return file
                raise CallerError(f"{path!r} is no file; name one, folders are ingested with `rag ingest`")
        allowed = ", ".join(map(str, self._folders)) or "none, see RAG_MCP_FOLDERS"
        raise CallerError(f"{path!r} lies in no folder that may be ingested from; allowed: {allowed}")


def _caller(scope: Scope) -> Principal:
    """Return who calls, where it may do this.

    Raises:
        Forbidden: It may not.
    """
    caller = CALLER.get()
    caller.check(scope)
    return caller


def _listed(entry: Entry) -> dict[str, Any]:
    return {
        "document_id": entry.document_id,
        "collection": entry.collection,
        "source": entry.source,
        "status": entry.status,
        "format": entry.format,
        "pages": entry.n_pages,
        "passages": entry.n_chunks,
        "error": entry.failure.message if entry.failure else None,
    }


def _fitting(pages: Sequence[Page]) -> Iterator[PageText]:
    """Yield pages as long as they fit into one answer, one at least."""
    length = 0
    for number, page in enumerate(pages):
        length += len(page.text)
        if number and length > _MOST_CHARACTERS:
            return
        yield PageText(
            page=page.page_no, label=page.label, text=page.text, origin=page.origin, suspect=page.suspect
        )


def _model(
    name: str, role: Literal["embedding", "reranker", "generator"], active: bool, remedy: str | None
) -> ModelListed:
    return ModelListed(name=name, role=role, active=active, loadable=remedy is None, remedy=remedy)
