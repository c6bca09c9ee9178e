"""Sets of partition keys as the ranges that one Dagster run can take. Pure; knows nothing of what keys mean.

A run takes contiguous keys, and of two dimensions a rectangle of contiguous keys, so the number of runs
is decided by where the keys stand in Dagster's order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dagster import DagsterRun

__all__ = ["KeyRange", "keys_of", "rectangles", "stretches"]

_START, _END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
_PARTITION = "dagster/partition"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """From ``start`` to ``end``, both included; of two dimensions the corners of a rectangle."""

    start: str
    end: str

    @property
    def tags(self) -> dict[str, str]:
        """What makes a run take exactly this range."""
        return {_START: self.start, _END: self.end}


def stretches(keys: Collection[str], order: Sequence[str]) -> list[KeyRange]:
    """Return the fewest ranges that hold exactly ``keys``.

    >>> stretches({"a", "b", "d"}, ["a", "b", "c", "d"])
    [KeyRange(start='a', end='b'), KeyRange(start='d', end='d')]

    Raises:
        ValueError: A key does not stand in the order; it must be registered first.
    """
    wanted = set(keys)
    unknown = wanted.difference(order)
    if unknown:
        raise ValueError(f"keys {sorted(unknown)} are no partitions yet; register them first")
    found: list[KeyRange] = []
    start = last = None
    for key in (*order, None):
        if key in wanted:
            start, last = start or key, key
        elif start is not None and last is not None:
            found.append(KeyRange(start, last))
            start = last = None
    return found


def rectangles(
    cells: Mapping[str, Collection[str]], documents: Sequence[str], models: Sequence[str]
) -> list[KeyRange]:
    """Return ranges of keys ``document|model`` that hold exactly ``cells``: model -> documents.

    Models that lack the same documents and stand side by side share a rectangle.

    >>> rectangles({"m": ["a", "b"], "n": ["a", "b"]}, ["a", "b"], ["m", "n", "o"])
    [KeyRange(start='a|m', end='b|n')]
    """
    alike: dict[frozenset[str], list[str]] = {}
    for model, wanted in cells.items():
        alike.setdefault(frozenset(wanted), []).append(model)
    return [
        KeyRange(f"{rows.start}|{columns.start}", f"{rows.end}|{columns.end}")
        for wanted, group in alike.items()
        for columns in stretches(group, models)
        for rows in stretches(wanted, documents)
    ]


def keys_of(run: DagsterRun, order: Sequence[str], *, dimension: int = 0) -> list[str]:
    """Return the keys that a run took, of one dimension when it has two; keys gone since are left out."""
    single = run.tags.get(_PARTITION)
    start, end = run.tags.get(_START, single), run.tags.get(_END, single)
    if start is None or end is None:
        return []
    if "|" in start:
        start, end = start.split("|")[dimension], end.split("|")[dimension]
    if start not in order or end not in order:
        return []
    return list(order[order.index(start) : order.index(end) + 1])
