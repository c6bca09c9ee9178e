"""A few models kept in memory, the rest let go: what a sweep over many models needs.

No model code, no names: what is loaded is the caller's.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Loaded"]

_Model = TypeVar("_Model")


class Loaded(Generic[_Model]):
    """The models used last, by name; safe to share between threads.

    A model that is let go lives on for whoever still holds it.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._models: OrderedDict[str, _Model] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, load: Callable[[], _Model]) -> _Model:
        """Return the model of a name, loading it when it is not there and letting the oldest go."""
        with self._lock:
            if name in self._models:
                self._models.move_to_end(name)
                return self._models[name]
            while len(self._models) >= self._most:  # before loading: two large models need not fit at once
                self._models.popitem(last=False)
                _free_memory()
            return self._models.setdefault(name, load())

    def clear(self) -> None:
        """Let every model go."""
        with self._lock:
            if self._models:
                self._models.clear()
                _free_memory()


def _free_memory() -> None:
    """Give the memory of what is gone back to the system and to the GPU."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
