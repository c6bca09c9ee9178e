"""BM25 weights: values by hand, the same dimensions in every process."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.index import lexical
from rag_platform.index.lexical import AVERAGE_LENGTH, RECIPE, document_weights, query_terms, weights_of
from rag_platform.text import analyze

KAR, KAR_PIECE, NAM, NAM_PIECE = (459459443, 1683573844, 4194183399, 2022612145)
"""blake2b of the terms कर, ~कर, नाम and ~नाम, 4 bytes, big-endian."""


def test_weights_by_hand() -> None:
    weights = document_weights("कर कर नाम")
    damping = 1.2 * (1 - 0.75 + 0.75 * 6 / AVERAGE_LENGTH)
    twice, once = 2 / (2 + damping), 1 / (1 + damping)
    expected = {KAR: twice, KAR_PIECE: twice, NAM: once, NAM_PIECE: once}
    assert dict(zip(weights.indices, weights.values, strict=True)) == pytest.approx(expected)


def test_a_query_counts_its_terms_and_pieces_less() -> None:
    weights = weights_of(query_terms("कर, नाम र कर"))
    found = dict(zip(weights.indices, weights.values, strict=True))
    assert (found[KAR], found[NAM]) == (2.0, 1.0)
    assert (found[KAR_PIECE], found[NAM_PIECE]) == pytest.approx((0.6, 0.3))


def test_inflected_words_meet_their_stem() -> None:
    assert set(weights_of(query_terms("संविधान")).indices) <= set(document_weights("संविधानले भन्छ").indices)


def test_no_terms() -> None:
    assert document_weights("—!?").indices == []
    assert weights_of(query_terms("")).values == []


def test_terms_that_share_a_dimension_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "term_index", lambda term: 5)
    weights = document_weights("कर नाम")
    damping = 1.2 * (1 - 0.75 + 0.75 * 4 / AVERAGE_LENGTH)
    assert weights.indices == [5]
    assert weights.values == pytest.approx([4 / (4 + damping)])
    assert weights_of({"कर": 1.0, "नाम": 0.25}).values == [1.25]


def test_dimensions_are_the_same_in_every_process() -> None:
    code = (
        "from rag_platform.index.lexical import query_terms, weights_of;"
        "print(weights_of(query_terms('कर पानी')).indices)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    ).stdout
    assert printed.strip() == str(weights_of(query_terms("कर पानी")).indices)


@given(st.text())
def test_vectors_are_what_the_engine_takes(text: str) -> None:
    for weights in (document_weights(text), weights_of(query_terms(text))):
        assert weights.indices == sorted(set(weights.indices))
        assert all(0 <= index < 2**32 for index in weights.indices)
        assert all(value > 0 for value in weights.values)
    assert all(value < 1 for value in document_weights(text).values)
    assert sum(weights_of(query_terms(text)).values) == pytest.approx(
        sum(analyze.weighted_terms(text).values())
    )


def test_the_recipe_names_all_that_decides_a_weight() -> None:
    assert analyze.RECIPE in RECIPE
    assert all(str(value) in RECIPE for value in (lexical.K1, lexical.B, AVERAGE_LENGTH))
