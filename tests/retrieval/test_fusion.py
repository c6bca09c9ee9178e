"""Weighted reciprocal rank fusion: formulas by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.errors import CallerError
from rag_platform.retrieval.fusion import calibrated, weighted_rrf, weighted_scores
from rag_platform.types import Scored


def ranking(*ids: str) -> list[Scored]:
    return [Scored(one, 1.0 - n / 100) for n, one in enumerate(ids)]


def scores(fused: list[Scored]) -> dict[str, float]:
    return {one.chunk_id: one.score for one in fused}


def test_the_formula() -> None:
    fused = weighted_rrf([ranking("a", "b", "c"), ranking("b", "a")], [0.7, 0.3])
    assert scores(fused) == {
        "a": 0.7 / (60 + 1) + 0.3 / (60 + 2),
        "b": 0.7 / (60 + 2) + 0.3 / (60 + 1),
        "c": 0.7 / (60 + 3),
    }
    assert [one.chunk_id for one in fused] == ["a", "b", "c"]


def test_another_constant() -> None:
    assert scores(weighted_rrf([ranking("a")], [1.0], k=2)) == {"a": 1 / 3}


def test_an_id_has_one_vote_a_list() -> None:
    fused = weighted_rrf([ranking("a", "a", "b", "a")], [1.0])
    assert scores(fused) == {"a": 1 / (60 + 1), "b": 1 / (60 + 2)}


def test_hits_without_a_score_are_not_fused() -> None:
    lexical = [Scored("b", 2.5), Scored("c", 0.0), Scored("d", -1.0)]
    assert scores(weighted_rrf([ranking("a"), lexical], [0.7, 0.3])) == {"a": 0.7 / 61, "b": 0.3 / 61}


def test_a_list_without_weight_adds_nothing() -> None:
    assert scores(weighted_rrf([ranking("a"), ranking("b")], [1.0, 0.0])) == {"a": 1 / 61}


def test_ties_are_ordered_by_id() -> None:
    fused = weighted_rrf([ranking("b", "a"), ranking("a", "b")], [0.5, 0.5])
    assert [one.chunk_id for one in fused] == ["a", "b"]
    assert fused[0].score == fused[1].score


def test_nothing_to_fuse() -> None:
    assert weighted_rrf([], []) == []
    assert weighted_rrf([[], []], [0.7, 0.3]) == []


@pytest.mark.parametrize("weights", [[1.0], [1.0, -0.1], [float("nan"), 1.0]])
def test_weights_that_do_not_fit(weights: list[float]) -> None:
    with pytest.raises(CallerError, match="2 rankings"):
        weighted_rrf([ranking("a"), ranking("b")], weights)


IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(IDS, IDS)
def test_every_hit_appears_once_and_in_order(first: list[str], second: list[str]) -> None:
    fused = weighted_rrf([ranking(*first), ranking(*second)], [0.7, 0.3])
    assert sorted(one.chunk_id for one in fused) == sorted({*first, *second})
    assert [one.score for one in fused] == sorted((one.score for one in fused), reverse=True)
    assert all(0 < one.score <= 1 / 61 for one in fused)


def ids(ranking: list[Scored]) -> list[str]:
    return [one.chunk_id for one in ranking]


def test_calibrated_adds_what_shared_words_are_worth() -> None:
    dense = [Scored("अ", 0.50), Scored("आ", 0.40)]
    coverage = [Scored("आ", 1.0), Scored("इ", 0.25)]
    fused = calibrated(dense, coverage, (0.5, 0.5), match=0.8)
    assert [(one.chunk_id, round(one.score, 4)) for one in fused] == [
        ("आ", 0.6),  # half of 0.40 and half of 0.8 * 1
        ("अ", 0.25),
        ("इ", 0.25),  # the last cosine, 0.40, and 0.8 * 0.25 ** 1.5
    ]


def test_calibrated_leaves_cosines_alone_where_no_words_are_shared() -> None:
    dense = [Scored("अ", 0.5), Scored("आ", 0.4), Scored("इ", 0.3)]
    assert ids(calibrated(dense, [], (0.7, 0.3), match=0.7)) == ["अ", "आ", "इ"]


def test_calibrated_without_a_dense_part_ranks_by_words() -> None:
    assert ids(calibrated([], [Scored("अ", 0.2), Scored("आ", 0.1)], (0.7, 0.3), match=0.7)) == ["अ", "आ"]
    assert calibrated([], [], (0.7, 0.3), match=0.7) == []


def test_weighted_scores_are_scaled_first() -> None:
    dense = [Scored("अ", 0.9), Scored("आ", 0.8)]
    lexical = [Scored("आ", 12.0), Scored("इ", 6.0)]
    fused = weighted_scores([dense, lexical], [0.7, 0.3])
    assert fused == [Scored("अ", 0.7), Scored("आ", 0.3), Scored("इ", 0.0)]
    assert weighted_scores([dense, lexical], [0, 1]) == [Scored("आ", 1.0), Scored("इ", 0.0)]


def test_one_hit_alone_has_all_of_its_weight() -> None:
    assert weighted_scores([[Scored("अ", 0.1)]], [0.7]) == [Scored("अ", 0.7)]
