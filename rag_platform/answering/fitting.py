"""As many passages as a model can read: the last are left out until the prompt fits, and that is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rag_platform.answering.chat import Said
from rag_platform.errors import PromptTooLong

__all__ = ["fitted"]

_STEP = 4
"""A quarter of the passages is left out at once, at least one."""


def fitted(
    say: Callable[[int], Iterator[str | Said]], n_passages: int, note: Callable[[str], None]
) -> Iterator[str | Said]:
    """Yield what a model says to the first passages, as many as it can read.

    A prompt that is too long is refused before it is read, so trying costs next to nothing.

    Args:
        say: Asks the model with the first ``n`` passages.
        n_passages: How many there are, at least one.
        note: Told what was left out.

    Raises:
        PromptTooLong: It cannot read one.
        UpstreamError: Its provider failed.
    """
    n = n_passages
    while True:
        try:
            yield from say(n)
            break
        except PromptTooLong:
            if n == 1:
                raise
            n -= max(1, n // _STEP)
    if n < n_passages:
        note(f"the model can read {n} of the {n_passages} passages at once: the last were left out")
