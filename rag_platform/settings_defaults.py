"""Defaults of settings that are more than a value: a profile, and the grid of the sweep.

Which settings there are stands in ``settings``.
"""

from __future__ import annotations

__all__ = ["FULL_PROFILE", "SWEEP_EMBEDDERS", "SWEEP_RERANKERS"]

FULL_PROFILE: dict[str, str] = {
    "EMBEDDING_MODEL": "intfloat/multilingual-e5-large",
    "RERANKER_MODEL": "BAAI/bge-reranker-v2-m3",
    "LLM_PROVIDER": "ollama",
    "TESSERACT_LANGUAGES": "nep",
}
"""Defaults of the reference system that need models or habits this one does not assume."""

SWEEP_EMBEDDERS = (
    "BAAI/bge-m3",
    "intfloat/multilingual-e5-small",
    "intfloat/multilingual-e5-base",
    "intfloat/multilingual-e5-large",
    "intfloat/multilingual-e5-large-instruct",
    "Qwen/Qwen3-Embedding-0.6B",
    "jinaai/jina-embeddings-v3",
    "jinaai/jina-embeddings-v5-text-nano-retrieval",
    "jinaai/jina-embeddings-v5-text-small-retrieval",
    "Alibaba-NLP/gte-multilingual-base",
)
SWEEP_RERANKERS = ("BAAI/bge-reranker-v2-m3", "Qwen/Qwen3-Reranker-0.6B", "BAAI/bge-reranker-v2-gemma")
"""The grid of the published table for Nepali."""
