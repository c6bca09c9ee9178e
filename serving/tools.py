"""What agents can do: each tool as a plain function over the wired system, blocking, with typed answers.

Nothing of the protocol here, that is ``mcp``; how answers look stands in ``tool_answers``.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rag_platform import ingestion, pipeline
from rag_platform.answering.conversation import Turn as Said
from rag_platform.embedding import encoders
from rag_platform.entries import Entry
from rag_platform.errors import CallerError, MissingDependency, UnknownName
from rag_platform.reranking import rerankers
from rag_platform.retrieval.filters import Filters, parse_filters
from rag_platform.retrieval.options import SearchOptions
from rag_platform.system import System
from rag_platform.types import Kind, Mode, Page, Status
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

__all__ = ["Tools"]

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
        self._system = system
        self._folders = [folder.expanduser().resolve() for folder in folders]

    def warm_up(self) -> None:
        """Load the embedding model, so that the first question need not wait for it.

        Raises:
            MissingDependency: It is not here; a service starts no download.
        """
        spec = encoders.resolve(self._system.settings.embedding_model)
        if remedy := encoders.can_load(spec):
            raise MissingDependency(f"the embedding model {spec.name} cannot be loaded: {remedy}")
        self._system.encoder(spec.name).encode(["नेपाल"], "query")

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
        changes = {"kinds": kinds, "neighbours": neighbours} | ({"mode": mode} if mode else {})
        result = self._system.searcher.search(
            query,
            collection=self._names(collections),
            model=self._model,
            options=self._options(k, understood, changes),
        )
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
    ) -> AnswerGiven:
        """Answer a question from the documents, in its language, each sentence cited and checked by code.

        Without an answer in the documents it is refused: `refused` is true and `answer` says so.
        """
        reply = self._system.asker.ask(
            question,
            collection=self._names(collections),
            model=self._model,
            options=self._options(k, parse_filters(filters or []), {}),
            history=[Said(turn.role, turn.content) for turn in history or []],
            strict=strict,
        )
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
        entry = self._entry(document, collection)
        wanted = [
            page
            for page in pipeline.document(self._system, entry).pages
            if first_page <= page.page_no and (last_page is None or page.page_no <= last_page)
        ]
        shown = list(_fitting(wanted))
        return DocumentText(
            **_listed(entry),
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
        catalog = self._system.catalog
        if collection is not None and collection not in catalog.collections():
            raise UnknownName("collection", collection, catalog.collections())
        found = [entry for entry in catalog.entries(collection) if status in (None, entry.status)]
        end = offset + limit
        return DocumentsListed(
            documents=[DocumentListed(**_listed(entry)) for entry in found[offset:end]],
            total=len(found),
            next_offset=end if end < len(found) else None,
        )

    def list_collections(self) -> CollectionsListed:
        """List the collections of documents, and what of them is published for which embedding model."""
        system = self._system
        published = system.index.published()
        names = dict.fromkeys([*system.catalog.collections(), *(one.collection for one in published)])
        return CollectionsListed(
            collections=[
                CollectionListed(
                    name=name,
                    default=name == system.settings.collection_name,
                    documents=len(system.catalog.entries(name)),
                    generations={one.model: one.generation for one in published if one.collection == name},
                )
                for name in names
            ]
        )

    def list_models(self) -> ModelsListed:
        """List the embedding models, rerankers and the answering model: which are active, which can load."""
        settings = self._system.settings
        reranker = rerankers.resolve(settings.reranker_model or "none").name
        return ModelsListed(
            models=[
                *(
                    _model(spec.name, "embedding", spec.name == self._model, encoders.can_load(spec))
                    for spec in encoders.ENCODERS.values()
                ),
                *(
                    _model(spec.name, "reranker", spec.name == reranker, rerankers.can_load(spec))
                    for spec in rerankers.RERANKERS.values()
                ),
                _model(self._system.generator().name, "generator", True, None),
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
        file = self._allowed(path)
        name = collection or self._system.settings.collection_name
        self._system.catalog.create_collection(name)
        taken = self._system.inbox.add([file], name)
        if not taken:
            raise CallerError(f"{path!r} says something of a document, it is none; ingest the document")
        (made,) = ingestion.ingest(self._system, [(name, taken[0])], force=force)
        return Ingestion(
            **{
                field.name: getattr(made, field.name)
                for field in dataclasses.fields(made)
                if field.name != "failure"
            },
            error=made.failure.message if made.failure else None,
        )

    @property
    def _model(self) -> str:
        return encoders.resolve(self._system.settings.embedding_model).name

    def _names(self, collections: Sequence[str] | None) -> Sequence[str]:
        return collections or [self._system.settings.collection_name]

    def _options(self, k: int | None, filters: Filters, changes: dict[str, Any]) -> SearchOptions:
        given = changes | ({"k": k} if k else {})
        return dataclasses.replace(self._system.search_options, where=filters.conditions, **given)

    def _entry(self, document: str, collection: str | None) -> Entry:
        """Return a live document by its identity or its source."""
        catalog = self._system.catalog
        if _is_identity(document):
            live = [entry for entry in catalog.entries(collection) if entry.document_id == document]
            if not live:
                raise CallerError(f"there is no document {document!r}; list_documents lists them")
            return live[0]
        return catalog.entry(collection or self._system.settings.collection_name, document)

    def _allowed(self, path: str) -> Path:
        """Return the real file behind a path that agents name, where it lies in an allowed folder.

        Raises:
            CallerError: It does not, or it is no file; of what lies elsewhere nothing is told.
        """
        for folder in self._folders if "\0" not in path else ():
            file = (folder / path).resolve()  # a path from the root stays one; links are followed
            if file.is_relative_to(folder):
                if file.is_file():
                    return file
                raise CallerError(f"{path!r} is no file; name one, folders are ingested with `rag ingest`")
        allowed = ", ".join(map(str, self._folders)) or "none, see RAG_MCP_FOLDERS"
        raise CallerError(f"{path!r} lies in no folder that may be ingested from; allowed: {allowed}")


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


def _model(name: str, role: Any, active: bool, remedy: str | None) -> ModelListed:  # noqa: ANN401
    return ModelListed(name=name, role=role, active=active, loadable=remedy is None, remedy=remedy)


def _is_identity(document: str) -> bool:
    try:
        return str(uuid.UUID(document)) == document
    except ValueError:
        return False
