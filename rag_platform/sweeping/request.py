"""What a caller asks of a sweep, and the set that it means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_platform.errors import CallerError
from rag_platform.evaluation.datasets import Dataset
from rag_platform.evaluation.judge.cases import DEEPEVAL_METRICS
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.evaluation.own import load_questions
from rag_platform.evaluation.results import Cell
from rag_platform.evaluation.variants import BASELINE_MARK, BASELINES, Changes, spans_grid
from rag_platform.reranking.catalogue import resolve as resolve_reranker
from rag_platform.storage import sha256_of
from rag_platform.types import fingerprint

__all__ = ["SweepRequest", "collection_of", "corpus_fingerprint", "dataset_fingerprint", "load_set"]

_NO_MODEL = "hashing"


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """One sweep.

    Attributes:
        dataset: Folder or name of a set, or a CSV file of questions.
        documents: Folder of the documents of a CSV file; empty for a set.
        generator: What answers: ``extractive``, ``none``, or LiteLLM's name of a model.
        variants: What each named variant changes; measured beside what nothing was changed of.
        name: A person's name for the run; another name is another run.
        note: A person's words.
        budget: What language models may cost in this call, in US dollars; None: anything.
        max_calls: Their calls at most; None: any number.
        metrics: What the judge is asked for.
        judge_repeats: Times that everything is judged.
        baseline: Whether cells without a variant are measured, too.
        baselines: Whether those of ``variants.BASELINES`` are measured, too.
    """

    dataset: str
    documents: str = ""
    generator: str = "extractive"
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    name: str = ""
    note: str = ""
    budget: float | None = None
    max_calls: int | None = None
    metrics: Sequence[str] = DEEPEVAL_METRICS
    judge_repeats: int = 1
    baseline: bool = True
    baselines: bool = False

    @property
    def changes(self) -> Mapping[str, Changes]:
        """What each variant changes, those of the baselines included.

        Without a generator there is none of the baselines that are about answers alone.
        """
        ours = {
            name: changes
            for name, changes in BASELINES.items()
            if self.generator != "none" or "context" not in changes
        }
        return {**self.variants, **(ours if self.baselines else {})}

    @property
    def variant_names(self) -> tuple[str, ...]:
        """Variants in their order; the empty one first, unless it is left out."""
        changes = self.changes
        return (*([""] if self.baseline or not changes else []), *changes)

    def cells(self, pairs: Sequence[tuple[str, str]]) -> list[Cell]:
        """Return what is measured over a grid.

        Every variant has a cell a pair, except those to which parts of a pair do not matter: a variant with
        a context of its own and the lexical baseline are one cell, below the encoder without a model;
        the dense baseline is one an encoder, without a reranker, and a variant with a reranker one with that.

        Args:
            pairs: Embedding models and rerankers, as the catalogues name them.

        Raises:
            UnknownName: There is no such reranker.
        """
        everywhere, placed = [], []
        models = dict.fromkeys(model for model, _ in pairs)
        for name in self.variant_names:
            changes = self.changes.get(name, {})
            if spans_grid(name, changes):
                everywhere.append(name)
            elif "context" in changes or (
                name.startswith(BASELINE_MARK) and changes.get("mode") == "lexical"
            ):
                placed.append(Cell(_NO_MODEL, "none", name))
            else:
                reranker = resolve_reranker(changes.get("reranker", "none")).name
                placed += [Cell(model, reranker, name) for model in models]
        return [*(Cell(*pair, name) for pair in pairs for name in everywhere), *placed]


def load_set(request: SweepRequest) -> Dataset:
    """Return the set of a request.

    Raises:
        UnknownName: There is no such set.
        InvalidDataset: Something in it is wrong.
        CallerError: Documents are missing, or named for a set that has its own.
    """
    path = Path(request.dataset).expanduser()
    is_file = path.is_file()
    if is_file and not request.documents:
        raise CallerError(f"{path} is a file of questions; name their documents: --documents FOLDER")
    if request.documents and not is_file:
        raise CallerError(f"{request.dataset} is no file of questions, so it has its own documents")
    return (
        load_questions(path, Path(request.documents).expanduser())
        if is_file
        else load_dataset(request.dataset)
    )


def dataset_fingerprint(dataset: Dataset) -> str:
    """Return what changes with any question, label or answer of a set."""
    return fingerprint(
        *(
            (c.case_id, c.query, c.labels, c.collection, c.kind, c.language, c.answerable, c.reference_answer)
            for c in dataset.cases
        )
    )


def corpus_fingerprint(dataset: Dataset) -> str:
    """Return what changes with any byte of a set's documents; nothing is read into pages for it."""
    members = [member for some in dataset.collections.values() for member in some]
    return fingerprint(
        sorted((one.source, one.text if one.path is None else sha256_of(one.path)) for one in members)
    )


def collection_of(dataset: Dataset) -> str:
    """Return the collection that a set's files are ingested as.

    >>> collection_of(Dataset("nepali_starter", {}, ()))
    'eval-nepali_starter'
    """
    plain = re.sub(r"[^a-z0-9_-]+", "", dataset.name.lower())[:40]
    return f"eval-{plain}" if plain == dataset.name else f"eval-{plain}-{fingerprint(dataset.name)[:8]}"
