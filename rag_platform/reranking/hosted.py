"""Rerankers behind an API: Cohere and Jina through LiteLLM's rerank call.

Passages leave the machine. No prompt stands here: the service reads question and passages as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from rag_platform.embedding.limits import require_readable
from rag_platform.errors import UpstreamError
from rag_platform.privacy import shown_address
from rag_platform.protocols import FloatArray
from rag_platform.remote import TIMEOUT_S, Service, load_litellm
from rag_platform.reranking.catalogue import RerankerSpec

__all__ = ["HostedReranker", "RemoteReranker"]


class RemoteReranker:
    """What rerankers behind an API have in common: a name, an address, a recipe, and how they are asked.

    Args:
        spec: With LiteLLM's name of the model.
        api_key: Key of the service; empty for one that needs none.
        base_url: Its address; empty: the service's own.
        first_wait_s: Seconds before a busy service is asked again.
    """

    how: ClassVar[str]
    """What the model is asked for, in recipes."""

    def __init__(
        self, spec: RerankerSpec, *, api_key: str = "", base_url: str = "", first_wait_s: float = 0.5
    ) -> None:
        self.spec, self.name = spec, spec.name
        how, address = self.how.format(spec=spec), shown_address(base_url) or "own address"
        self.recipe = f"{spec.name}|{how}|{address}"
        self._key, self._base_url = api_key, base_url
        self._service = Service(
            f"the reranker {spec.name}",
            key=api_key,
            setting="RAG_RERANKER_API_KEY",
            role="reranker",
            provider=spec.remote.partition("/")[0],
            first_wait_s=first_wait_s,
        )


class HostedReranker(RemoteReranker):
    """A service that scores all passages in one request."""

    how = "litellm {spec.remote}"

    def score(self, query: str, passages: Sequence[str]) -> FloatArray:
        """Return ``(len(passages),)`` float32 in the order of ``passages``, as the service gave them.

        Raises:
            CallerError: A text is blank.
            MissingDependency: LiteLLM is not installed.
            UpstreamError: The service failed, or left out a passage.
        """
        require_readable([query, *passages])
        if not len(passages):
            return np.zeros(0, dtype=np.float32)
        litellm = load_litellm()
        answer = self._service.ask(
            lambda: litellm.rerank(
                model=self.spec.remote,
                query=query,
                documents=list(passages),
                top_n=len(passages),
                return_documents=False,
                api_key=self._key or "none",  # without one LiteLLM would take that of another service
                api_base=self._base_url or None,
                timeout=TIMEOUT_S,
            )
        )
        return self._scores(answer.results or [], len(passages))

    def _scores(self, results: Sequence[Any], n: int) -> FloatArray:
        """Return the scores by position; each passage must have exactly one that is a number."""
        by_index = {result["index"]: float(result["relevance_score"]) for result in results}
        complete = len(results) == n and sorted(by_index) == list(range(n))
        if not complete or not all(map(math.isfinite, by_index.values())):
            raise UpstreamError(
                f"the reranker {self.name} answered scores for {sorted(by_index)} of {n} passages;"
                " a result that lacks some is not used: try again or another reranker"
            )
        return np.array([by_index[i] for i in range(n)], dtype=np.float32)
