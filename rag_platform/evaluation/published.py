"""Results that others published, to stand beside ours.

Reading only; they are figures without scores by question, so nothing can be tested on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rag_platform.evaluation.datasets import BUNDLED
from rag_platform.evaluation.records import comma_rows

__all__ = ["PUBLISHED", "SOURCE", "Published", "published"]

PUBLISHED = BUNDLED / "published" / "published_nepali_30.csv"
SOURCE = "nepali-rag 0.1, README (2026): 80 questions on 8 documents, judged by Qwen3-235B-A22B-Instruct-2507"
_MEASURES = {
    "answer_relevancy": "Answer Relevancy",
    "faithfulness": "Faithfulness",
    "contextual_recall": "Contextual Recall",
    "contextual_precision": "Contextual Precision",
    "contextual_relevancy": "Contextual Relevancy",
    "retrieval_avg": "Retrieval Avg",
}
"""Their column -> our measure."""


@dataclass(frozen=True, slots=True)
class Published:
    """One published cell: encoder and reranker by their names in the catalogue, means by measure."""

    embedding_model: str
    reranker: str
    measures: Mapping[str, float]


def published() -> tuple[Published, ...]:
    """Return the published Nepali table by ``Retrieval Avg``, equal ones in the order of the file."""
    (_, header), *rows = comma_rows(PUBLISHED)
    found = [dict(zip(header, row, strict=True)) for _, row in rows]
    cells = [
        Published(
            row["embedding_model"],
            row["reranker"],
            {name: float(row[column]) for column, name in _MEASURES.items()},
        )
        for row in found
    ]
    return tuple(sorted(cells, key=lambda cell: -cell.measures["Retrieval Avg"]))
