"""The sweep over a grid of encoders and rerankers: every step done once, every cell with its state.

Encoders first, one after the other, then rerankers, then answers and scores, so that each model is loaded
once and let go. What the steps are stands in ``steps``; what is searched comes in as arms, wired above.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_platform.embedding import encoders
from rag_platform.embedding.catalogue import EncoderSpec
from rag_platform.errors import GateFailed, MissingDependency, RagError
from rag_platform.evaluation.answering import Answering
from rag_platform.evaluation.datasets import Case
from rag_platform.evaluation.labels import Unit, units_of
from rag_platform.evaluation.ranking import Measure, parse_measure
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.scoring import CODE, Found, answer_row, failed_rows, ranking_rows
from rag_platform.evaluation.steps import (
    Arm,
    Models,
    Ranking,
    Rankings,
    Steps,
    gated,
    options_recipe,
    recipe_of,
)
from rag_platform.reranking import rerankers
from rag_platform.types import Chunk, fingerprint

__all__ = ["Report", "Sweep", "grid", "sweep_measures"]

Progress = Callable[[str, int, int], None]


def sweep_measures() -> tuple[Measure, ...]:
    """Return the ranking measures of a sweep.

    >>> " ".join(map(str, sweep_measures()))
    'nDCG@10 R@10 MRR@10 hit@1 hit@3 hit@5 P@5 MAP@10'
    """
    names = ("nDCG@10", "R@10", "MRR@10", "hit@1", "hit@3", "hit@5", "P@5", "MAP@10")
    return tuple(map(parse_measure, names))


def grid(
    embedding_models: Sequence[str],
    reranker_names: Sequence[str],
    variants: Sequence[str],
    profiles: Mapping[str, EncoderSpec] | None = None,
) -> list[Cell]:
    """Return all cells, an encoder's side by side; names as the catalogues have them.

    Args:
        embedding_models: By any of their names.
        reranker_names: By any of their names.
        variants: Of each pair.
        profiles: Embedding models that somebody has given names of their own.

    Raises:
        UnknownName: A model is in no catalogue.
    """
    models = dict.fromkeys(encoders.resolve(name, profiles or {}).name for name in embedding_models)
    judges = dict.fromkeys(rerankers.resolve(name).name for name in reranker_names)
    return [Cell(model, judge, variant) for model in models for judge in judges for variant in variants]


@dataclass(slots=True)
class Report:
    """What a call did.

    Attributes:
        states: Of every cell that was asked for: status and reason.
        done: Work that no earlier call had done, counted by its name.
        stopped: Why it stopped before its end; empty: it did not.
        deviations: Of the judge from itself, by metric, where everything was judged several times.
    """

    states: dict[Cell, tuple[str, str]] = field(default_factory=dict)
    done: Mapping[str, int] = field(default_factory=dict)
    stopped: str = ""
    deviations: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Blocked:
    """Why a cell has no results."""

    status: str
    reason: str

    @classmethod
    def by(cls, error: RagError) -> _Blocked:
        if isinstance(error, GateFailed):
            return cls("gate_failed", str(error))
        return cls("unavailable" if isinstance(error, MissingDependency) else "failed", str(error))


@dataclass(slots=True)
class _Searched:
    """What one encoder found under one variant."""

    arm: Arm
    rankings: Rankings
    chunks: Mapping[str, Chunk]
    seconds_encode: float
    gate_passed: bool


@dataclass(slots=True)
class _Ranked:
    """What one cell found."""

    searched: _Searched
    rankings: Rankings
    gate_passed: bool


@dataclass(slots=True)
class Sweep:
    """One call of a sweep over some cells.

    Attributes:
        run: Where results are written.
        arms: Variants by name; the empty name changes nothing.
        models: Where rerankers come from.
        steps: The work, shared by all cells.
        measures: Ranking measures.
        answering: Generator, its measures, judge and budget.
        gate: What a failed gate does: ``refuse`` or ``record``.
    """

    run: Run
    arms: Mapping[str, Arm]
    models: Models
    steps: Steps
    measures: Sequence[Measure]
    answering: Answering
    gate: str = "refuse"
    _blocked: dict[Cell, _Blocked] = field(default_factory=dict)
    _recipes: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def over(self, cells: Sequence[Cell]) -> Report:
        """Bring these cells up to date; what is there is not done again.

        Raises:
            InvalidDataset: A label names a page or words that no document has.
        """
        report = Report()
        due = self.due(cells)
        for cell in cells:
            if cell not in self._blocked and cell not in due:
                report.states[cell] = ("complete", "")
        searched = self._search(due)
        ranked = self._rerank(due, searched)
        units = {
            name: self._units(self.arms[name]) for name in dict.fromkeys(cell.variant for cell in ranked)
        }
        for done, (cell, one) in enumerate(ranked.items(), start=1):
            report.states[cell] = self._score(cell, one, units[cell.variant])
            self.steps.tell("scoring cells", done, len(ranked))
        states = {
            cell: _state(why.status, why.reason) for cell, why in self._blocked.items() if cell in cells
        }
        report.states.update({cell: (why.status, why.reason) for cell, why in self._blocked.items()})
        if states:
            self.run.write_states(states)
        report.done = {**self.steps.done, **self.answering.done}
        report.stopped, report.deviations = self.answering.stopped, self.answering.deviations
        return report

    def due(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells that can run here and are not finished."""
        for cell in cells:
            self._check(cell)
        states = self.run.states()
        return [
            cell for cell in cells if cell not in self._blocked and not self._finished(cell, states.get(cell))
        ]

    def find(self, cells: Sequence[Cell]) -> None:
        """Do what encoders are needed for, and nothing else: what they find is kept."""
        self._search(self.due(cells))

    def _check(self, cell: Cell) -> None:
        """Mark a cell whose models cannot be loaded here."""
        encoder, judge = self.models.embedding(cell.embedding_model), rerankers.resolve(cell.reranker)
        reason = encoders.can_load(encoder) or rerankers.can_load(judge)
        if reason:
            name = encoder.name if encoders.can_load(encoder) else judge.name
            self._blocked[cell] = _Blocked("unavailable", f"{name}: {reason}")

    def _fingerprint(self, cell: Cell) -> str:
        """Return what the scores of a cell depend on; no model is loaded for it."""
        arm = self.arms[cell.variant]
        return fingerprint(
            CODE,
            self.run.run_id,
            arm.corpus.fingerprint,
            options_recipe(arm.options),
            self._recipe(("encoder", cell.embedding_model, cell.variant), arm.models),
            self._recipe(("reranker", cell.reranker, ""), self.models),
            [str(measure) for measure in self.measures],
            self.answering.recipe,
            *((arm.contexts.context.recipe,) if arm.contexts else ()),
        )

    def _recipe(self, model: tuple[str, str, str], models: Models) -> str:
        """Return a model's recipe; asked for once, since many cells are compared by it."""
        if model not in self._recipes:
            kind, name, _ = model
            self._recipes[model] = (
                recipe_of(models.encoder(name)) if kind == "encoder" else models.reranker(name).recipe
            )
        return self._recipes[model]

    def _finished(self, cell: Cell, state: Mapping[str, object] | None) -> bool:
        if state is None or state["status"] != "complete" or not self.run.has_parts(cell):
            return False
        if state["fingerprint"] != self._fingerprint(cell):
            return False
        return not self.run.n_failed(cell)  # what failed is tried again

    def _search(self, cells: Sequence[Cell]) -> dict[tuple[str, str], _Searched]:
        """Return what each encoder found under each variant, one encoder in memory at a time."""
        found: dict[tuple[str, str], _Searched] = {}
        for model in dict.fromkeys(cell.embedding_model for cell in cells):
            mine = [cell for cell in cells if cell.embedding_model == model]
            for variant in dict.fromkeys(cell.variant for cell in mine):
                try:
                    found[model, variant] = self._searched(model, self.arms[variant])
                except RagError as error:
                    why = _Blocked.by(error)
                    self._blocked.update({cell: why for cell in mine if cell.variant == variant})
            for arm in self.arms.values():
                arm.models.release_models()
        return found

    def _searched(self, model: str, arm: Arm) -> _Searched:
        if arm.contexts is not None:
            nothing: Rankings = {case.case_id: Ranking((), (), 0.0) for case in self.steps.dataset.cases}
            return _Searched(arm, nothing, {}, 0.0, gate_passed=True)
        encoder = arm.models.encoder(model)
        passed = gated(self.steps.memo, encoder, self.gate)
        key = fingerprint("encode", encoder.recipe, arm.corpus.fingerprint)
        begin = time.perf_counter()
        arm.publish(model)
        self.steps.memo.put(key, {"seconds": time.perf_counter() - begin})
        rankings = self.steps.candidates(arm, encoder)
        kept = self.steps.memo.get(key) or {"seconds": 0.0}
        chunks = self.steps.chunks(arm, model, rankings)
        return _Searched(arm, rankings, chunks, kept["seconds"], passed)

    def _rerank(
        self, cells: Sequence[Cell], searched: Mapping[tuple[str, str], _Searched]
    ) -> dict[Cell, _Ranked]:
        """Return what each cell found, one reranker in memory at a time; in the order of the cells."""
        found: dict[Cell, _Ranked] = {}
        for name in dict.fromkeys(cell.reranker for cell in cells):
            for cell in cells:
                key = (cell.embedding_model, cell.variant)
                if cell.reranker == name and key in searched:
                    try:
                        found[cell] = self._ranked(name, searched[key])
                    except RagError as error:
                        self._blocked[cell] = _Blocked.by(error)
            self.models.release_models()
        return {cell: found[cell] for cell in cells if cell in found}

    def _ranked(self, name: str, searched: _Searched) -> _Ranked:
        if name == "none":
            return _Ranked(searched, searched.rankings, searched.gate_passed)
        reranker = self.models.reranker(name)
        passed = gated(self.steps.memo, reranker, self.gate)
        rankings = self.steps.reranked(reranker, searched.rankings, searched.chunks)
        return _Ranked(searched, rankings, passed and searched.gate_passed)

    def _units(self, arm: Arm) -> dict[str, tuple[Unit, ...]]:
        cases, documents = self.steps.dataset.cases, arm.corpus.documents
        return {case.case_id: units_of(case, documents[case.collection]) for case in cases}

    def _score(self, cell: Cell, ranked: _Ranked, units: Mapping[str, tuple[Unit, ...]]) -> tuple[str, str]:
        """Write the scores, answers and state of a cell; return its status and the reason."""
        scores, answers, repeats, reason = [], [], [], ""
        for case, found in self._found(ranked, units):
            if isinstance(found, RagError):
                names = [*map(str, self.measures), *self.answering.measures]
                scores += failed_rows(case, names, str(found))
                answers.append(answer_row(case, (), None))
                continue
            scores += ranking_rows(found, ranked.searched.arm.corpus.documents, self.measures)
            more = self.answering.of(found, self.steps)
            scores += more.scores
            answers.append(more.answer)
            repeats += more.repeats
            reason = reason or more.stopped
        self.run.write_cell(cell, scores=scores, answers=answers, repeats=repeats)
        status = "partial" if reason else "complete"
        self.run.write_states({cell: {**_state(status, reason), **self._took(cell, ranked, scores, answers)}})
        return status, reason

    def _found(
        self, ranked: _Ranked, units: Mapping[str, tuple[Unit, ...]]
    ) -> Iterator[tuple[Case, Found | RagError]]:
        arm = ranked.searched.arm
        for case in self.steps.dataset.cases:
            ranking = ranked.rankings[case.case_id]
            if arm.contexts is not None and isinstance(ranking, Ranking):
                read = arm.contexts.of(case)
                yield (
                    case,
                    Found(case, units[case.case_id], ranking, read, len(read), arm.contexts.context.kind),
                )
            elif isinstance(ranking, Ranking):
                hits = self.steps.shown(ranking, ranked.searched.chunks, arm.options)
                yield case, Found(case, units[case.case_id], ranking, hits, arm.options.k)
            else:
                yield case, ranking

    def _took(
        self,
        cell: Cell,
        ranked: _Ranked,
        scores: Sequence[Mapping[str, object]],
        answers: Sequence[Mapping[str, object]],
    ) -> dict[str, object]:
        rankings = [one for one in ranked.rankings.values() if isinstance(one, Ranking)]
        judged = [row for row in scores if row["measure"] in self.answering.judged]
        return {
            "n_questions": len(self.steps.dataset.cases),
            "seconds_encode": ranked.searched.seconds_encode,
            "seconds_retrieve": sum(one.seconds_retrieve for one in rankings),
            "seconds_rerank": sum(one.seconds_rerank for one in rankings),
            "seconds_generate": _total(answers),
            "seconds_judge": _total(judged),
            "gate_passed": ranked.gate_passed,
            "fingerprint": self._fingerprint(cell),
        }


def _state(status: str, reason: str) -> dict[str, object]:
    zero = dict.fromkeys(("encode", "retrieve", "rerank", "generate", "judge"), 0.0)
    return {
        "status": status,
        "reason": reason,
        "n_questions": 0,
        **{f"seconds_{name}": value for name, value in zero.items()},
        "gate_passed": False,
        "fingerprint": "",
    }


def _total(rows: Sequence[Mapping[str, object]]) -> float:
    return sum(float(str(row["seconds"])) for row in rows)
