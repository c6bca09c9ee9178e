"""Runs of a sweep written by hand, for tests of what is made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_platform.evaluation.results import FOLDER, Cell, Run

SMALL = Cell("intfloat/multilingual-e5-small", "none")
RERANKED = Cell("intfloat/multilingual-e5-small", "BAAI/bge-reranker-v2-m3")
HASHING = Cell("hashing", "none")

QUESTIONS = (
    "नागरिकताका लागि कुन कागजात चाहिन्छ?",
    "विद्यालय कहिले खुल्छ?",
    "पुस्तकालयको सदस्यता शुल्क कति हो?",
    "खानेपानी समितिको बैठक कहाँ बस्छ?",
)
KINDS = ("lookup", "date", "lookup", "thematic")

Values = Mapping[str, Sequence[float | str]]
"""Measure -> a score of each question, or ``failed`` or ``skipped``."""


def write_run(
    home: Path,
    cells: Mapping[Cell, Values],
    *,
    states: Mapping[Cell, Mapping[str, object]] | None = None,
    run_id: str = "run-1",
    n: int | None = None,
    questions: Sequence[str] | None = None,
    **about: Any,
) -> Run:
    """Write a run whose questions are q0, q1 ... and return it as it is read back."""
    measures = tuple(dict.fromkeys(name for values in cells.values() for name in values))
    told = {
        "name": run_id,
        "note": "",
        "created_at": "2026-11-30T10:00:00+00:00",
        "dataset": "नमुना",
        "dataset_fingerprint": "d1",
        "corpus_fingerprint": "c1",
        "recipe": "chunks 256",
        "generator": "extractive",
        "judge": "",
        "code_version": "0.1.0",
        "embedding_models": tuple(dict.fromkeys(cell.embedding_model for cell in cells)),
        "rerankers": tuple(dict.fromkeys(cell.reranker for cell in cells)),
        "measures": measures,
        **about,
    }
    run = Run(home / FOLDER / run_id, run_id, **told).save()
    asked = questions or [QUESTIONS[at % len(QUESTIONS)] for at in range(n or 1_000)]
    for cell, values in cells.items():
        run.write_cell(cell, scores=list(_scores(values)), answers=list(_answers(cell, values, asked)))
    run.write_states(
        {cell: {**_state(values), **(states or {}).get(cell, {})} for cell, values in cells.items()}
    )
    return Run.load(home, run_id)


def _scores(values: Values) -> Any:
    for measure, row in values.items():
        for at, value in enumerate(row):
            status = value if isinstance(value, str) else "ok"
            yield {
                "query_id": f"q{at}",
                "kind": KINDS[at % len(KINDS)],
                "language": "ne",
                "document": f"सूचना-{at % 2}.pdf",
                "measure": measure,
                "value": math.nan if isinstance(value, str) else float(value),
                "status": status,
                "reason": "" if status == "ok" else "429",
                "seconds": 0.1,
                "tokens": 0,
                "cost": 0.0,
                "fingerprint": "f",
            }


def _answers(cell: Cell, values: Values, asked: Sequence[str]) -> Any:
    for at in range(max(map(len, values.values()), default=0)):
        yield {
            "query_id": f"q{at}",
            "query": asked[at],
            "answer": f"{cell.embedding_model} को उत्तर <b>{at}</b>",
            "refused": False,
            "contexts": [f"खण्ड {at} & {cell.reranker}"],
            "sources": ["सूचना.pdf"],
            "pages": [3],
            "reference_answer": "सही उत्तर",
            "seconds": 0.2,
            "tokens": 10,
            "cost": 0.001,
            "fingerprint": "f",
        }


def _state(values: Values) -> dict[str, object]:
    n = max(map(len, values.values()), default=0)
    return {
        "status": "complete",
        "reason": "",
        "n_questions": n,
        "seconds_encode": 1.0,
        "seconds_retrieve": 0.5 * n,
        "seconds_rerank": 0.0,
        "seconds_generate": 0.0,
        "seconds_judge": 0.0,
        "gate_passed": True,
        "fingerprint": "f",
    }
