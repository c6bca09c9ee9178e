"""A request and a system become a sweep that can run: its arms, its run, its generator and its judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

from rag_platform import __version__
from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.providers import PROVIDERS, Connection, repaired
from rag_platform.chunking.chunkers import CHUNKERS, chunk_recipe
from rag_platform.errors import InvalidDataset, InvalidSetting, UnknownName
from rag_platform.evaluation.answering import Answering, Budget
from rag_platform.evaluation.collection import Collections, Reading, collection_name, publish_set, read_set
from rag_platform.evaluation.contexts import Contexts
from rag_platform.evaluation.datasets import Dataset
from rag_platform.evaluation.judge import METRICS, Judge, judge_endpoint, load_judge
from rag_platform.evaluation.memo import Memo
from rag_platform.evaluation.results import FOLDER, Cell, Run
from rag_platform.evaluation.scoring import CODE
from rag_platform.evaluation.steps import SEARCH, Arm, Corpus, Steps, options_recipe
from rag_platform.evaluation.sweep import Sweep, sweep_measures
from rag_platform.evaluation.variants import (
    Changes,
    applied,
    read_analyzer,
    read_context,
    searched,
    spans_grid,
)
from rag_platform.index import lexical
from rag_platform.index.edge import EdgeIndex
from rag_platform.protocols import Generator
from rag_platform.remote import load_litellm
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher
from rag_platform.settings import Settings
from rag_platform.storage import TableStore
from rag_platform.sweeping.entering import Ingest, by_library, drop_files, has_files, read_documents
from rag_platform.sweeping.request import (
    SweepRequest,
    collection_of,
    corpus_fingerprint,
    dataset_fingerprint,
    load_set,
)
from rag_platform.system import System, search_options
from rag_platform.types import AnalyzerOptions, Document, fingerprint

__all__ = ["Bench", "check_request", "load_sweep_generator", "load_sweep_judge", "open_sweep"]

Tell = Callable[[str, int, int], None]
_AT_SEARCH = ("top_k_retrieval", "top_k_rerank", "dense_weight", "sparse_weight", "mode", "fusion")
_READ = ("ocr", "tesseract_languages", "kinds")
_ENCODED = ("calibration", "embedding_dim", "backend")
_MADE = (*_READ, "chunker", "chunk_size", "overlap_ratio", *_ENCODED)
_SPELT = {"hosted_vllm": "vllm", "ollama_chat": "ollama"}
"""Providers that LiteLLM names otherwise."""
_Place = tuple[Corpus, Searcher, System, Callable[[str], None]]
"""What is searched, what searches it, where its models come from, what publishes it."""


def _silent(step: str, done: int, of: int) -> None:
    """Tell nobody."""


@dataclass
class Bench:
    """A set on a system, entered when it is first needed.

    Attributes:
        system: The wired platform.
        request: What is asked for.
        ingest: Who takes the set's files through the pipeline.
        tell: Told of every step.
    """

    system: System
    request: SweepRequest
    ingest: Ingest = by_library
    tell: Tell = _silent
    _places: dict[str, _Place] = field(default_factory=dict)

    @cached_property
    def dataset(self) -> Dataset:
        """The labelled set."""
        return load_set(self.request)

    @cached_property
    def sources(self) -> list[tuple[str, str]]:
        """The set's files as documents of the platform, read and cut; empty for a set of passages."""
        if not has_files(self.dataset):
            return []
        sources = drop_files(self.system, self.dataset)
        self.ingest(self.system, sources, [])
        return sources

    @cached_property
    def documents(self) -> Collections:
        """The set's documents as they were read."""
        if self.sources:
            return read_documents(self.system, self.dataset)
        return read_set(self.dataset, _reading(self.system), self.tell)

    @cached_property
    def answering(self) -> Answering:
        """Generator, judge and budget.

        Raises:
            RagError: The generator or the judge is not usable.
        """
        request, settings = self.request, self.system.settings
        return Answering(
            load_sweep_generator(self.system, request.generator),
            Budget(request.budget, request.max_calls),
            load_sweep_judge(self.system),
            request.metrics,
            settings.eval_concurrency,
            request.judge_repeats,
        )

    def arm(self, name: str) -> Arm:
        """Return one variant; the empty name changes nothing.

        Raises:
            InvalidSetting: It changes what a variant cannot change.
        """
        arm, context = self._arm(name), read_context(self.request.changes.get(name, {}))
        if context is None:
            return arm
        return replace(arm, contexts=Contexts(context, arm.corpus.documents, self.system.tokenizer))

    def _arm(self, name: str) -> Arm:
        settings, changed, options = self.variant(name)
        analyzer = read_analyzer(self.request.changes.get(name, {}))
        system = System.from_settings(settings) if changed & {*_MADE} else self.system
        if self.sources and not changed & {*_MADE} and not analyzer.left_out:
            return self._ingested(name, options)
        models = system if changed & {*_ENCODED} else self.system
        reread = bool(changed & {*_READ})
        return Arm(name, options, *self._apart(system, models, analyzer, reread=reread))

    def variant(self, name: str) -> tuple[Settings, set[str], SearchOptions]:
        """Return the settings of a variant, the fields that it changes, and how it is searched.

        Raises:
            CallerError: It changes what a variant cannot change, or to what is not allowed.
        """
        changes: Changes = self.request.changes.get(name, {})
        settings = applied(self.system.settings, changes)
        if settings.chunker not in CHUNKERS:
            raise UnknownName("chunker", settings.chunker, CHUNKERS)
        options = searched(replace(search_options(settings), reranker="none"), changes)
        if read_analyzer(changes).left_out and options.mode == "dense":
            raise InvalidSetting(f"variant {name!r} searches no words, so the analyzer would change nothing")
        return settings, _changed(self.system, settings, name), options

    def makes(self, name: str) -> Settings | None:
        """Return how a variant reads, cuts and encodes, None where it does as the collection does."""
        settings, changed, _ = self.variant(name)
        return settings if changed & {*_MADE} else None

    def _ingested(self, name: str, options: SearchOptions) -> Arm:
        """Return an arm over the collection that the pipeline publishes."""
        system, collection = self.system, collection_of(self.dataset)
        made = [
            (entry.source, entry.content_sha256, entry.stages["chunks"].fingerprint)
            for entry in system.catalog.entries(collection)
        ]
        corpus = Corpus(
            self.documents, dict.fromkeys(self.dataset.collections, collection), fingerprint("corpus", made)
        )
        searcher = Searcher(system.index, system.encoder, system.cache)
        return Arm(
            name, options, corpus, searcher, system, lambda model: self.ingest(system, self.sources, [model])
        )

    def _apart(self, system: System, models: System, analyzer: AnalyzerOptions, *, reread: bool) -> _Place:
        """Return an index of its own: for passages, and for what the pipeline makes otherwise."""
        dataset, settings = self.dataset, system.settings
        documents = read_set(dataset, _reading(system), self.tell) if reread else self.documents
        documents = {part: _renamed(some, collection_name(dataset, part)) for part, some in documents.items()}
        recipe = chunk_recipe(system.chunker, settings.kinds)
        terms = (lexical.recipe(analyzer),) if analyzer.left_out else ()
        made = fingerprint("apart", recipe, *(getattr(settings, name) for name in _MADE), *terms)
        if made in self._places:
            return self._places[made]
        folder = system.home / FOLDER / "index" / made[:16]
        index = EdgeIndex(folder, hnsw_ef=settings.hnsw_ef, analyzer=analyzer)
        read = [
            (one.source, one.content_sha256, one.text) for some in documents.values() for one in some.values()
        ]
        corpus = Corpus(
            documents,
            {part: collection_name(dataset, part) for part in documents},
            fingerprint("corpus", made, read),
        )
        published: set[str] = set()

        def publish(model: str) -> None:
            if model not in published:
                publish_set(
                    dataset,
                    documents,
                    index,
                    models.encoder(model),
                    chunker=system.chunker,
                    tokenizer=system.tokenizer,
                    cache=system.cache,
                    kinds=settings.kinds,
                    progress=self.tell,
                )
                published.add(model)

        searcher = Searcher(index, models.encoder, system.cache)
        self._places[made] = (corpus, searcher, models, publish)
        return self._places[made]

    def run(self, cells: Sequence[Cell]) -> Run:
        """Return the run of these inputs: what decides its scores for all cells gives it its id."""
        request, system, answering = self.request, self.system, self.answering
        generator, judge = (one.recipe if one else "" for one in (answering.generator, answering.judge))
        options = replace(search_options(system.settings), reranker="none")
        corpus, questions = corpus_fingerprint(self.dataset), dataset_fingerprint(self.dataset)
        recipe = " | ".join((chunk_recipe(system.chunker, system.settings.kinds), options_recipe(options)))
        within = [one for one in cells if spans_grid(one.variant, request.changes.get(one.variant, {}))]
        code = f"{__version__} {CODE} {SEARCH}"
        identity = fingerprint(questions, corpus, recipe, generator, judge, code, request.name)
        run_id = f"{collection_of(self.dataset).removeprefix('eval-')}-{identity[:10]}"
        return Run(
            system.home / FOLDER / run_id,
            run_id,
            request.name,
            request.note,
            datetime.now(UTC).isoformat(timespec="seconds"),
            self.dataset.name,
            questions,
            corpus,
            recipe,
            request.generator,
            judge,
            code,
            tuple(dict.fromkeys(cell.embedding_model for cell in within)),
            tuple(dict.fromkeys(cell.reranker for cell in within)),
            request.changes,
            (*map(str, sweep_measures()), *answering.measures),
        )


def check_request(bench: Bench) -> None:
    """Refuse what could not be measured, before anything is done for it.

    Raises:
        CallerError: The set, a variant or the generator's name is wrong.
    """
    for name in bench.request.variant_names:
        bench.variant(name)
        if read_context(bench.request.changes.get(name, {})) and bench.request.generator == "none":
            raise InvalidSetting(f"variant {name!r} is about answers, and the generator is none")
    if not bench.dataset.judged and bench.request.generator == "none":
        raise InvalidDataset(f"no question of {bench.dataset.name!r} is judged, so nothing can be measured")
    for metric in bench.request.metrics:
        if metric not in METRICS:
            raise UnknownName("metric of a judge", metric, METRICS)
    _ = bench.answering


def load_sweep_generator(system: System, name: str) -> Generator | None:
    """Return what answers, None for ``none``; a model at temperature 0, so that it repeats itself.

    Args:
        system: Whose keys and addresses are used.
        name: ``extractive``, ``none``, ``prompt``, a profile, a provider of ``PROVIDERS``, with or without
            ``/MODEL``, or ``PROVIDER/MODEL`` as LiteLLM names any other, at ``LLM_BASE_URL``.

    Raises:
        RagError: There is no such generator, or it is not installed or configured wholly.
    """
    if name == "none":
        return None
    if name == "extractive":  # one encoder in all cells, so that they differ by what was found alone
        return ExtractiveGenerator(near=system.nearness(system.settings.embedding_model))
    if name == "prompt":
        return system.generator(name)
    provider, _, model = name.partition("/")
    provider = _SPELT.get(provider, provider)
    is_ours = provider in PROVIDERS or provider in system.profiles.chat
    if not (is_ours or model):
        names = ("extractive", "none", "prompt", *system.profiles.chat, *PROVIDERS)
        raise UnknownName("generator (or PROVIDER/MODEL)", name, names)
    load_litellm()  # a sweep that cannot answer does not begin
    if is_ours:
        return system.chat_model(provider, model, temperature=0.0)
    settings = system.settings
    base_url = repaired(settings.llm_base_url)
    return system.chat(Connection(provider, model, base_url, settings.llm_api_key), temperature=0.0)


def load_sweep_judge(system: System) -> Judge | None:
    """Return the judge of the settings, None where none is set.

    Raises:
        CallerError: It is set, but not wholly, or to what there is not.
        MissingDependency: DeepEval or LiteLLM is not installed.
    """
    settings = system.settings
    endpoint = judge_endpoint(
        settings.eval_provider,
        settings.eval_model,
        api_key=settings.eval_api_key,
        base_url=settings.eval_base_url,
    )
    if endpoint is None:
        return None
    return load_judge(
        endpoint,
        system.home,
        instructions=settings.eval_instructions,
        timeout_s=settings.eval_timeout_s,
    )


class _Arms(dict[str, Arm]):
    """Variants by name, each made when it is first asked for: where no model can run, nothing is read."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self._bench = bench

    def __missing__(self, name: str) -> Arm:
        arm = self[name] = self._bench.arm(name)
        return arm


def open_sweep(bench: Bench, cells: Sequence[Cell]) -> Sweep:
    """Return the sweep that brings these cells up to date; ``run.json`` is written, nothing else is done yet.

    Raises:
        RagError: The set, a variant, the generator or the judge is not usable.
    """
    system = bench.system
    run = bench.run(cells).save()
    return Sweep(
        run,
        _Arms(bench),
        system,
        Steps(bench.dataset, Memo(system.home / "cache" / "sweep.sqlite"), system.cache, bench.tell),
        sweep_measures(),
        bench.answering,
        system.settings.sanity_gate,
    )


def _changed(system: System, settings: Settings, variant: str) -> set[str]:
    """Return the fields that a variant changes.

    Raises:
        InvalidSetting: One of them makes no difference to search.
    """
    changed = {
        name for name in Settings.model_fields if getattr(settings, name) != getattr(system.settings, name)
    }
    strange = sorted(changed - {*_AT_SEARCH, *_MADE})
    if strange:
        known = [str(Settings.model_fields[name].validation_alias) for name in (*_AT_SEARCH, *_MADE)]
        raise InvalidSetting(
            f"variant {variant!r} changes {Settings.model_fields[strange[0]].validation_alias}, which it"
            f" cannot; allowed are options of search and {', '.join(known)}"
        )
    return changed


def _reading(system: System) -> Reading:
    kept = TableStore(system.home / "cache")
    return Reading(system.parse_options, system.parse_limits, kept, system.settings.workers)


def _renamed(documents: Mapping[str, Document], collection: str) -> dict[str, Document]:
    """Return documents as those of another collection: chunks name the collection that they are found in."""
    return {
        source: one if one.collection == collection else replace(one, collection=collection)
        for source, one in documents.items()
    }
