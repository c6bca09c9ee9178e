"""What the tests of sweeps share: the work is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from rag_platform import pipeline
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.protocols import FloatArray
from rag_platform.types import Prompt


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is really encoded and parsed, beside the work itself."""
    counts: Counter[str] = Counter()
    encode, parse_all = HashingEncoder.encode, pipeline.parse_all

    def counted_encode(self: HashingEncoder, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        counts[f"{prompt} texts"] += len(texts)
        return encode(self, texts, prompt)

    def counted_parse(jobs: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        counts["parsed"] += len(jobs)
        return parse_all(jobs, *arguments, **options)

    monkeypatch.setattr(HashingEncoder, "encode", counted_encode)
    monkeypatch.setattr(pipeline, "parse_all", counted_parse)
    return counts
