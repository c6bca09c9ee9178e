"""What can run without a network, as a Hugging Face cache and as entries of the catalogues.

Tiny untrained models of every architecture of the grid, under names of their own, each with the prompts,
pooling and template of the model that it stands for; and the bundled weights unpacked for torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

__all__ = ["ENCODERS", "RERANKERS", "UNPACKED", "in_catalogue", "snapshot", "write_hub"]

UNPACKED = "unpacked/multilingual-e5-small"
ENCODERS = {
    "tiny/bge-m3": ("BAAI/bge-m3", "xlm-roberta cls"),
    "tiny/multilingual-e5-base": ("intfloat/multilingual-e5-base", "xlm-roberta mean"),
    "tiny/multilingual-e5-large-instruct": ("intfloat/multilingual-e5-large-instruct", "xlm-roberta mean"),
    "tiny/Qwen3-Embedding-0.6B": ("Qwen/Qwen3-Embedding-0.6B", "qwen3 lasttoken"),
    "tiny/jina-embeddings-v3": ("jinaai/jina-embeddings-v3", "jina_embeddings_v3 mean"),
    "tiny/jina-embeddings-v5-nano": ("jinaai/jina-embeddings-v5-text-nano-retrieval", "eurobert lasttoken"),
    "tiny/jina-embeddings-v5-small": ("jinaai/jina-embeddings-v5-text-small-retrieval", "qwen3 lasttoken"),
    "tiny/gte-multilingual-base": ("Alibaba-NLP/gte-multilingual-base", "gte cls"),
}
"""Encoder that it stands for, its architecture and pooling."""
RERANKERS = {
    "tiny/bge-reranker-v2-m3": "BAAI/bge-reranker-v2-m3",
    "tiny/Qwen3-Reranker-0.6B": "Qwen/Qwen3-Reranker-0.6B",
    "tiny/bge-reranker-v2-gemma": "BAAI/bge-reranker-v2-gemma",
}
"""Reranker that it stands for."""
_DIM, _READS, _PAIR = 32, 8192, 1024


def snapshot(hub: Path, name: str) -> Path:
    """Return the folder of a model's files in a cache (``HF_HOME``), yet to be filled."""
    repository = hub / "hub" / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    return repository / "snapshots" / ("a" * 40)


def write_hub(hub: Path, texts: Sequence[str], names: Sequence[str] = (*ENCODERS, *RERANKERS)) -> Path:
    """Write the models of these names into a cache and return it.

    Args:
        hub: The folder for ``HF_HOME``.
        texts: What the tokenizers know the words of.
        names: Of ``ENCODERS``, of ``RERANKERS``, or ``UNPACKED`` (half a gigabyte). Those that the installed
            transformers cannot build are left out: a sweep says that they cannot be loaded.
    """
    import shutil

    from embedding.tiny_models import TinyModels, missing

    from rag_platform.embedding.unpack import unpack_bundled

    tiny = TinyModels(hub / "made", texts, max_tokens=_READS)
    for name in names:
        if name in ENCODERS and missing(ENCODERS[name][1]):
            continue
        folder = snapshot(hub, name)
        if name == UNPACKED:
            folder.parent.mkdir()
            unpack_bundled(folder)
        elif name in ENCODERS:
            shutil.copytree(tiny.folder(ENCODERS[name][1]), folder)
        else:
            _REBUILT[RERANKERS[name]](folder, texts)
    return hub


def _cross_encoder(folder: Path, texts: Sequence[str]) -> Path:
    from reranking.tiny_models import build_cross_encoder

    return build_cross_encoder(folder, texts=texts, max_tokens=_PAIR)


def _qwen(folder: Path, texts: Sequence[str]) -> Path:
    from reranking.tiny_models import build_qwen

    return build_qwen(folder, texts)


def _gemma(folder: Path, texts: Sequence[str]) -> Path:
    from reranking.tiny_models import build_gemma

    return build_gemma(folder, texts)


_REBUILT: dict[str, Callable[[Path, Sequence[str]], Path]] = {
    "BAAI/bge-reranker-v2-m3": _cross_encoder,
    "Qwen/Qwen3-Reranker-0.6B": _qwen,
    "BAAI/bge-reranker-v2-gemma": _gemma,
}


@contextmanager
def in_catalogue() -> Iterator[None]:
    """Put the models into the catalogues until the block ends: the real entries but for name and size."""
    from rag_platform.embedding import catalogue as encoders
    from rag_platform.reranking import catalogue as rerankers

    real = encoders.ENCODERS
    ours = {
        name: replace(real[stands_for], name=name, dim=_DIM, min_dim=0, n_parameters=0, revision=None)
        for name, (stands_for, _) in ENCODERS.items()
    }
    small = real["intfloat/multilingual-e5-small"]
    ours[UNPACKED] = replace(small, name=UNPACKED, engine="sentence-transformers", revision=None)
    theirs = {
        name: replace(rerankers.RERANKERS[stands_for], name=name, n_parameters=0, revision=None)
        for name, stands_for in RERANKERS.items()
    }
    with ExitStack() as stack:
        for catalogue, table, entries in (
            (encoders, encoders.ENCODERS, ours),
            (rerankers, rerankers.RERANKERS, theirs),
        ):
            stack.enter_context(patch.dict(table, entries))
            stack.enter_context(patch.dict(catalogue._SPELLINGS, {name.lower(): name for name in entries}))
        yield
