"""When to refuse: fits the gate's weights on the starter set, and reports risk and coverage on any set.

``python benchmarks/refusal.py fit`` prints what stands in ``answering/refusal.py``;
``python benchmarks/refusal.py report [DATASET...]`` compares the gate with a fixed dense score, and with the
extractive generator's own refusal. Bundled encoder, five hits, no model. Needs scikit-learn for ``fit``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.refusal import MODELS, N_HITS, CalibratedGate, evidence
from rag_platform.answering.reply import Done, Reply
from rag_platform.answering.run import Run
from rag_platform.evaluation.collection import Reading, collection_name, publish_set, read_set
from rag_platform.evaluation.datasets import Case, Dataset, Label
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.index.edge import EdgeIndex
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher, SearchResult
from rag_platform.settings import Settings
from rag_platform.storage import TableStore
from rag_platform.system import System
from rag_platform.types import Chunk, Hit

MODEL = "intfloat/multilingual-e5-small"
DEEP = SearchOptions(k=30, candidates=30)
COVERAGES = (0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Asked:
    """A question with its five hits; ``found``: one of them answers; ``left_out``: those were taken away."""

    case: Case
    result: SearchResult
    found: frozenset[str]
    left_out: bool = False


def asked(dataset: Dataset, home: Path) -> Iterator[Asked]:
    """Yield each question, and each answerable one again without its answers among the hits."""
    system = System.from_settings(Settings.load(None, RAG_HOME=home))
    reading = Reading(system.parse_options, system.parse_limits, TableStore(home / "cache"))
    documents, encoder = read_set(dataset, reading), system.encoder(MODEL)
    index = EdgeIndex(home / dataset.name)
    publish_set(
        dataset,
        documents,
        index,
        encoder,
        chunker=system.chunker,
        tokenizer=system.tokenizer,
        cache=system.cache,
    )
    searcher = Searcher(index, lambda name: encoder, system.cache)
    for case in dataset.cases:
        name = collection_name(dataset, case.collection)
        result = searcher.search(case.query, collection=name, model=MODEL, options=DEEP)
        right = {h.chunk.chunk_id for h in result.hits if any(touches(one, h.chunk) for one in case.labels)}
        first = result.hits[:N_HITS]
        found = frozenset(right & {hit.chunk.chunk_id for hit in first})
        yield Asked(case, replace(result, hits=first), found)
        rest: Sequence[Hit] = [hit for hit in result.hits if hit.chunk.chunk_id not in right][:N_HITS]
        if right and len(rest) == N_HITS:
            yield Asked(case, replace(result, hits=tuple(rest)), frozenset(), left_out=True)


def touches(label: Label, chunk: Chunk) -> bool:
    """Say whether a chunk lies on a labelled page, be it with a line."""
    if label.page is None:
        return chunk.source == label.source
    return chunk.source == label.source and chunk.page_first <= label.page <= chunk.page_last


def fit(everything: Sequence[Asked]) -> None:
    """Print weights and thresholds of each view."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    seen = [(one, evidence(one.case.query, one.result)) for one in everything if one.result.hits]
    for view, model in MODELS.items():
        rows = [(one, e) for one, e in seen if (e.view == "foreign") == (view == "foreign")]
        x = np.array([[float(getattr(e, name)) for name in model.weights] for _, e in rows])
        y = np.array([bool(one.found) for one, _ in rows])
        line = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
        groups = [one.case.case_id for one, _ in rows]
        p = cross_val_predict(line, x, y, groups=groups, cv=GroupKFold(10), method="predict_proba")[:, 1]
        line.fit(x, y)
        weights = line[-1].coef_[0] / line[0].scale_
        intercept = line[-1].intercept_[0] - (weights * line[0].mean_).sum()
        refused = max(np.linspace(0.05, 0.95, 91), key=lambda t: f1(p < t, ~y))
        shown = {name: round(float(w), 2) for name, w in zip(model.weights, weights, strict=True)}
        print(
            f"{view}: intercept {intercept:.2f}, {shown}, refused {refused:.2f}, read"
            f" {np.quantile(p[y], 0.01):.2f} ({len(rows)} rows, AUC {roc_auc_score(y, p):.3f} in 10 folds)"
        )


def f1(refused: np.ndarray, wanted: np.ndarray) -> float:
    """Return F1 of refusing; 0 where nothing is refused and nothing should be."""
    return float(2 * (refused & wanted).sum() / max(1, refused.sum() + wanted.sum()))


def reply(one: Asked, gate: CalibratedGate | None) -> Reply:
    """Return the extractive reply to a question from its five hits."""
    run = Run(one.case.query, (), lambda query, options: one.result, DEEP, ExtractiveGenerator(), MODEL, gate)
    return next(event.reply for event in run.retrieved() if isinstance(event, Done))


def report(everything: Sequence[Asked], dense_threshold: float) -> None:
    """Print risk and coverage, and F1, of the gate and of a fixed dense score."""
    asked_ = [one for one in everything if not one.left_out]
    gate = CalibratedGate()
    unanswerable = np.array([not one.case.answerable for one in asked_])
    not_found = np.array([not one.found for one in asked_])
    dense = np.array(
        [max((h.scores.get("dense", 0.0) for h in one.result.hits), default=0) for one in asked_]
    )
    ours = np.array([gate.probability(one.case.query, one.result) for one in asked_])
    refusals = {
        "gate": np.array([reply(one, gate).refused for one in asked_]),
        "extractive generator alone": np.array([reply(one, None).refused for one in asked_]),
        f"dense score below {dense_threshold:.2f}, as chosen on the starter set": dense < dense_threshold,
        "dense score, best threshold of this very set": dense
        < max(dense, key=lambda t: f1(dense < t, unanswerable)),
    }
    print(
        f"{len(asked_)} questions, {unanswerable.sum()} unanswerable, {not_found.sum()} without an answer"
        f" in {N_HITS} hits"
    )
    print(
        "| refused by | F1 unanswerable | recall | F1 no answer found | answered |\n"
        "| --- | --- | --- | --- | --- |"
    )
    for name, refused in refusals.items():
        print(
            f"| {name} | {f1(refused, unanswerable):.3f} | {refused[unanswerable].mean():.2f}"
            f" | {f1(refused, not_found):.3f} | {1 - refused.mean():.3f} |"
        )
    print(f"\n| risk at coverage | {' | '.join(f'{c:.0%}' for c in COVERAGES)} | area |\n|{' --- |' * 7}")
    for name, score in (("gate", ours), ("dense score", dense)):
        wrong = not_found[np.argsort(-score, kind="stable")]
        risk = np.cumsum(wrong) / np.arange(1, len(wrong) + 1)
        cells = " | ".join(f"{risk[int(c * len(wrong)) - 1]:.3f}" for c in COVERAGES)
        print(f"| {name} | {cells} | {risk.mean():.4f} |")
    for name, g in (("gate", gate), ("extractive generator alone", None)):
        replies = [reply(one, g) for one in asked_]
        right = [
            any(citation.chunk_id in one.found for citation in said.citations)
            for one, said in zip(asked_, replies, strict=True)
        ]
        n = sum(not said.refused for said in replies)
        print(
            f"{name}: {n / len(replies):.1%} answered, {sum(right) / max(1, n):.1%} of them cite what answers"
        )


def chosen_on(everything: Sequence[Asked]) -> float:
    """Return the dense score with the best F1 on development questions, chosen as the gate's thresholds."""
    dense = np.array([max(h.scores.get("dense", 0.0) for h in one.result.hits) for one in everything])
    wanted = np.array([not one.found for one in everything])
    return float(max(dense, key=lambda t: f1(dense < t, wanted)))


def main() -> None:
    """Fit, or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("fit", "report"))
    parser.add_argument("datasets", nargs="*", default=[])
    parser.add_argument("--home", type=Path, help="where pages and vectors are kept for the next time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = given.home or Path(folder)
        starter = list(asked(load_dataset("nepali_starter"), home))
        if given.command == "fit":
            fit(starter)
            return
        threshold = chosen_on(starter)
        for name in given.datasets or ["nepali_starter"]:
            dataset = load_dataset(name)
            print(f"\n## {dataset.name}\n")
            report(list(asked(dataset, home)), threshold)


if __name__ == "__main__":
    main()
