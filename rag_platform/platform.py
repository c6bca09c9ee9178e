"""``RagPlatform``: the whole platform in one process, for notebooks, scripts and services.

A facade: it wires nothing and decides nothing. How documents are ingested stands in ``ingestion``, how
questions are searched in ``retrieval``, how they are answered in ``answering``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rag_platform import ingestion, pipeline
from rag_platform.errors import CallerError, RagError, UnknownName
from rag_platform.listing import collections, info, models, stored
from rag_platform.privacy import keep_private
from rag_platform.receiving import receive, safe_name, said
from rag_platform.retrieval.filters import parse_filters
from rag_platform.retrieval.options import SearchOptions
from rag_platform.settings import Settings
from rag_platform.states import CollectionState, Info, Ingested, Models, StoredDocument
from rag_platform.system import System
from rag_platform.talk import Conversation, Names
from rag_platform.types import fingerprint, is_id

if TYPE_CHECKING:
    from rag_platform.answering.ask import Event, Reply
    from rag_platform.answering.conversation import Turn
    from rag_platform.entries import Entry
    from rag_platform.evaluation.leaderboard import Leaderboard
    from rag_platform.evaluation.retrieval import Evaluation
    from rag_platform.protocols import Generator
    from rag_platform.retrieval.explain import Explanation
    from rag_platform.retrieval.search import SearchResult
    from rag_platform.stages import Progress

__all__ = ["RagPlatform"]


class RagPlatform:
    """Everything that the platform does, in this process; safe to share between threads.

    Usable as a context manager. ``collection`` is everywhere the default one of the settings unless named.

    Args:
        settings: None: those of the environment and ``.env``.
        system: A wired system instead, which is left open when this closes.
    """

    def __init__(self, settings: Settings | None = None, *, system: System | None = None) -> None:
        keep_private()
        self._own = system is None
        self._system: System | None = system or System.from_settings(settings)

    @classmethod
    def at(cls, home: str | Path, **settings: object) -> Self:
        """Open the platform that stores everything in a folder; settings as ``CHUNK_SIZE=128``."""
        return cls(Settings.load(Path(".env"), RAG_HOME=home, **settings))

    @property
    def system(self) -> System:
        """The wired parts.

        Raises:
            CallerError: The platform is closed.
        """
        if self._system is None:
            raise CallerError("this platform is closed; open another")
        return self._system

    def close(self) -> None:
        """Let go of models and files; a second time is no error."""
        system, self._system = self._system, None
        if system is not None and self._own:
            system.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Documents

    def ingest(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        collection: str | None = None,
        metadata: Mapping[str, object] | Sequence[str] = (),
        kinds: Sequence[str] = (),
        language: str = "",
        password: str = "",
        force: bool = False,
        progress: Progress | None = None,
    ) -> list[Ingested]:
        """Copy files and folders into the inbox and take them to a published collection.

        Args:
            paths: One or several; names are kept from their common parent.
            collection: Made where it does not exist.
            metadata: Said of all of them: values by name, or ``name=value``.
            kinds: Of text, table and image; empty: as the settings say.
            language: Tesseract languages, as ``nep+eng``; empty: as the settings say.
            password: Tried on locked PDFs before those of the settings; stored nowhere.
            force: Do everything again, current or not.
            progress: Told of every document as a stage is done with it.

        Returns:
            What became of each document; one that fails stops no other.
        """
        listed = [paths] if isinstance(paths, str | Path) else paths
        changes = said(metadata, kinds=kinds, language=language)
        name = self._name(collection)
        self.system.catalog.create_collection(name)
        refused: dict[str, RagError] = {}
        added = self.system.inbox.add([Path(path) for path in listed], name, refused=refused)
        for source in added if changes else ():
            try:
                self.system.inbox.note(name, source, changes)
            except RagError as error:
                refused[source] = error
        sources = [source for source in added if source not in refused]
        done = self._ingested(name, sources, password=password, force=force, progress=progress)
        return [*done, *(Ingested.refused(name, source, error) for source, error in refused.items())]

    def ingest_folder(self, folder: str | Path, *, collection: str | None = None) -> list[Ingested]:
        """Ingest all files below a folder; their paths below it are kept.

        Raises:
            CallerError: It is no folder.
        """
        if not Path(folder).is_dir():
            raise CallerError(f"{folder} is no folder; use ingest for files")
        return self.ingest(folder, collection=collection)

    def add_text(
        self,
        text: str,
        *,
        name: str = "",
        collection: str | None = None,
        metadata: Mapping[str, object] | Sequence[str] = (),
    ) -> Ingested:
        """Ingest a text that is in no file; the same name again is a new version of it.

        Args:
            text: Not blank.
            name: As of a file, with ``.txt`` or ``.md``; empty: made of the text itself.
            collection: Made where it does not exist.
            metadata: As of ``ingest``.
        """
        source = self.put_text(text, name=name, collection=collection, metadata=metadata)
        return self._ingested(self._name(collection), [source])[0]

    def put_text(
        self,
        text: str,
        *,
        name: str = "",
        collection: str | None = None,
        metadata: Mapping[str, object] | Sequence[str] = (),
    ) -> str:
        """Put a text into the inbox, as ``add_text``, without ingesting it, and return its source."""
        if not text.strip():
            raise CallerError("the text is blank; give one with words")
        source = safe_name(name or f"text-{fingerprint(text)[:12]}.txt")
        source = source if Path(source).suffix.lower() in (".txt", ".md") else f"{source}.txt"
        content = BytesIO(text.encode("utf-8", "replace"))
        changes = said(metadata)
        return receive(self.system, self._name(collection), [(source, content)], changes=changes)[0]

    def documents(self, collection: str | None = None, *, deleted: bool = False) -> list[Entry]:
        """List the documents of a collection, or of all, with their state.

        Raises:
            UnknownName: There is no such collection.
        """
        known = self.system.catalog.collections()
        if collection is not None and collection not in known:
            raise UnknownName("collection", collection, known)
        return self.system.catalog.entries(collection, deleted=deleted)

    def document(self, key: str, *, collection: str | None = None) -> StoredDocument:
        """Return a document, by its id or by its source in a collection, with its pages and chunks.

        Raises:
            UnknownName: There is none.
        """
        return stored(self.system, self._entry(key, collection))

    def delete(self, key: str, *, collection: str | None = None) -> Ingested:
        """Remove a document, by its id or source, from the inbox and from the published collection.

        Raises:
            UnknownName: There is none.
        """
        entry = self.remove(key, collection=collection)
        return self._ingested(entry.collection, [entry.source])[0]

    def remove(self, key: str, *, collection: str | None = None) -> Entry:
        """Remove a document from the inbox alone; its points go with the next generation."""
        entry = self._entry(key, collection)
        return pipeline.delete(self.system, entry.collection, entry.source)

    # Questions

    def search(
        self,
        query: str,
        *,
        collection: Names = None,
        k: int | None = None,
        filters: Sequence[str] = (),
        options: SearchOptions | None = None,
        embedding_model: str | None = None,
    ) -> SearchResult:
        """Return the passages that answer a question best.

        Args:
            query: In Nepali, English or romanized Nepali.
            collection: Where to search.
            k: Number of passages; None: as the options say.
            filters: What passages must be like, as ``year=2081``.
            options: How it is searched; None: as the settings say.
            embedding_model: Whose published generations are searched; None: that of the settings.
        """
        return self.system.searcher.search(
            query,
            collection=self._names(collection),
            model=self._model(embedding_model),
            options=self._options(options, k, filters),
        )

    def search_batch(
        self,
        queries: Sequence[str],
        *,
        collection: Names = None,
        k: int | None = None,
        filters: Sequence[str] = (),
        options: SearchOptions | None = None,
        embedding_model: str | None = None,
    ) -> list[SearchResult | RagError]:
        """Answer several questions, as ``search``; encoded together; one that fails stops none."""
        from rag_platform.retrieval.batch import Wanted, search_together

        names, model = self._names(collection), self._model(embedding_model)
        known = [names] if isinstance(names, str) else names
        how = self._options(options, k, filters)
        wanted = [Wanted(query, known, model, how) for query in queries]
        return search_together(self.system.searcher, wanted, self.system.cache)

    def explain(self, query: str, *, collection: Names = None, filters: Sequence[str] = ()) -> Explanation:
        """Return why a search finds what it finds: how the question was read, terms, candidates, times."""
        return self.search(query, collection=collection, filters=filters).explanation

    def ask(
        self,
        question: str,
        *,
        collection: Names = None,
        k: int | None = None,
        filters: Sequence[str] = (),
        options: SearchOptions | None = None,
        embedding_model: str | None = None,
        generator: str | Generator | None = None,
        temperature: float | None = None,
        history: Sequence[Turn] = (),
        tools: bool | None = None,
        expand: int | None = None,
        strict: bool = False,
    ) -> Reply:
        """Answer a question from the documents, with checked citations, or refuse it.

        Args:
            question: In any language.
            collection: Where to search.
            k: Number of passages; None: as the options say.
            filters: What passages must be like, as ``year=2081``.
            options: How it is searched; None: as the settings say.
            embedding_model: Whose published generations are searched; None: that of the settings.
            generator: Who answers, by name or as it is; None: that of the settings.
            temperature: Of a generator given by name; None: that of the settings.
            history: What was said before, without the question.
            tools: Whether a model may search by itself; None: as the settings say.
            expand: Other wordings of the question that the model writes and that are searched, too, 0 to 4;
                None: as the settings say.
            strict: Leave out what the documents do not support, instead of marking it.
        """
        return self.system.asker.ask(
            question,
            collection=self._names(collection),
            model=self._model(embedding_model),
            options=self._options(options, k, filters),
            history=history,
            strict=strict,
            generator=self._generator(generator, temperature),
            tools=tools,
            expand=expand,
        )

    def stream(
        self,
        question: str,
        *,
        collection: Names = None,
        k: int | None = None,
        filters: Sequence[str] = (),
        options: SearchOptions | None = None,
        embedding_model: str | None = None,
        generator: str | Generator | None = None,
        temperature: float | None = None,
        history: Sequence[Turn] = (),
        tools: bool | None = None,
        expand: int | None = None,
        strict: bool = False,
    ) -> Iterator[Event]:
        """Yield the sources, then the words of the answer as they are checked, then the reply; as ``ask``."""
        return self.system.asker.stream(
            question,
            collection=self._names(collection),
            model=self._model(embedding_model),
            options=self._options(options, k, filters),
            history=history,
            strict=strict,
            generator=self._generator(generator, temperature),
            tools=tools,
            expand=expand,
        )

    def chat(self, *, collection: Names = None, generator: str | None = None) -> Conversation:
        """Begin a conversation, in which follow-ups are understood."""
        return Conversation(self, collection, generator)

    # What is there

    def collections(self) -> list[CollectionState]:
        """List the collections with their documents and published generations."""
        return collections(self.system)

    def models(self) -> Models:
        """List what can embed, rerank and answer, which of it is active, and what it needs to load."""
        return models(self.system)

    def info(self) -> Info:
        """Say what this platform is set to, and how much it holds."""
        return info(self.system)

    def leaderboard(self, run: str | None = None, *, measure: str | None = None) -> Leaderboard:
        """Compare the cells of a sweep's run, the last complete one unless another is named.

        Raises:
            NotPublished: No run is complete.
            UnknownName: There is no such run, or it has no such measure.
        """
        from rag_platform.evaluation.leaderboard import leaderboard
        from rag_platform.evaluation.results import Run, latest

        found = latest(self.system.home) if run is None else Run.load(self.system.home, run)
        return leaderboard(found, measure=measure)

    def evaluate(self, dataset: str | Path, *, measures: Sequence[str] = (), k: int = 10) -> Evaluation:
        """Measure search on a labelled set, over a throw-away collection built from its documents.

        Args:
            dataset: Its folder, or the name of a bundled one (``nepali_starter``).
            measures: As ``nDCG@10``; empty: the usual, at ``k``.
            k: Depth of the usual measures.
        """
        from rag_platform.evaluation.layouts import load_dataset
        from rag_platform.evaluation.ranking import parse_measure
        from rag_platform.evaluation.retrieval import default_measures
        from rag_platform.measuring import measure_retrieval

        wanted = tuple(map(parse_measure, measures)) or default_measures(k)
        return measure_retrieval(load_dataset(str(dataset)), self.system.settings, wanted).evaluation

    def _name(self, collection: str | None) -> str:
        return collection or self.system.settings.collection_name

    def _names(self, collection: Names) -> str | Sequence[str]:
        return collection or self.system.settings.collection_name

    def _model(self, name: str | None) -> str:
        return self.system.embedding(name or "").name

    def _options(self, options: SearchOptions | None, k: int | None, filters: Sequence[str]) -> SearchOptions:
        found = options or self.system.search_options
        where = (*found.where, *parse_filters(filters).conditions) if filters else found.where
        return replace(found, k=found.k if k is None else k, where=where)

    def _generator(self, wanted: str | Generator | None, temperature: float | None) -> Generator | None:
        if isinstance(wanted, str) or (wanted is None and temperature is not None):
            return self.system.generator(wanted or "", temperature=temperature)
        return wanted

    def _entry(self, key: str, collection: str | None) -> Entry:
        if not is_id(key):
            return self.system.catalog.entry(self._name(collection), key)
        entry = self.system.catalog.known(key)
        if entry.deleted:
            raise UnknownName("document", key, [])
        return entry

    def _ingested(
        self,
        collection: str,
        sources: Sequence[str],
        *,
        password: str = "",
        force: bool = False,
        progress: Progress | None = None,
    ) -> list[Ingested]:
        named = [(collection, source) for source in sources]
        return ingestion.ingest(self.system, named, password=password, force=force, progress=progress)
