"""What each ingredient of search is worth: with and without it, on the same questions, differences paired.

``python benchmarks/ablation.py [DATASET...]`` prints a table a set; without one, the set that comes with the
platform. Everything is measured on the bundled encoder.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.evaluation.collection import Collections, Reading, publish_set, read_set
from rag_platform.evaluation.datasets import Dataset
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.evaluation.ranking import parse_measure
from rag_platform.evaluation.retrieval import Evaluation, embed_queries, evaluate_retrieval
from rag_platform.evaluation.statistics import paired_difference
from rag_platform.index.edge import EdgeIndex
from rag_platform.protocols import Encoder
from rag_platform.retrieval import fusion
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.question import Question
from rag_platform.retrieval.search import Searcher
from rag_platform.settings import Settings
from rag_platform.storage import TableStore
from rag_platform.system import System

MEASURE = parse_measure("nDCG@10")
MODEL = "intfloat/multilingual-e5-small"
DEPTH = 20
FOLDS = 5
BASE = SearchOptions(k=DEPTH)


@dataclass(frozen=True)
class Variant:
    """The default with one thing changed.

    Attributes:
        options: How it searches.
        share: Of the means that is taken away; None: as shipped.
        changed: What else is changed while it runs.
    """

    options: SearchOptions = BASE
    share: float | None = None
    changed: Callable[[], contextlib.AbstractContextManager[object]] = field(default=contextlib.nullcontext)


def power(value: float) -> Callable[[], contextlib.AbstractContextManager[object]]:
    """Return a context in which coverage counts by this power."""
    return lambda: patch.object(fusion, "COVERAGE_POWER", value)


def unread() -> contextlib.AbstractContextManager[object]:
    """Return a context in which no question is read as romanized Nepali."""
    return patch.object(Question, "is_romanized", property(lambda self: False))


VARIANTS: Mapping[str, Variant] = {
    "default": Variant(),
    "dense alone": Variant(replace(BASE, mode="dense")),
    "lexical alone": Variant(replace(BASE, mode="lexical")),
    "fusion of ranks (RRF 0.7/0.3)": Variant(replace(BASE, fusion="rrf")),
    "fusion of scaled scores": Variant(replace(BASE, fusion="weighted")),
    "not centred": Variant(share=0.0),
    "centred by half of the means": Variant(share=0.5),
    "centred by the whole means": Variant(share=1.0),
    "not centred, dense alone": Variant(replace(BASE, mode="dense"), share=0.0),
    "coverage as it is": Variant(changed=power(1.0)),
    "coverage squared": Variant(changed=power(2.0)),
    "weights 0.8/0.2": Variant(replace(BASE, weights=(0.8, 0.2))),
    "weights 0.6/0.4": Variant(replace(BASE, weights=(0.6, 0.4))),
    "romanized questions as typed": Variant(changed=unread),
    "10 candidates": Variant(replace(BASE, k=10, candidates=10)),
    "50 candidates": Variant(replace(BASE, k=50, candidates=50)),
}


class Bench:
    """A set, published once for each share of the means."""

    def __init__(self, dataset: Dataset, system: System, folder: Path) -> None:
        self.dataset, self.system, self.folder = dataset, system, folder
        kept = TableStore(system.home / "cache")
        reading = Reading(system.parse_options, system.parse_limits, kept, system.settings.workers)
        self.documents: Collections = read_set(dataset, reading)
        self._searchers: dict[float | None, Searcher] = {}

    def run(self, variant: Variant) -> Evaluation:
        """Search all questions with a variant."""
        searcher = self._searcher(variant.share)

        def search(query: str, collection: str) -> object:
            return searcher.search(query, collection=collection, model=MODEL, options=variant.options).hits

        with variant.changed():
            return evaluate_retrieval(self.dataset, self.documents, search, measures=[MEASURE])  # type: ignore[arg-type]

    def _searcher(self, share: float | None) -> Searcher:
        if share not in self._searchers:
            encoder = self._encoder(share)
            index = EdgeIndex(self.folder / str(share))
            system = self.system
            publish_set(
                self.dataset,
                self.documents,
                index,
                encoder,
                chunker=system.chunker,
                tokenizer=system.tokenizer,
                cache=system.cache,
            )
            embed_queries(self.dataset, encoder, system.cache)
            self._searchers[share] = Searcher(index, lambda name: encoder, system.cache)
        return self._searchers[share]

    def _encoder(self, share: float | None) -> Encoder:
        encoder = self.system.encoder(MODEL)
        assert isinstance(encoder, CalibratedEncoder)
        if share is None:
            return encoder
        return CalibratedEncoder(encoder.inner, replace(encoder.calibration, share=share))


def rows(bench: Bench) -> Iterator[list[str]]:
    """Yield the cells of a Markdown table: the mean of each kind, and the difference to the default.

    The last row is what the choice among all these variants is worth on questions it was not made on.
    """
    default = bench.run(VARIANTS["default"])
    values: dict[str, dict[str, float]] = {}
    kinds = [kind for kind in default.by_kind() if kind]
    yield ["", *kinds, "all", "difference (95 %)"]
    yield ["---"] * (len(kinds) + 3)
    for name, variant in VARIANTS.items():
        found = bench.run(variant)
        by_kind = found.by_kind()
        means = [by_kind[kind][str(MEASURE)].mean for kind in kinds] + [found.intervals()[str(MEASURE)].mean]
        values[name] = found.per_query(MEASURE)
        change = paired_difference(values[name], values["default"])
        told = "" if name == "default" else f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
        yield [name, *(f"{mean:.3f}" for mean in means), told]
    chosen = chosen_elsewhere(values, default)
    change = paired_difference(chosen, values["default"])
    told = f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
    yield ["chosen on the other folds", *("" for _ in kinds), f"{fmean(chosen.values()):.3f}", told]


def chosen_elsewhere(values: Mapping[str, Mapping[str, float]], run: Evaluation) -> dict[str, float]:
    """Return each question's value under the variant that is best on the folds without its document."""
    first = {case_id: min(units) for case_id, units in run.qrels.items()}
    fold = {case_id: zlib.crc32(first[case_id].encode()) % FOLDS for case_id in first}
    chosen: dict[str, float] = {}
    for number in range(FOLDS):
        others = [case_id for case_id, own in fold.items() if own != number]
        best = max(values, key=lambda name: fmean(values[name][case_id] for case_id in others))
        chosen |= {case_id: values[best][case_id] for case_id, own in fold.items() if own == number}
    return chosen


def main() -> None:
    """Measure the sets named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=["nepali_starter"])
    for name in parser.parse_args().datasets:
        system = System.from_settings(Settings.load(EMBEDDING_MODEL=MODEL))
        with tempfile.TemporaryDirectory(prefix="rag-ablation-") as folder:
            dataset = load_dataset(name)
            print(f"\n{dataset.name}, {MEASURE}\n")
            for cells in rows(Bench(dataset, system, Path(folder))):
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
