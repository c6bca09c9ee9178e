"""Many searches at once: their questions are encoded together, and one that fails stops no other.

Each is searched as it would be alone; only when a vector is missing, all that are still missing are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.errors import CallerError, EnvironmentProblem, RagError
from rag_platform.protocols import Encoder, FloatArray
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.question import Question
from rag_platform.retrieval.search import Searcher, SearchResult

__all__ = ["Wanted", "search_together"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One search of several."""

    query: str
    collections: Sequence[str]
    model: str
    options: SearchOptions


def search_together(
    searcher: Searcher, wanted: Sequence[Wanted], disk: EmbeddingCache | None = None
) -> list[SearchResult | RagError]:
    """Return the result of each search, or why there is none, in order.

    Args:
        searcher: Searches the latest generations.
        wanted: The searches.
        disk: Where vectors are kept that memory does not keep.
    """
    batches = {
        one.model: _Batch(searcher, [other for other in wanted if other.model == one.model], disk)
        for one in wanted
    }
    found: list[SearchResult | RagError] = []
    for one in wanted:
        try:
            found.append(
                searcher.search(
                    one.query,
                    collection=one.collections,
                    model=one.model,
                    options=one.options,
                    embed=batches[one.model],
                )
            )
        except RagError as error:
            found.append(error)
    return found


class _Batch:
    """Vectors of the questions to one model, made together when the first is missing."""

    def __init__(self, searcher: Searcher, wanted: Sequence[Wanted], disk: EmbeddingCache | None) -> None:
        self._searcher, self._wanted, self._disk = searcher, wanted, disk
        self._made: dict[str, FloatArray] | EnvironmentProblem | None = None

    def __call__(self, encoder: Encoder, text: str) -> FloatArray:
        """Return the vector of a question."""
        return self._searcher.memory.vector_by(encoder, text, self._vector)

    def _vector(self, encoder: Encoder, text: str) -> FloatArray:
        if self._made is None:
            self._made = self._together(encoder)
        if isinstance(self._made, EnvironmentProblem):
            raise self._made
        if text in self._made:
            return self._made[text]
        return self._searcher.memory.fresh(encoder, self._disk, [text])[0]

    def _together(self, encoder: Encoder) -> dict[str, FloatArray] | EnvironmentProblem:
        """Encode what memory has not.

        Where one question cannot be encoded, each is tried alone; a model out of reach is asked once for all.
        """
        memory = self._searcher.memory
        known = memory.vectors
        texts = [text for text in dict.fromkeys(self._texts()) if memory.key(encoder, text) not in known]
        try:
            return dict(zip(texts, memory.fresh(encoder, self._disk, texts), strict=True))
        except CallerError:
            return {}
        except EnvironmentProblem as error:
            return error

    def _texts(self) -> Iterator[str]:
        """Yield the questions as they were typed, and those in Latin letters as they are read as well."""
        for one in self._wanted:
            question = Question.of(one.query)
            if one.options.mode == "lexical" or not question.text:
                continue
            yield question.text
            for name in one.collections if question.is_romanized else ():
                try:
                    read = question.meaning(self._searcher.reader(name, one.model).lexicon).romanized
                except RagError:  # which the search itself will tell
                    continue
                if read is not None:
                    yield read.text
