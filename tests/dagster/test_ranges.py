"""Ranges hold exactly the keys asked for, in as few runs as the order allows."""

from __future__ import annotations

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.ranges import KeyRange, keys_of, rectangles, stretches

ORDER = ["ऐन-1", "कर-2", "खबर-3", "गाउँ-4", "घर-5", "चिठी-6"]
MODELS = ["hashing", "small", "large", "base"]


def cells_of(ranges: list[KeyRange], documents: list[str], models: list[str]) -> list[tuple[str, str]]:
    found = []
    for one in ranges:
        (first, left), (last, right) = one.start.split("|"), one.end.split("|")
        found += [
            (document, model)
            for document in documents[documents.index(first) : documents.index(last) + 1]
            for model in models[models.index(left) : models.index(right) + 1]
        ]
    return found


def test_one_stretch_for_neighbours_whatever_order_they_are_given_in() -> None:
    assert stretches(["खबर-3", "ऐन-1", "कर-2"], ORDER) == [KeyRange("ऐन-1", "खबर-3")]


def test_a_gap_makes_two() -> None:
    assert stretches(["ऐन-1", "कर-2", "घर-5"], ORDER) == [KeyRange("ऐन-1", "कर-2"), KeyRange("घर-5", "घर-5")]
    assert stretches(["चिठी-6"], ORDER) == [KeyRange("चिठी-6", "चिठी-6")]
    assert stretches([], ORDER) == []


def test_an_unknown_key_is_named() -> None:
    with pytest.raises(ValueError, match="झोला-7"):
        stretches(["ऐन-1", "झोला-7"], ORDER)


def test_models_with_the_same_documents_share_a_rectangle() -> None:
    cells = {"hashing": ["ऐन-1", "कर-2"], "small": ["कर-2", "ऐन-1"]}
    assert rectangles(cells, ORDER, MODELS) == [KeyRange("ऐन-1|hashing", "कर-2|small")]


def test_models_apart_or_with_other_documents_do_not() -> None:
    apart = rectangles({"hashing": ["ऐन-1"], "large": ["ऐन-1"]}, ORDER, MODELS)
    assert apart == [KeyRange("ऐन-1|hashing", "ऐन-1|hashing"), KeyRange("ऐन-1|large", "ऐन-1|large")]
    other = rectangles({"hashing": ["ऐन-1"], "small": ["कर-2"]}, ORDER, MODELS)
    assert other == [KeyRange("ऐन-1|hashing", "ऐन-1|hashing"), KeyRange("कर-2|small", "कर-2|small")]


@given(st.dictionaries(st.sampled_from(MODELS), st.sets(st.sampled_from(ORDER))))
def test_rectangles_hold_exactly_the_cells(cells: dict[str, set[str]]) -> None:
    found = cells_of(rectangles(cells, ORDER, MODELS), ORDER, MODELS)
    assert sorted(found) == sorted((document, model) for model in cells for document in cells[model])


def test_keys_of_a_run() -> None:
    def taken(dimension: int = 0, **tags: str) -> list[str]:
        run = dg.DagsterRun("embed", tags={f"dagster/{name}": value for name, value in tags.items()})
        return keys_of(run, ORDER if dimension == 0 else MODELS, dimension=dimension)

    rectangle = {
        "asset_partition_range_start": "कर-2|hashing",
        "asset_partition_range_end": "गाउँ-4|large",
    }
    assert taken(**rectangle) == ["कर-2", "खबर-3", "गाउँ-4"]
    assert taken(1, **rectangle) == ["hashing", "small", "large"]
    assert taken(partition="घर-5") == ["घर-5"]
    assert taken(partition="हटाइएको-9") == []
    assert taken() == []
