"""When to refuse: fits the gate's weights on the starter set, and reports risk and coverage on any set.

``python benchmarks/refusal.py fit`` prints what stands in ``answering/refusal.py``;
``python benchmarks/refusal.py report [DATASET...]`` compares the gate with a fixed dense score, and with the
extractive generator's own refusal. Bundled encoder, five hits, no model. Needs scikit-learn for ``fit``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.nearness import Nearness, nearness
from rag_platform.answering.ranked import Ranked
from rag_platform.answering.refusal import LACKING, MODELS, N_HITS, CalibratedGate, evidence
from rag_platform.answering.reply import Done, Reply
from rag_platform.answering.run import Run, passage
from rag_platform.evaluation.collection import Reading, collection_name, publish_set, read_set
from rag_platform.evaluation.datasets import Case, Dataset, Label
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.index.edge import EdgeIndex
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher, SearchResult
from rag_platform.settings import Settings
from rag_platform.storage import TableStore
from rag_platform.system import System
from rag_platform.types import Answer, Chunk, Hit

MODEL = "intfloat/multilingual-e5-small"
DEEP = SearchOptions(k=30, candidates=30)
LEFT_OUT = 0.3
"""Weight of a question whose answers were taken away: in use most questions have an answer."""
NEARLY = 0.02
"""F1 that a lower threshold may cost by meaning, where the curve is flat: it answers more."""
COVERAGES = (0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Asked:
    """A question with its five hits; ``found``: one of them answers; ``left_out``: those were taken away."""

    case: Case
    result: SearchResult
    found: frozenset[str]
    near: Nearness
    left_out: bool = False

    @property
    def ranked(self) -> Ranked:
        """The sentences of the hits, by meaning."""
        passages = [passage(hit) for hit in self.result.hits]
        extractive = ExtractiveGenerator(near=self.near)
        return extractive.ranked(self.case.query, passages, self.result.explanation.reading)


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
    near = nearness(encoder, system.cache)
    assert near is not None
    searcher = Searcher(index, lambda name: encoder, system.cache)
    for case in dataset.cases:
        name = collection_name(dataset, case.collection)
        result = searcher.search(case.query, collection=name, model=MODEL, options=DEEP)
        right = {h.chunk.chunk_id for h in result.hits if any(touches(one, h.chunk) for one in case.labels)}
        first = result.hits[:N_HITS]
        found = frozenset(right & {hit.chunk.chunk_id for hit in first})
        yield Asked(case, replace(result, hits=first), found, near)
        rest: Sequence[Hit] = [hit for hit in result.hits if hit.chunk.chunk_id not in right][:N_HITS]
        if right and len(rest) == N_HITS:
            yield Asked(case, replace(result, hits=tuple(rest)), frozenset(), near, left_out=True)


def touches(label: Label, chunk: Chunk) -> bool:
    """Say whether a chunk lies on a labelled page, be it with a line."""
    if label.page is None:
        return chunk.source == label.source
    return chunk.source == label.source and chunk.page_first <= label.page <= chunk.page_last


def fit(everything: Sequence[Asked]) -> None:
    """Print weights and thresholds of each view."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    by_words = [(one, evidence(one.case.query, one.result)) for one in everything if one.result.hits]
    by_meaning = [(one, evidence(one.case.query, one.result, one.ranked)) for one, _ in by_words]
    for view, model in MODELS.items():
        is_near = view.startswith("near")
        seen = by_meaning if is_near else by_words
        rows = [(one, e) for one, e in seen if is_near or (e.view == "foreign") == (view == "foreign")]
        x = np.array([[float(getattr(e, name)) for name in model.weights] for _, e in rows])
        y = np.array([bool(one.found) for one, _ in rows])
        w = np.array([LEFT_OUT if is_near and one.left_out else 1.0 for one, _ in rows])
        line = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
        p = np.zeros(len(rows))
        for train, test in GroupKFold(10).split(x, y, [one.case.case_id for one, _ in rows]):
            line.fit(x[train], y[train], logisticregression__sample_weight=w[train])
            p[test] = line.predict_proba(x[test])[:, 1]
        read = np.quantile(p[y], 0.01)
        p *= np.array([LACKING if e.lacks_kind else 1.0 for _, e in rows])
        line.fit(x, y, logisticregression__sample_weight=w)
        weights = line[-1].coef_[0] / line[0].scale_
        intercept = line[-1].intercept_[0] - (weights * line[0].mean_).sum()
        curve = {t: f1(p < t, ~y, w) for t in np.linspace(0.05, 0.95, 91)}
        best = max(curve.values())
        refused = min(t for t, value in curve.items() if value >= best - (NEARLY if is_near else 0.0))
        shown = {name: round(float(w), 2) for name, w in zip(model.weights, weights, strict=True)}
        print(
            f"{view}: intercept {intercept:.2f}, {shown}, refused {refused:.2f}, read"
            f" {read:.2f} ({len(rows)} rows, AUC {roc_auc_score(y, p):.3f} in 10 folds)"
        )


def f1(refused: np.ndarray, wanted: np.ndarray, weights: np.ndarray | float = 1.0) -> float:
    """Return F1 of refusing; 0 where nothing is refused and nothing should be."""
    both, either = (weights * (refused & wanted)).sum(), (weights * refused).sum() + (weights * wanted).sum()
    return float(2 * both / max(1.0, either))


def reply(one: Asked, gate: CalibratedGate | None, *, by_meaning: bool = True) -> Reply:
    """Return the extractive reply to a question from its five hits."""
    run = Run(one.case.query, (), lambda query, options: one.result, DEEP, ExtractiveGenerator(), MODEL, gate)
    run.load_near = (lambda: one.near) if by_meaning else None
    return next(event.reply for event in run.retrieved() if isinstance(event, Done))


def report(everything: Sequence[Asked], dense_threshold: float) -> None:
    """Print F1, what is answered, and risk at coverage, by meaning, by words and by a dense score."""
    asked_ = [one for one in everything if not one.left_out]
    gate = CalibratedGate()
    unanswerable = np.array([not one.case.answerable for one in asked_])
    not_found = np.array([not one.found for one in asked_])
    dense = np.array(
        [max((h.scores.get("dense", 0.0) for h in one.result.hits), default=0) for one in asked_]
    )
    start = time.perf_counter()
    replies: dict[str, list[Reply] | list[Answer]] = {
        "gate, by meaning": [reply(one, gate) for one in asked_],
        "gate, by words": [reply(one, gate, by_meaning=False) for one in asked_],
        "generator alone, by meaning": [alone(one, one.near) for one in asked_],
        "generator alone, by words": [alone(one, None) for one in asked_],
    }
    refusals = {name: np.array([one.refused for one in said]) for name, said in replies.items()} | {
        f"dense score below {dense_threshold:.2f}, as chosen on the starter set": dense < dense_threshold,
        "dense score, best threshold of this very set": dense
        < max(dense, key=lambda t: f1(dense < t, unanswerable)),
    }
    print(
        f"{len(asked_)} questions, {unanswerable.sum()} unanswerable, {not_found.sum()} without an answer"
        f" in {N_HITS} hits ({time.perf_counter() - start:.0f} s)\n"
        "| refused by | F1 unanswerable | recall | F1 no answer found | answered |"
        " of them citing what answers |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name, refused in refusals.items():
        right = f"{cited_rightly(asked_, replies[name]):.3f}" if name in replies else ""
        print(
            f"| {name} | {f1(refused, unanswerable):.3f} | {refused[unanswerable].mean():.2f}"
            f" | {f1(refused, not_found):.3f} | {1 - refused.mean():.3f} | {right} |"
        )
    print(f"\n| risk at coverage | {' | '.join(f'{c:.0%}' for c in COVERAGES)} | area |\n|{' --- |' * 7}")
    scores: dict[str, np.ndarray] = {
        "by meaning": np.array([gate.probability(o.case.query, o.result, o.ranked) for o in asked_]),
        "by words": np.array([gate.probability(o.case.query, o.result) for o in asked_]),
        "dense score": dense,
    }
    for name, score in scores.items():
        wrong = not_found[np.argsort(-score, kind="stable")]
        risk = np.cumsum(wrong) / np.arange(1, len(wrong) + 1)
        cells = " | ".join(f"{risk[int(c * len(wrong)) - 1]:.3f}" for c in COVERAGES)
        print(f"| {name} | {cells} | {risk.mean():.4f} |")
    print(
        "\n| kind | questions | refused | citing what answers | by words: refused | citing |\n|"
        + " --- |" * 6
    )
    for kind in sorted({one.case.kind for one in asked_}):
        at = [i for i, one in enumerate(asked_) if one.case.kind == kind]
        figures: list[str] = []
        for name in ("gate, by meaning", "gate, by words"):
            some, said = [asked_[i] for i in at], [replies[name][i] for i in at]
            figures += [f"{refusals[name][at].mean():.2f}", f"{cited_rightly(some, said):.2f}"]
        print(f"| {kind} | {len(at)} | {' | '.join(figures)} |")


def cited_rightly(asked_: Sequence[Asked], replies: Sequence[Reply | Answer]) -> float:
    """Return the share of the answers that cite a passage which answers."""
    right = 0
    for one, said in zip(asked_, replies, strict=True):
        markers = [c if isinstance(c, int) else c.marker for c in said.citations]
        right += any(one.result.hits[n - 1].chunk.chunk_id in one.found for n in markers)
    return right / max(1, sum(not said.refused for said in replies))


def alone(one: Asked, near: Nearness | None) -> Answer:
    """Return what the generator says of the five hits by itself."""
    passages = [passage(hit) for hit in one.result.hits]
    return ExtractiveGenerator(near=near).answer(one.case.query, passages)


def half(everything: Sequence[Asked], which: int) -> list[Asked]:
    """Return the questions of every second passage, and every second one without an answer."""
    groups = [one.case.labels[0].source if one.case.labels else one.case.case_id for one in everything]
    number = {group: n for n, group in enumerate(sorted(set(groups)))}
    return [one for one, group in zip(everything, groups, strict=True) if number[group] % 2 == which]


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
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every second passage's questions")
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
            everything = list(asked(dataset, home))
            report(everything if given.half is None else half(everything, given.half), threshold)


if __name__ == "__main__":
    main()
