"""The published table: its ranking and its averages follow from its own columns."""

from __future__ import annotations

import csv

import pytest

from rag_platform.embedding.encoders import resolve
from rag_platform.evaluation.datasets import bundled_sets
from rag_platform.evaluation.published import PUBLISHED, published

PARTS = ("Contextual Recall", "Contextual Precision", "Contextual Relevancy")


def test_the_grid_is_ten_encoders_by_three_rerankers_with_five_metrics_and_an_average() -> None:
    cells = published()
    assert len(cells) == 30
    assert len({(cell.embedding_model, cell.reranker) for cell in cells}) == 30
    assert len({cell.embedding_model for cell in cells}) == 10
    assert len({cell.reranker for cell in cells}) == 3
    assert {len(cell.measures) for cell in cells} == {6}


def test_averages_follow_from_the_columns_within_their_rounding() -> None:
    """Figures rounded to 0.001: off by 0.0005 through the parts, and by 0.0005 itself."""
    for cell in published():
        average = sum(cell.measures[name] for name in PARTS) / 3
        assert cell.measures["Retrieval Avg"] == pytest.approx(average, abs=0.001)


def test_the_published_ranking_is_the_order_of_the_averages() -> None:
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        listed = [(row["embedding_model"], row["reranker"]) for row in csv.DictReader(file)]
    cells = published()
    assert [(cell.embedding_model, cell.reranker) for cell in cells] == listed
    averages = [sum(cell.measures[name] for name in PARTS) / 3 for cell in cells]
    swaps = [at for at in range(29) if averages[at] < averages[at + 1] - 0.001]
    assert swaps == []  # recomputed from rounded parts, no place changes by more than that rounding
    assert averages[0] - averages[7] < 0.017  # eight places within what 80 questions cannot tell apart


def test_names_are_those_of_the_catalogue_so_that_rows_match_ours() -> None:
    assert {resolve(cell.embedding_model).name for cell in published()} == {
        c.embedding_model for c in published()
    }


def test_it_is_no_labelled_set() -> None:
    assert "published" not in bundled_sets()
