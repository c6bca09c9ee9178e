"""What no encoder may do quietly: read a text that says nothing, or only the beginning of one.

Checks that every encoder calls before it encodes. No model code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rag_platform.errors import CallerError, ChunkTooLong, DimensionMismatch, UpstreamError
from rag_platform.protocols import FloatArray
from rag_platform.types import Prompt

__all__ = ["require_fit", "require_readable", "unit_rows"]


def require_readable(texts: Sequence[str]) -> None:
    """Refuse what a model cannot read: a blank text, a NUL (which ends a C string), half a character.

    Raises:
        CallerError: Names the position and what is wrong with the text there.
    """
    for position, text in enumerate(texts):
        if not text or text.isspace():
            raise CallerError(f"text {position} of {len(texts)} is blank; only text can be embedded")
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise CallerError(
                f"text {position} of {len(texts)} holds a NUL or half of a surrogate pair"
                f" ({text[:40]!a}); clean it with rag_platform.text.normalize.stored_text"
            )


def require_fit(model: str, limit: int, counts: Iterable[int], prompt: Prompt) -> None:
    """Refuse a text of more tokens than the model reads; ``counts`` hold prompt and special tokens.

    Raises:
        ChunkTooLong: For a passage.
        CallerError: For a query.
    """
    for position, n in enumerate(counts):
        if n <= limit:
            continue
        if prompt == "query":
            raise CallerError(
                f"the query has {n} tokens with its prompt, but {model} reads {limit}; shorten it,"
                " search with mode lexical, or choose a model with a larger limit (`rag models`)"
            )
        raise ChunkTooLong(
            f"passage {position} has {n} tokens with its prompt, but {model} reads {limit};"
            " lower CHUNK_SIZE or choose a model with a larger limit (`rag models`)"
        )


def unit_rows(model: str, dim: int, vectors: np.ndarray) -> FloatArray:
    """Return ``vectors`` as float32 rows of length 1.

    Raises:
        DimensionMismatch: The model gives another size than the catalogue says.
        UpstreamError: The model gave a value that is no number, or a zero vector.
    """
    rows: FloatArray = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise DimensionMismatch(
            f"{model} gave vectors of shape {rows.shape}, the catalogue says {dim} values each;"
            " check that the weights are those of this model"
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or not np.all(norms):
        raise UpstreamError(
            f"{model} gave a vector without direction or with values that are no numbers;"
            " on a GPU try RAG_DEVICE=cpu (half precision overflows in some models)"
        )
    unit: FloatArray = rows / norms
    return unit
