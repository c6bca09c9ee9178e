"""Tags by hand; that engines and ``holds`` agree is tested in ``conformance``."""

from __future__ import annotations

import dataclasses

from points import chunks_of

from rag_platform.index.filters import holds, number_keys, tags
from rag_platform.types import Condition


def test_tags_by_hand() -> None:
    plain = chunks_of("ऐन.pdf", ["ऐन"])[0]
    assert tags(plain) == []
    fields = {"मन्त्रालय": ("शिक्षा",), "year": (2081, "2081"), "kind": ("x", 1), "path": (1,)}
    chunk = dataclasses.replace(plain, path="भाग १ > दफा २", fields=fields)
    assert tags(chunk) == [
        'path="भाग 1"',
        'path="भाग 1 > दफा 2"',
        'मन्त्रालय="शिक्षा"',
        "year=2081",
        'year="2081"',
        "year:number",
    ]
    assert number_keys([plain, chunk]) == {'fields."year"'}


def test_words_are_compared_as_a_search_folds_them() -> None:
    chunk = dataclasses.replace(
        chunks_of("ऐन.pdf", ["ऐन"])[0], path="दफा ९क", fields={"act": ("श्रम ऐन, २०७४",), "x_ward": ("७",)}
    )
    assert holds(Condition("act", "=", ("श्रम  ऐन 2074",)), chunk)
    assert not holds(Condition("act", "!=", ("श्रम ऐन २०७४",)), chunk)
    assert holds(Condition("path", "=", ("दफा 9क",)), chunk)
    assert holds(Condition("x_ward", "=", ("7",)), chunk)
    assert not holds(Condition("x_ward", "=", (7,)), chunk), "a number is no word"
    assert not holds(Condition("source", "=", ("ऐन .pdf",)), chunk), "a source is one exactly"
