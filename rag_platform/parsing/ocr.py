"""Pictures of pages to text with Tesseract: which languages, how often, and words put back into lines.

No PDF here: a page comes as a grey picture file.

Which languages, where none are set (character error; mean of six scanned pages of a Nepali law, a circular
with an English line, the worst of eleven rendered pages with 0 to 100 % English): ``nep`` 0.012, 0.072,
0.88; ``Devanagari`` 0.017, 0.032, 0.13; ``nep+eng`` 0.017, 0.026, 0.017. So every page is read with
``nep+eng``. Its weakness is Nepali words taken for Latin ones (मिति as "fafa"), which have a low confidence:
up to 80, true ones nearly always 86 and more. Only where they occur the page is read once more with ``nep``
and the real Latin words are put in: 0.011, 0.026, 0.007.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import cast

import regex

from rag_platform.errors import MissingDependency, ParseError
from rag_platform.parsing.layout import Line, paragraphs, with_labels

__all__ = ["DPI", "OcrResult", "OcrTimeout", "Word", "read_picture", "require_languages"]

DPI = 300
_BOTH, _NEPALI, _ENGLISH = "nep+eng", "nep", "eng"
_PACKAGES = {"Devanagari": "tesseract-ocr-script-deva", "Latin": "tesseract-ocr-script-latn"}
_SURE = 85.0
"""Confidence from which a Latin word on a Nepali page is believed."""
_MAINLY, _HARDLY = 0.5, 0.05
_FINAL_ZWNJ = regex.compile("(?<=\u094d)\u200c(?![\\p{Devanagari}&&[\\p{L}\\p{M}]])", regex.V1)
_SHORTEST_ECHO, _ALIKE = 3, 0.6
_END_MARK = regex.compile("[।॥,;:.?!]$")
_DEVANAGARI = regex.compile(r"\p{Devanagari}")
_LATIN = regex.compile(r"\p{Latin}")
_NEPALI_WORD = regex.compile(r"\p{P}*[[\p{Devanagari}&&[\p{L}\p{M}]]\u200c\u200d]+[\p{P}।]*", regex.V1)


class OcrTimeout(Exception):
    """One page took longer than its limit; the others go on."""


@dataclass(frozen=True, slots=True)
class OcrResult:
    """What Tesseract read: text, mean word confidence (0 to 1), the languages that gave it, the words."""

    text: str
    confidence: float
    languages: str
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """One word with its box in pixels of the picture; ``confidence`` is 0 to 100."""

    text: str
    confidence: float
    left: int
    top: int
    width: int
    height: int
    paragraph: int
    line: int

    def over(self, other: Word) -> bool:
        """Say whether both stand on the same spot of the picture."""
        wide = min(self.left + self.width, other.left + other.width) - max(self.left, other.left)
        high = min(self.top + self.height, other.top + other.height) - max(self.top, other.top)
        return wide > 0.5 * min(self.width, other.width) and high > 0.5 * min(self.height, other.height)


def read_picture(path: Path, languages: str, timeout_s: float) -> OcrResult:
    """Read one picture of a page.

    Args:
        path: A grey picture at ``DPI``.
        languages: Tesseract languages; empty: chosen by what is on the page.
        timeout_s: Time limit of the page.

    Raises:
        MissingDependency: Tesseract or a language is not installed.
        OcrTimeout: The limit was reached.
    """
    if languages:
        return _result(_run(path, languages, timeout_s), languages)
    started = time.monotonic()
    words = _run(path, _BOTH, timeout_s)
    n_nepali = sum(_DEVANAGARI.search(word.text) is not None for word in words)
    doubtful = any(_LATIN.search(word.text) and word.confidence < _SURE for word in words)
    remaining_s = max(1.0, timeout_s - (time.monotonic() - started))
    if n_nepali > _MAINLY * len(words) and doubtful:
        nepali = _run(path, _NEPALI, remaining_s)
        return _result(_with_latin(nepali, [word for word in words if _LATIN.search(word.text)]), _BOTH)
    if 0 < n_nepali < _HARDLY * len(words):
        return _result(_run(path, _ENGLISH, remaining_s), _ENGLISH)
    return _result(words, _BOTH)


def _with_latin(nepali: Sequence[Word], latin: Sequence[Word]) -> list[Word]:
    """Put the real Latin words of one reading into the Nepali reading of the same page.

    Real is a word that the reading is sure of, or where the Nepali one has no Nepali word but debris.
    """
    merged: list[Word] = []
    used: set[int] = set()
    for word in nepali:
        debris = _NEPALI_WORD.fullmatch(word.text) is None
        at = next(
            (
                at
                for at, other in enumerate(latin)
                if other.over(word) and (other.confidence >= _SURE or debris)
            ),
            None,
        )
        if at is None:
            merged.append(word)
        elif at not in used:
            used.add(at)
            merged.append(replace(latin[at], paragraph=word.paragraph, line=word.line))
    return merged


def _result(words: Sequence[Word], languages: str) -> OcrResult:
    confidence = sum(word.confidence for word in words) / len(words) / 100 if words else 0.0
    text = _FINAL_ZWNJ.sub("", paragraphs(with_labels(list(_lines(words)))))
    return OcrResult(text, round(confidence, 4), languages, tuple(words))


def _lines(words: Sequence[Word]) -> Iterator[Line]:
    collected: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        collected.setdefault((word.paragraph, word.line), []).append(word)
    for (paragraph, _), members in collected.items():
        yield Line(
            text=" ".join(word.text for word in members),
            x0=min(word.left for word in members),
            x1=max(word.left + word.width for word in members),
            y0=min(word.top for word in members),
            y1=max(word.top + word.height for word in members),
            block=paragraph,
        )


def _run(path: Path, languages: str, timeout_s: float) -> list[Word]:
    installed = require_languages(languages)
    tesseract = _tesseract()
    try:
        table = tesseract.image_to_data(
            str(path),
            lang=installed,
            config=f"--dpi {DPI}",
            timeout=timeout_s,
            output_type=tesseract.Output.DICT,
        )
    except tesseract.TesseractError as error:
        raise ParseError(f"Tesseract failed ({error.message.strip()})") from error
    except RuntimeError as error:  # how pytesseract reports its own time limit
        raise OcrTimeout(f"OCR timed out after {timeout_s:g} s") from error
    words = [
        Word(
            text=text.strip(),
            confidence=float(table["conf"][at]),
            left=table["left"][at],
            top=table["top"][at],
            width=table["width"][at],
            height=table["height"][at],
            paragraph=table["block_num"][at] * 10_000 + table["par_num"][at],
            line=table["line_num"][at],
        )
        for at, text in enumerate(table["text"])
        if text.strip()
    ]
    return _without_echoes(words)


def _without_echoes(words: Sequence[Word]) -> list[Word]:
    """Drop what Tesseract reads twice: the end of a word once more, over the word itself.

    Boxes alone do not tell: those of different words overlap, too.
    """
    kept: list[Word] = []
    for word in words:
        before = kept[-1] if kept else None
        if before is None or not _echoes(before, word):
            kept.append(word)
        elif (end := _END_MARK.search(word.text)) and not _END_MARK.search(before.text):
            kept[-1] = replace(before, text=before.text + end[0])
    return kept


def _echoes(before: Word, word: Word) -> bool:
    one, other = _END_MARK.sub("", before.text), _END_MARK.sub("", word.text)
    if (before.paragraph, before.line) != (word.paragraph, word.line) or len(other) < _SHORTEST_ECHO:
        return False
    alike = SequenceMatcher(None, one[-len(other) :], other, autojunk=False).ratio()
    return alike >= _ALIKE and word.over(before)


@lru_cache(maxsize=1)
def _tesseract() -> ModuleType:
    """Return pytesseract, its child processes limited to one thread each.

    Two Tesseracts of four threads on two cores are five times slower than two of one. The limit belongs
    in the child's environment: in ours it would bind torch, too.
    """
    from pytesseract import pytesseract

    pytesseract.environ = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    return cast(ModuleType, pytesseract)


def require_languages(languages: str) -> str:
    """Check that Tesseract and every language of ``languages`` (``nep+eng``) are installed.

    Returns:
        The languages as this Tesseract calls them: ``Devanagari`` is ``script/Devanagari`` outside Debian.

    Raises:
        MissingDependency: One is not installed; the message names the Debian package.
    """
    installed = _installed()
    names = [name if name in installed else f"script/{name}" for name in languages.split("+")]
    missing = [name.removeprefix("script/") for name in names if name not in installed]
    if missing:
        _installed.cache_clear()  # so that a long-lived process sees what is installed meanwhile
        packages = " ".join(_package(name) for name in missing)
        raise MissingDependency(
            f"Tesseract has no language {', '.join(map(repr, missing))} (installed: "
            f"{', '.join(sorted(installed)) or 'none'}); on Debian: apt install {packages}"
        )
    return "+".join(names)


def _package(language: str) -> str:
    return _PACKAGES.get(language, f"tesseract-ocr-{language.lower().replace('_', '-')}")


@lru_cache(maxsize=1)
def _installed() -> frozenset[str]:
    """List the installed languages; pytesseract's own list leaves out scripts such as ``Devanagari``."""
    try:
        listing = subprocess.run(
            [_tesseract().tesseract_cmd, "--list-langs"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except FileNotFoundError as error:
        raise MissingDependency("Tesseract is not installed; on Debian: apt install tesseract-ocr") from error
    except subprocess.SubprocessError as error:
        raise MissingDependency(f"Tesseract does not run ({error}); reinstall tesseract-ocr") from error
    return frozenset(line.strip() for line in listing.stdout.splitlines()[1:] if line.strip())
