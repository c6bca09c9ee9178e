"""Measures: formulas by hand, and ir_measures as the second opinion."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.errors import CallerError, UnknownName
from rag_platform.evaluation.ranking import MEASURES, Ranked, mean, parse_measure, scores

SECOND_OPINION = {"nDCG": "nDCG", "R": "R", "P": "P", "hit": "Success", "MRR": "RR", "MAP": "AP"}
UNITS = [f"दफा-{n}" for n in range(12)]


def ranking(*units: str) -> list[Ranked]:
    return [Ranked(unit, float(len(units) - place)) for place, unit in enumerate(units)]


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("nDCG@3", (1 / math.log2(3) + 3 / math.log2(4)) / (3 / 1 + 1 / math.log2(3) + 1 / math.log2(4))),
        ("nDCG@10", (1 / math.log2(3) + 3 / math.log2(4)) / (3 / 1 + 1 / math.log2(3) + 1 / math.log2(4))),
        ("nDCG@1", 0.0),
        ("R@3", 2 / 3),
        ("P@2", 1 / 2),
        ("P@10", 2 / 10),
        ("hit@1", 0.0),
        ("hit@2", 1.0),
        ("MRR@10", 1 / 2),
        ("MRR@1", 0.0),
        ("MAP@10", (1 / 2 + 2 / 3) / 3),
    ],
)
def test_a_measure_is_its_formula(notation: str, expected: float) -> None:
    grades = {"क": 1, "ख": 3, "ग": 1, "घ": 0, "ङ": -1}
    found = ranking("घ", "क", "ख", "ङ")
    assert parse_measure(notation).of(found, grades) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_a_query_without_an_answer_scores_0(name: str) -> None:
    measure = parse_measure(f"{name}@10")
    assert measure.of([], {"क": 1}) == 0.0
    assert measure.of(ranking("क"), {}) == 0.0
    assert measure.of(ranking("क"), {"क": 0}) == 0.0


def test_the_mean_is_over_judged_queries_not_answered_ones() -> None:
    run = {"q1": ranking("क"), "nobody-judged": ranking("क")}
    per_query = scores(run, {"q1": {"क": 1}, "q2": {"ख": 1}}, parse_measure("nDCG@10"))
    assert per_query == {"q1": 1.0, "q2": 0.0}
    assert mean(per_query) == 0.5
    assert mean({}) == 0.0


def test_a_notation_is_read_in_any_case_and_written_in_one() -> None:
    assert [str(parse_measure(text)) for text in (" ndcg@10 ", "mrr@5", "HIT@1", "map@100")] == [
        "nDCG@10",
        "MRR@5",
        "hit@1",
        "MAP@100",
    ]


@pytest.mark.parametrize("notation", ["nDCG", "nDCG@", "nDCG@0", "@10", "nDCG@१०", "nDCG @10"])
def test_a_notation_without_a_cut_off_is_refused(notation: str) -> None:
    with pytest.raises(CallerError, match="write name@k"):
        parse_measure(notation)


def test_an_unknown_measure_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'nDCG'"):
        parse_measure("nDGC@10")


@given(
    judged=st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]),
        st.dictionaries(st.sampled_from(UNITS), st.integers(-1, 3), min_size=1),
        min_size=1,
    ),
    found=st.dictionaries(
        st.sampled_from(["q1", "q2", "q3", "q4"]), st.lists(st.sampled_from(UNITS), unique=True)
    ),
    k=st.integers(1, 13),
)
def test_ir_measures_says_the_same(
    judged: dict[str, dict[str, int]], found: dict[str, list[str]], k: int
) -> None:
    run = {query: ranking(*units) for query, units in found.items()}
    theirs = {
        query: {one.unit: one.score for one in units} for query, units in run.items() if units
    }  # ir_measures has no empty ranking
    for name, other in SECOND_OPINION.items():
        measure = ir_measures.parse_measure(f"{other}@{k}")
        expected = {one.query_id: one.value for one in ir_measures.iter_calc([measure], judged, theirs)}
        ours = scores(run, judged, parse_measure(f"{name}@{k}"))
        assert ours == pytest.approx({query: expected.get(query, 0.0) for query in judged}, abs=1e-9)
