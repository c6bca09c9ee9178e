"""Pictures of pages to text with Tesseract: languages, one run, and lines put back together.

No PDF here: a page comes as a grey picture file.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from rag_platform.errors import MissingDependency, ParseError
from rag_platform.parsing.layout import Line, paragraphs

__all__ = ["DPI", "OcrResult", "OcrTimeout", "read_picture", "require_languages"]

DPI = 300
_AUTO = "Devanagari"
_ENGLISH = "eng"
_NEPALI = "nep"
_PACKAGES = {"Devanagari": "tesseract-ocr-script-deva", "Latin": "tesseract-ocr-script-latn"}
_FINAL_ZWNJ = re.compile("(?<=\u094d)\u200c(?![\u0900-\u097f])")


class OcrTimeout(Exception):
    """One page took longer than its limit; the others go on."""


@dataclass(frozen=True, slots=True)
class OcrResult:
    """What Tesseract read: text, mean word confidence (0 to 1), and the languages that gave it."""

    text: str
    confidence: float
    languages: str


def read_picture(path: Path, languages: str, timeout_s: float) -> OcrResult:
    """Read one picture of a page.

    Args:
        path: A grey picture at ``DPI``.
        languages: Tesseract languages; empty: chosen by what is on the page.
        timeout_s: Limit of one run of Tesseract.

    Raises:
        MissingDependency: Tesseract or a language is not installed.
        OcrTimeout: The limit was reached.
    """
    if languages:
        return _run(path, languages, timeout_s)
    return _run(path, _AUTO, timeout_s)


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


def _run(path: Path, languages: str, timeout_s: float) -> OcrResult:
    languages = require_languages(languages)
    tesseract = _tesseract()
    try:
        table = tesseract.image_to_data(
            str(path),
            lang=languages,
            config=f"--dpi {DPI}",
            timeout=timeout_s,
            output_type=tesseract.Output.DICT,
        )
    except tesseract.TesseractError as error:
        raise ParseError(f"Tesseract failed ({error.message.strip()})") from error
    except RuntimeError as error:  # how pytesseract reports its own time limit
        raise OcrTimeout(f"OCR timed out after {timeout_s:g} s") from error
    words = [at for at, word in enumerate(table["text"]) if word.strip()]
    confidence = sum(float(table["conf"][at]) for at in words) / len(words) / 100 if words else 0.0
    text = _FINAL_ZWNJ.sub("", paragraphs(_lines(table, words)))
    return OcrResult(text, round(confidence, 4), languages)


def _lines(table: dict[str, list[Any]], words: list[int]) -> Iterator[Line]:
    """Put words together to lines; a paragraph of Tesseract is a block of ``layout``."""
    keys = ("block_num", "par_num", "line_num")
    collected: dict[tuple[int, ...], list[int]] = {}
    for at in words:
        collected.setdefault(tuple(table[key][at] for key in keys), []).append(at)
    for key, members in collected.items():
        yield Line(
            text=" ".join(table["text"][at].strip() for at in members),
            x0=min(table["left"][at] for at in members),
            x1=max(table["left"][at] + table["width"][at] for at in members),
            y0=min(table["top"][at] for at in members),
            y1=max(table["top"][at] + table["height"][at] for at in members),
            block=key[0] * 10_000 + key[1],
        )
