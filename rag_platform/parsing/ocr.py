"""Pictures of pages to text with Tesseract: straightened, turned upright, in the languages that are on them.

Which languages, where none are set, was measured on six scanned pages of a Nepali law, a circular and 18
rendered pages of five fonts: ``nep`` reads Nepali best and fastest but takes English for Devanagari debris;
``nep+eng`` reads English well but takes one Nepali word in some hundred for a Latin one. So a page is read
with ``nep``, and only the words that it doubts are cut out and read once more with ``nep+eng``; of those the
real Latin words are taken. A page whose lines look Latin is read the other way round. Figures stand in
``docs/benchmarks.md``.

No file format here: a page comes as a grey picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

import regex

from rag_platform.parsing import orientation
from rag_platform.parsing.layout import Line, paragraphs, with_labels
from rag_platform.parsing.reading import ParseOptions
from rag_platform.parsing.readings import (
    doubtful_stretches,
    in_lines,
    in_place,
    mean_confidence,
    nepali_stretches,
    with_dandas,
    with_latin,
    without_echoes,
)
from rag_platform.parsing.tesseract import DPI, OcrTimeout, Tesseract, Word, require_languages

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["DPI", "OcrResult", "OcrTimeout", "Word", "read_picture", "require_languages"]

_BOTH, _NEPALI = "nep+eng", "nep"
_DOUBTFUL_PAGE = 60.0
"""Mean confidence below which a page may stand on its side or its head: upright ones have 67 and more in a
language that is half wrong, turned ones 26 to 34, all English ones read as Nepali 40 to 50."""
_FEW_WORDS = 60
"""Up to so many words a page is read in all four turns where Tesseract cannot tell how it stands."""
_LOW = 60.0
_HARDLY = 0.05
_MOST_WORDS = 0.85
"""Share of a page's words from which it is read anew as a whole."""
_MARGIN = 24
_FINAL_ZWNJ = regex.compile("(?<=\u094d)\u200c(?![\\p{Devanagari}&&[\\p{L}\\p{M}]])", regex.V1)
_DEVANAGARI = regex.compile(r"\p{Devanagari}")


@dataclass(frozen=True, slots=True)
class OcrResult:
    """What Tesseract read in one picture.

    Attributes:
        confidence: Mean word confidence, 0 to 1.
        languages: That gave the text.
        words: With boxes in pixels of the picture as it came, whichever way up it was read.
        turned: Degrees by which the picture was turned clockwise.
        askew: Degrees by which it was straightened, counter-clockwise.
        lines: What the text is put together from, in pixels of the picture turned and straightened.
    """

    text: str
    confidence: float
    languages: str
    words: tuple[Word, ...] = ()
    turned: int = 0
    askew: float = 0.0
    lines: tuple[Line, ...] = ()

    @property
    def how(self) -> str:
        """How the picture was read, for the page's reason."""
        parts = [f"OCR with {self.languages}{'' if self.text else ' found no text'}"]
        if self.turned:
            parts.append(f"turned {self.turned}°")
        if self.askew:
            parts.append(f"straightened by {abs(self.askew):g}°")
        n_low = sum(word.confidence < _LOW for word in self.words)
        if n_low:
            parts.append(f"{n_low} of {len(self.words)} words doubtful")
        return ", ".join(parts)


def read_picture(picture: Image, options: ParseOptions) -> OcrResult:
    """Read a grey picture of a page at ``DPI``.

    Args:
        picture: Mode ``L``.
        options: ``languages`` empty: chosen by what is on the page.

    Raises:
        MissingDependency: Tesseract or a language is not installed.
        OcrTimeout: The page's time limit was reached.
        ParseError: Tesseract failed on the picture.
    """
    require_languages(options.languages or _BOTH)
    tesseract = Tesseract(options.ocr_timeout_s, options.workers)
    first = _First.of(tesseract, picture, options.languages)
    if first.is_doubtful:
        first = _upright(tesseract, picture, first, options.languages)
    words, languages = first.words, first.languages
    if not options.languages:
        words, languages = _second(tesseract, first)
    return _result(with_dandas(words), languages, first, picture.size)


@dataclass(frozen=True, slots=True)
class _First:
    """The first reading of a picture, and the picture as it was read."""

    picture: Image
    words: list[Word]
    languages: str
    turned: int
    askew: float

    @classmethod
    def of(cls, tesseract: Tesseract, picture: Image, languages: str, turn: int = 0) -> _First:
        """Read a picture as it lies, or after a turn."""
        if turn:
            picture = orientation.turned(picture, turn)
        askew = orientation.skew(picture)
        if askew:
            picture = orientation.straightened(picture, askew)
        chosen = languages or (_BOTH if orientation.looks_latin(picture) else _NEPALI)
        return cls(picture, without_echoes(tesseract.words(picture, chosen)), chosen, turn, askew)

    @property
    def is_doubtful(self) -> bool:
        """Say whether the picture may not stand upright.

        Tesseract reads pages that lie on their right side, but their lines then run downwards.
        """
        longer = [word for word in self.words if len(word.text) > 2]
        if mean_confidence(self.words) < _DOUBTFUL_PAGE or not longer:
            return True
        return median(word.width / max(1, word.height) for word in longer) < 1.0


def _upright(tesseract: Tesseract, picture: Image, first: _First, languages: str) -> _First:
    """Return the reading of the picture stood upright, or the first one where that reads no better."""
    turn = tesseract.turn(picture)
    if turn is None:
        turns = [90, 180, 270] if len(first.words) <= _FEW_WORDS else []
    else:
        turns = [turn] if turn else []
    readings = [first, *(_First.of(tesseract, picture, languages, turn) for turn in turns)]
    return max(readings, key=lambda reading: (not reading.is_doubtful, mean_confidence(reading.words)))


def _second(tesseract: Tesseract, first: _First) -> tuple[list[Word], str]:
    """Read once more what the first reading cannot have right, and put both together."""
    words, picture = first.words, first.picture
    if first.languages == _BOTH:
        return _with_nepali(tesseract, first), _BOTH
    doubtful = doubtful_stretches(words)
    if not doubtful:
        return words, _NEPALI
    if _is_most(doubtful, words):
        both = tesseract.words(picture, _BOTH)
    else:
        both = _read_stretches(tesseract, picture, doubtful, _BOTH)
    return with_latin(words, without_echoes(both)), _BOTH


def _with_nepali(tesseract: Tesseract, first: _First) -> list[Word]:
    """Return a reading in both languages, its Nepali read once more in that language alone."""
    words, picture = first.words, first.picture
    n_nepali = sum(_DEVANAGARI.search(word.text) is not None for word in words)
    if n_nepali <= _HARDLY * len(words):
        return words
    stretches = nepali_stretches(words)
    if _is_most(stretches, words):
        return with_latin(without_echoes(tesseract.words(picture, _NEPALI)), words)
    read: dict[int, list[Word]] = {}
    for word in without_echoes(_read_stretches(tesseract, picture, stretches, _NEPALI)):
        read.setdefault(word.line, []).append(word)
    return in_place(words, [(stretch, read.get(at, [])) for at, stretch in enumerate(stretches)])


def _is_most(stretches: Sequence[Sequence[Word]], words: Sequence[Word]) -> bool:
    return sum(map(len, stretches)) > _MOST_WORDS * len(words)


def _read_stretches(
    tesseract: Tesseract, picture: Image, stretches: Sequence[Sequence[Word]], languages: str
) -> list[Word]:
    """Read stretches of lines, put below each other.

    Returns:
        Words with boxes in the whole picture; their ``line`` is the number of their stretch.
    """
    from PIL import Image

    boxes = [_box(line, picture.size) for line in stretches]
    width = max(right - left for left, _, right, _ in boxes) + 2 * _MARGIN
    height = sum(bottom - top + _MARGIN for _, top, _, bottom in boxes) + _MARGIN
    sheet = Image.new("L", (width, height), orientation.paper(picture))
    tops = []
    at = _MARGIN
    for box in boxes:
        sheet.paste(picture.crop(box), (_MARGIN, at))
        tops.append(at)
        at += box[3] - box[1] + _MARGIN
    return list(_put_back(tesseract.words(sheet, languages, one_block=True), boxes, tops))


def _put_back(
    words: Sequence[Word], boxes: Sequence[tuple[int, int, int, int]], tops: Sequence[int]
) -> Iterator[Word]:
    for word in words:
        middle = word.top + word.height // 2
        at = max((at for at, top in enumerate(tops) if top <= middle), default=0)
        left, top, _, _ = boxes[at]
        yield replace(word, left=word.left - _MARGIN + left, top=word.top - tops[at] + top, line=at)


def _box(line: Sequence[Word], size: tuple[int, int]) -> tuple[int, int, int, int]:
    pad = 4
    return (
        max(0, min(word.left for word in line) - pad),
        max(0, min(word.top for word in line) - pad),
        min(size[0], max(word.right for word in line) + pad),
        min(size[1], max(word.bottom for word in line) + pad),
    )


def _result(words: Sequence[Word], languages: str, first: _First, size: tuple[int, int]) -> OcrResult:
    confidence = sum(word.confidence for word in words) / len(words) / 100 if words else 0.0
    lines = tuple(with_labels(list(_lines(words))))
    as_it_came = tuple(_as_it_came(words, first, size))
    return OcrResult(
        paragraphs(lines), round(confidence, 4), languages, as_it_came, first.turned, first.askew, lines
    )


def _as_it_came(words: Sequence[Word], first: _First, size: tuple[int, int]) -> Iterator[Word]:
    """Yield words with their boxes on the picture before it was turned and straightened."""
    if not first.turned and not first.askew:
        yield from words
        return
    for word in words:
        middle = (word.left + word.width / 2, word.top + word.height / 2)
        x, y = orientation.before(middle, first.picture.size, size, first.turned - first.askew)
        lies = first.turned % 180 == 0
        width, height = (word.width, word.height) if lies else (word.height, word.width)
        left, top = round(x - width / 2), round(y - height / 2)
        yield replace(word, left=left, top=top, width=width, height=height)


def _stored(text: str) -> str:
    """Drop the joiners that Tesseract writes after every halant at a word's end."""
    stored: str = _FINAL_ZWNJ.sub("", text)
    return stored


def _lines(words: Sequence[Word]) -> Iterator[Line]:
    for members in in_lines(words):
        yield Line(
            text=_stored(" ".join(word.text for word in members)),
            x0=min(word.left for word in members),
            x1=max(word.right for word in members),
            y0=min(word.top for word in members),
            y1=max(word.bottom for word in members),
            block=members[0].paragraph,
        )
