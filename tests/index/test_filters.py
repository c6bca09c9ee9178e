"""Tags by hand; that engines and ``holds`` agree is tested in ``conformance``."""

from __future__ import annotations

import dataclasses

from points import chunks_of

from rag_platform.index.filters import number_keys, tags


def test_tags_by_hand() -> None:
    plain = chunks_of("ऐन.pdf", ["ऐन"])[0]
    assert tags(plain) == []
    fields = {"मन्त्रालय": ("शिक्षा",), "year": (2081, "2081"), "kind": ("x", 1), "path": (1,)}
    chunk = dataclasses.replace(plain, path="भाग १ > दफा २", fields=fields)
    assert tags(chunk) == [
        'path="भाग १"',
        'path="भाग १ > दफा २"',
        'मन्त्रालय="शिक्षा"',
        "year=2081",
        'year="2081"',
        "year:number",
    ]
    assert number_keys([plain, chunk]) == {'fields."year"'}
