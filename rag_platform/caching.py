"""``Cache``: what was made is kept in memory, bounded, and made once however many ask for it at once.

What is kept, under which key, and how large it is, is the caller's. Nothing is written to disk.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Cache", "Counts"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a cache did so far, and what it holds.

    Attributes:
        hits: Asked for and found.
        joined: Asked for while it was being made for another.
        misses: Asked for and made.
    """

    hits: int
    joined: int
    misses: int
    entries: int
    n_bytes: int


class Cache(Generic[K, V]):
    """Values by key, those used last; safe to share between threads.

    Whoever asks for what is being made waits for it, and gets the same value or the same error; an error is
    not kept. Values are shared, so nobody may change one.

    Args:
        most: Entries that are kept; 0: none, and everybody makes their own.
        most_bytes: That all of them may take; a larger one is handed out and not kept.
        size: Bytes of a key and its value.
    """

    def __init__(self, most: int, *, most_bytes: int, size: Callable[[K, V], int]) -> None:
        self.most, self.most_bytes, self._size = most, most_bytes, size
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._flights: dict[K, Future[V]] = {}
        self._hits = self._joined = self._misses = self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, making it where it is neither kept nor being made.

        ``make`` must not ask this cache for the same key.
        """
        if not self.most:
            return make()
        with self._lock:
            if key in self._kept:
                self._hits += 1
                self._kept.move_to_end(key)
                return self._kept[key][0]
            flight = self._flights.get(key)
            own = None if flight else self._flights.setdefault(key, Future())
            self._joined += own is None
            self._misses += own is not None
        if flight is not None:
            return flight.result()
        assert own is not None
        return self._made(key, make, own)

    def __contains__(self, key: K) -> bool:
        """Say whether a key is kept now."""
        with self._lock:
            return key in self._kept

    @property
    def counts(self) -> Counts:
        """What it did so far, and what it holds."""
        with self._lock:
            return Counts(self._hits, self._joined, self._misses, len(self._kept), self._bytes)

    def _made(self, key: K, make: Callable[[], V], flight: Future[V]) -> V:
        try:
            value = make()
            size = self._size(key, value)
        except BaseException as error:
            with self._lock:
                del self._flights[key]
            flight.set_exception(error)
            raise
        with self._lock:
            del self._flights[key]
            self._keep(key, value, size)
        flight.set_result(value)
        return value

    def _keep(self, key: K, value: V, size: int) -> None:
        if size > self.most_bytes:
            return
        self._kept[key] = (value, size)
        self._bytes += size
        while len(self._kept) > self.most or self._bytes > self.most_bytes:
            self._bytes -= self._kept.popitem(last=False)[1][1]
