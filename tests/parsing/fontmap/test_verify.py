from __future__ import annotations

import pytest

from rag_platform.parsing.fontmap.verify import disagreement, edit_distance


@pytest.mark.parametrize(
    ("one", "other", "edits"), [("", "", 0), ("क", "", 1), ("कमल", "कलम", 2), ("नेपाल", "नेपल", 1)]
)
def test_edit_distance(one: str, other: str, edits: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == edits


def test_edits_are_counted_over_all_words() -> None:
    found = disagreement([("नेपाल", "नेपाल"), ("कमल", "कलम")])
    assert (found.n_words, found.n_characters, found.n_edits, found.rate) == (2, 8, 2, 2 / 8)


def test_what_ocr_cannot_tell_apart_does_not_count() -> None:
    assert disagreement([("छः", "छ:"), ("सु–सम्म", "सु-सम्म"), ("गर्‍यो", "गर्यो")]).n_edits == 0


def test_nothing_compared_is_no_agreement() -> None:
    assert disagreement([]).rate == 1.0
