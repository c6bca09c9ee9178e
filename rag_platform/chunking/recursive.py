"""Cuts at the coarsest separator that makes pieces small enough, and packs the pieces into chunks.

Paragraphs, lines, sentences, words, graphemes, in this order; or some of them only, which shows what the
others are worth. Linear in the length of the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

from rag_platform.errors import InvalidSetting
from rag_platform.protocols import Tokenizer
from rag_platform.text.segment import grapheme_boundaries, is_grapheme_boundary, sentences
from rag_platform.types import Span

__all__ = ["SEPARATORS", "RecursiveChunker"]


class _Piece(NamedTuple):
    start: int
    end: int
    n_tokens: int


def _after(pattern: str) -> Callable[[str], list[int]]:
    """Return a function that gives the positions after each match: separators stay with the text before."""
    compiled = regex.compile(pattern)
    return lambda text: [match.end() for match in compiled.finditer(text)]


def _sentence_starts(text: str) -> list[int]:
    return [span.start for span in sentences(text)]


_paragraphs, _lines, _words = _after(r"\n[^\S\n]*\n\s*"), _after(r"\n\s*"), _after(r"\s+")

SEPARATORS: Mapping[str, tuple[Callable[[str], list[int]], ...]] = {
    "recursive": (_paragraphs, _lines, _sentence_starts, _words),
    "sentences": (_sentence_starts, _words),
    "words": (_words,),
}
"""Where each chunker of the family cuts, coarse to fine; what is still too large is cut between graphemes."""

_PIECES_A_CHUNK = 8
"""Where no separator helps, pieces are so much smaller than a chunk, at one token a grapheme."""
_WORD_BACKWARDS = regex.compile(r"(?r)\S+")
_ROW_BEFORE = regex.compile(r"[^\S\n]*\|")


class RecursiveChunker:
    """Passages of whole paragraphs, else whole lines, sentences, words, graphemes, up to a size.

    ``sentences`` takes no heed of paragraphs and lines, ``words`` of sentences neither: windows of one size.

    Args:
        tokenizer: Counts the size.
        size: Tokens of a chunk at most.
        overlap_ratio: Share of ``size`` that a chunk repeats of the one before, at most: from the start of
            a sentence where one is near, else of a word; table rows are repeated whole or not at all.
        name: A key of ``SEPARATORS``.

    Raises:
        InvalidSetting: ``size`` below 1, or a ratio outside [0, 1).
    """

    def __init__(
        self, tokenizer: Tokenizer, *, size: int, overlap_ratio: float, name: str = "recursive"
    ) -> None:
        if size < 1:
            raise InvalidSetting(f"CHUNK_SIZE={size}: a chunk has at least 1 token; 256 is the default")
        if not 0 <= overlap_ratio < 1:
            raise InvalidSetting(
                f"OVERLAP_RATIO={overlap_ratio}: the overlap must be smaller than the chunk;"
                " use 0 or more and less than 1, 0.15 is the default"
            )
        self.size = size
        self.overlap = int(size * overlap_ratio)
        self._tokenizer, self._overlap_ratio, self._name = tokenizer, overlap_ratio, name
        self._separators = SEPARATORS[name]
        self.recipe = f"{name}-1|size={size}|overlap={overlap_ratio:g}|{tokenizer.name}"

    def split(self, text: str, *, reserve: int = 0) -> list[Span]:
        """Return the spans of the passages in order: none blank, none cutting a grapheme.

        Only a single grapheme of more tokens than a whole chunk is cut, between code points.

        Args:
            text: What is cut.
            reserve: Tokens to leave free in each chunk.
        """
        if reserve:
            size = max(1, self.size - reserve)
            ratio = self._overlap_ratio
            smaller = RecursiveChunker(self._tokenizer, size=size, overlap_ratio=ratio, name=self._name)
            return smaller.split(text)
        cut = self._pieces(text, 0, len(text), 0)
        pieces = [piece for piece in cut if text[piece.start : piece.end].strip()]
        spans: list[Span] = []
        position = 0
        while position < len(pieces):
            span, position = self._pack(text, pieces, position, spans[-1] if spans else None)
            spans.append(span)
        return spans

    def _pieces(self, text: str, start: int, end: int, level: int) -> Iterator[_Piece]:
        """Yield pieces of at most ``size`` tokens that cover ``text[start:end]``, the coarsest possible."""
        n_tokens = self._tokenizer.count(text[start:end])
        if n_tokens <= self.size:
            yield _Piece(start, end, n_tokens)
            return
        cuts: list[int] = []
        while level < len(self._separators) and not cuts:
            found = (start + cut for cut in self._separators[level](text[start:end]))
            cuts = [cut for cut in found if start < cut < end and is_grapheme_boundary(text, cut)]
            level += 1
        if not cuts:
            yield from self._grapheme_pieces(text, start, end)
            return
        for first, last in pairwise([start, *cuts, end]):
            yield from self._pieces(text, first, last, level)

    def _grapheme_pieces(self, text: str, start: int, end: int) -> Iterator[_Piece]:
        """Yield small pieces of a text without a separator (a script without spaces, encoded bytes).

        Small, because a tokenizer takes long over long words: each part of the text is counted once.
        """
        bounds = [start + bound for bound in grapheme_boundaries(text[start:end])]
        n_graphemes = max(1, (self.size - self.overlap) // _PIECES_A_CHUNK)
        for first in range(0, len(bounds) - 1, n_graphemes):
            yield from self._fitting_pieces(text, bounds[first : first + n_graphemes + 1])

    def _fitting_pieces(self, text: str, bounds: Sequence[int]) -> Iterator[_Piece]:
        """Halve the text between the bounds until each piece fits and leaves room for the overlap."""
        start, end = bounds[0], bounds[-1]
        n_tokens = self._tokenizer.count(text[start:end])
        if n_tokens <= self.size - self.overlap or end - start == 1:
            yield _Piece(start, end, n_tokens)
            return
        if len(bounds) == 2:
            bounds = range(start, end + 1)
        middle = len(bounds) // 2
        yield from self._fitting_pieces(text, bounds[: middle + 1])
        yield from self._fitting_pieces(text, bounds[middle:])

    def _pack(
        self, text: str, pieces: Sequence[_Piece], position: int, previous: Span | None
    ) -> tuple[Span, int]:
        """Return the chunk that begins with the piece at ``position``, and the position after its last."""
        first = pieces[position]
        start = first.start
        if previous is not None:
            start = self._overlap_start(text, previous, min(self.overlap, self.size - first.n_tokens), start)
        n_tokens, after = self._tokenizer.count(text[start : first.end]), position + 1
        while after < len(pieces) and n_tokens + pieces[after].n_tokens <= self.size:
            n_tokens += pieces[after].n_tokens
            after += 1
        # The sum is exact where the tokenizer counts by words and pieces are whole words; otherwise shrink.
        while self._tokenizer.count(text[start : pieces[after - 1].end]) > self.size:
            if after > position + 1:
                after -= 1
            elif start < first.start:
                start = first.start
            else:
                break
        return _trimmed(text, start, pieces[after - 1].end), after

    def _overlap_start(self, text: str, previous: Span, budget: int, default: int) -> int:
        """Return where the repeated end of the previous chunk begins; ``default`` for no overlap."""
        if budget < 1:
            return default
        chunk = text[previous.start : previous.end]
        fitting = [(at, n) for at, n in self._words_from_the_end(chunk, budget) if at > 0]
        looks = bool(fitting) and _sentence_starts in self._separators
        beginnings = set(_sentence_starts(chunk)) if looks else set()
        whole = [at for at, n in fitting if at in beginnings and 2 * n >= budget]
        words = [at for at, _ in fitting if not _is_inside_row(chunk, at)]
        if whole or words:
            return previous.start + min(whole or words)
        is_inside_word = not fitting and default == previous.end
        if is_inside_word:
            return previous.start + self._fitting_start(chunk, budget)
        return default

    def _words_from_the_end(self, chunk: str, budget: int) -> Iterator[tuple[int, int]]:
        """Yield the starts of the last words, with the tokens from there to the end, while they fit."""
        n_tokens = 0
        for match in _WORD_BACKWARDS.finditer(chunk):
            n_tokens += self._tokenizer.count(match[0])
            if n_tokens > budget:
                return
            if is_grapheme_boundary(chunk, match.start()):
                yield match.start(), n_tokens

    def _fitting_start(self, chunk: str, budget: int) -> int:
        """Return the first grapheme boundary such that the rest has at most ``budget`` tokens."""
        starts = grapheme_boundaries(chunk)[-2:0:-1]
        step = 1
        while step < len(starts) and self._tokenizer.count(chunk[starts[step] :]) <= budget:
            step *= 2
        nearest = starts[: step + 1]
        n_fitting = bisect_right(nearest, budget, key=lambda at: self._tokenizer.count(chunk[at:]))
        return nearest[n_fitting - 1] if n_fitting else len(chunk)


def _is_inside_row(chunk: str, at: int) -> bool:
    """Return whether a position is in a table row but not at its beginning."""
    return _ROW_BEFORE.match(chunk, chunk.rfind("\n", 0, at) + 1, at) is not None


def _trimmed(text: str, start: int, end: int) -> Span:
    """Return the span without spaces around it, but for one that carries a mark."""
    piece = text[start:end]
    first, last = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    if first > start and not is_grapheme_boundary(text, first):
        first -= 1
    if last < end and not is_grapheme_boundary(text, last):
        last += 1
    return Span(first, last)
