"""Names, payloads, and what changed between two generations."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from points import chunks_of

from rag_platform.embedding.catalogue import ENCODERS
from rag_platform.errors import StorageError
from rag_platform.index.manifest import Changes, Generation, chunk_from, payload, slug, verify
from rag_platform.protocols import Manifest
from rag_platform.types import Chunk

NAMES = [
    "a/b-c",
    "a-b/c",
    "a--b-c",
    "a/b/c",
    "a//b",
    "a-/b",
    "a/-b",
    "a__b",
    "a_b",
    ".a",
    "a",
    "../a",
    "a ",
    "अ/आ",
]


def generation(documents: dict[str, str], counts: dict[str, int]) -> Generation:
    manifest = Manifest("c", "m", 3, sum(counts.values()), 8, "r", documents, "address", "alias")
    return Generation(manifest, counts)


def test_slugs_are_readable_and_never_equal() -> None:
    assert slug("नेपाली_कागज") == "नेपाली_कागज"
    assert slug("Alibaba-NLP/gte-multilingual-base") == "Alibaba-NLP--gte-multilingual-base"
    names = [*NAMES, *ENCODERS, "क\ud800", "क\ud801"]
    assert len({slug(name) for name in names}) == len(names)


@given(st.text(min_size=1, max_size=300))
def test_a_slug_is_a_safe_name(name: str) -> None:
    made = slug(name)
    assert made.strip("-_.") == made != ""
    assert not set(made) & set('/\\:*?"<>|\0 ')
    assert "__" not in made
    assert len(made.encode()) <= 200


def test_a_payload_holds_the_chunk_and_its_tags() -> None:
    chunk = chunks_of("सूचना.txt", ["क", "ख"])[1]
    assert list(payload(chunk)) == [*(field.name for field in fields(Chunk)), "tags"]
    assert chunk_from({**payload(chunk), "added_by_others": 1}) == chunk


def test_changes_between_generations() -> None:
    old = generation({"same": "1", "edited": "1", "gone": "1"}, {"same": 4, "edited": 2, "gone": 3})
    changes = Changes.between(old, {"same": "1", "edited": "2", "new": "1"})
    assert changes == Changes(delete=("edited", "gone"), load=("edited", "new"), kept={"same": 4})
    assert Changes.between(None, {"b": "1", "a": "1"}) == Changes((), ("a", "b"), {})


def test_a_manifest_survives_json() -> None:
    made = generation({"d": "1"}, {"d": 2})
    value = made.to_json()
    assert not {"address", "alias"} & value.keys()
    assert Generation.from_json(value, address="address", alias="alias") == made
    del value["points"]
    with pytest.raises(StorageError, match="points"):
        Generation.from_json(value, address="address", alias="alias")


def test_counts_are_compared_by_document() -> None:
    verify({"a": 2, "empty": 0}, {"a": 2}, "here")
    with pytest.raises(StorageError, match="holds 1 points of document a, expected 2"):
        verify({"a": 2}, {"a": 1}, "here")
    with pytest.raises(StorageError, match="document stranger, expected 0"):
        verify({"a": 2}, {"a": 2, "stranger": 1}, "here")
