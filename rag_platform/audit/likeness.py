"""Which texts are the same, or nearly: keys for equality, MinHash signatures for likeness.

Texts are compared by their search keys, so that joiners, digits and spelling variants make no difference.
No files and no chunks here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import NDArray

from rag_platform.text.normalize import search_key
from rag_platform.types import fingerprint

__all__ = ["Signature", "folded_words", "groups", "likeness", "near_groups", "signature", "text_key"]

Signature = NDArray[np.uint32]

_MIN_LETTERS = 20
"""Shorter texts are alike by chance: a page number, a heading."""
_SHINGLE = 3
_N_HASHES, _BAND = 64, 4
_NEAR = 0.8
"""Likeness from which two texts are near duplicates; bands of four find 99.98 % of the pairs at it."""
_INK = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_RANDOM = np.random.default_rng(20260)
_FACTORS = _RANDOM.integers(1, 2**63, _N_HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_OFFSETS = _RANDOM.integers(0, 2**63, _N_HASHES, dtype=np.uint64)


def folded_words(text: str) -> list[str]:
    r"""Return the words of a text as they are compared: without markup, punctuation and ways of spelling.

    >>> folded_words("# सूचना\n\nसङ्घीय संसद् | २०८२ |") == folded_words("सूचना: संघीय संसद्, 2082।")
    True
    """
    words: list[str] = _INK.findall(search_key(text))
    return words


def text_key(words: Sequence[str]) -> str:
    """Return a key that is equal for texts with the same letters and digits; empty for a short text.

    Args:
        words: Of ``folded_words``; where they are parted does not count: formats part them otherwise.
    """
    ink = "".join(words)
    return fingerprint(ink) if len(ink) >= _MIN_LETTERS else ""


def signature(words: Sequence[str]) -> Signature:
    """Return the MinHash signature of the runs of three words in ``folded_words``, ``(64,)`` uint32.

    Broder, "On the resemblance and containment of documents", 1997: the share of equal values of two
    signatures estimates the Jaccard index of the two sets, with a standard error of at most 0.063.
    """
    runs = {" ".join(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1))}
    hashes = np.array([zlib.crc32(run.encode()) for run in runs], dtype=np.uint64)
    mixed = (hashes[:, None] * _FACTORS + _OFFSETS) >> np.uint64(32)
    smallest: Signature = mixed.min(axis=0).astype(np.uint32)
    return smallest


def likeness(one: Signature, other: Signature) -> float:
    """Return how alike two texts are, 0 to 1."""
    return float(np.mean(one == other))


def groups(keys: Iterable[str]) -> list[list[int]]:
    """Return the positions of equal keys, groups of two and more in order; empty keys equal nothing."""
    found: dict[str, list[int]] = {}
    for at, key in enumerate(keys):
        if key:
            found.setdefault(key, []).append(at)
    return [members for members in found.values() if len(members) > 1]


def near_groups(signatures: Sequence[Signature], *, threshold: float = _NEAR) -> list[list[int]]:
    """Return the positions of texts that are nearly the same, groups of two and more in order.

    Locality-sensitive hashing (Indyk and Motwani, 1998): only texts that share a band are compared, each
    with its neighbour in it, so time and memory grow with the number of texts.
    """
    if len(signatures) < 2:
        return []
    table = np.stack(signatures)
    leader = list(range(len(table)))

    def root(at: int) -> int:
        while leader[at] != at:
            leader[at] = at = leader[leader[at]]
        return at

    for first in range(0, _N_HASHES, _BAND):
        band = np.ascontiguousarray(table[:, first : first + _BAND])
        keys = band.view(np.dtype((np.void, band.itemsize * _BAND))).ravel()
        order = np.argsort(keys, kind="stable")
        same = keys[order[1:]] == keys[order[:-1]]
        for (one, other), equal in zip(pairwise(order.tolist()), same.tolist(), strict=True):
            if equal and root(one) != root(other) and likeness(table[one], table[other]) >= threshold:
                low, high = sorted((root(one), root(other)))
                leader[high] = low
    found: dict[int, list[int]] = {}
    for at in range(len(table)):
        found.setdefault(root(at), []).append(at)
    return [members for members in found.values() if len(members) > 1]
