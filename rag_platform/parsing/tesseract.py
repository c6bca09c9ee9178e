"""Tesseract through pytesseract: a picture in, words with boxes out; which way up it stands; its languages.

One process a reading. It gets the bare pixels in a file: packing them as PNG costs time, and a pipe even more
(Tesseract reads it byte by byte, a fifth of a page's time). What to ask it, and what to make of its answers,
is the business of ``ocr``.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, cast

from rag_platform.errors import MissingDependency, ParseError
from rag_platform.parsing.slots import slot

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["DPI", "OcrTimeout", "Tesseract", "Word", "installed_languages", "require_languages"]

DPI = 300
PROGRAM = "tesseract"
_PACKAGES = {"Devanagari": "tesseract-ocr-script-deva", "Latin": "tesseract-ocr-script-latn"}
_LEVEL_WORD = "5"
_N_COLUMNS = 12
_ONE_BLOCK = ("--psm", "6")
_FEW_CHARACTERS = "5"
"""Characters from which Tesseract says how a page stands; it asks for 50, which short notices lack."""
_ROTATE = re.compile(r"Rotate: (\d+)")


class OcrTimeout(Exception):
    """One page took longer than its limit; the others go on."""


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

    @property
    def right(self) -> int:
        """Where it ends."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """Where its ink ends, with the signs below the letters."""
        return self.top + self.height


class Tesseract:
    """The readings of one page, which share one time limit; waiting for a free core does not count.

    Args:
        timeout_s: The limit.
        workers: Pages read at once on this machine; 0: one a core.
    """

    def __init__(self, timeout_s: float, workers: int = 0) -> None:
        self._timeout_s, self._left_s, self._workers = timeout_s, timeout_s, workers

    def words(self, picture: Image, languages: str, *, one_block: bool = False) -> list[Word]:
        """Read a grey picture.

        Args:
            picture: At ``DPI``.
            languages: Joined by ``+``.
            one_block: Its lines stand below each other; their layout is not looked for.

        Raises:
            MissingDependency: Tesseract or a language is not installed.
            OcrTimeout: The limit was reached.
            ParseError: Tesseract failed.
        """
        config = " ".join(["--dpi", str(DPI), *(_ONE_BLOCK if one_block else ()), "-c tessedit_create_tsv=1"])
        return list(_words(self._run(picture, "tsv", require_languages(languages), config)))

    def turn(self, picture: Image) -> int | None:
        """Return by how many degrees to turn a picture clockwise so that it stands upright.

        None where Tesseract cannot tell: too few characters, or its data (``osd``) are not installed.
        """
        if "osd" not in installed_languages():
            return None
        config = f"--dpi {DPI} --psm 0 -c min_characters_to_try={_FEW_CHARACTERS}"
        try:
            found = _ROTATE.search(self._run(picture, "osd", "osd", config))
        except ParseError:  # how Tesseract says that there are too few characters
            return None
        return int(found[1]) if found else None

    def _run(self, picture: Image, extension: str, languages: str, config: str) -> str:
        program = _pytesseract()
        with slot(self._workers), tempfile.NamedTemporaryFile(prefix="rag-ocr-", suffix=".pgm") as file:
            file.write(b"P5 %d %d 255\n" % picture.size)
            file.write(picture.tobytes())
            file.flush()
            started = time.monotonic()
            try:
                output: str = program.run_and_get_output(
                    file.name, extension, languages, config, timeout=max(0.01, self._left_s)
                )
            except program.TesseractNotFoundError as error:
                raise _not_installed() from error
            except program.TesseractError as error:
                raise ParseError(f"Tesseract failed ({_why(error.status, error.message)})") from error
            except RuntimeError as error:  # how pytesseract reports its own time limit
                raise OcrTimeout(f"OCR timed out after {self._timeout_s:g} s") from error
            finally:
                self._left_s -= time.monotonic() - started
            return output


def _pytesseract() -> ModuleType:
    """Return pytesseract, set to our program and to one thread a process."""
    from pytesseract import pytesseract

    pytesseract.tesseract_cmd, pytesseract.environ = PROGRAM, _environment()
    return cast(ModuleType, pytesseract)


def _environment() -> dict[str, str]:
    """Return our environment, with one thread a process.

    Two Tesseracts of four threads on two cores are five times slower than two of one. The limit belongs
    in the child's environment: in ours it would bind torch, too.
    """
    return {**os.environ, "OMP_THREAD_LIMIT": "1"}


def _why(status: int, message: str) -> str:
    if status < 0:
        return f"it crashed: signal {signal.Signals(-status).name}"
    return message.strip() or f"status {status}"


def _words(table: str) -> Iterator[Word]:
    for row in table.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) != _N_COLUMNS or cells[0] != _LEVEL_WORD or not cells[-1].strip():
            continue
        block, paragraph, line, _, left, top, width, height = map(int, cells[2:10])
        yield Word(
            text=cells[-1].strip(),
            confidence=float(cells[10]),
            left=left,
            top=top,
            width=width,
            height=height,
            paragraph=block * 10_000 + paragraph,
            line=line,
        )


def require_languages(languages: str) -> str:
    """Check that Tesseract and every language of ``languages`` (``nep+eng``) are installed.

    Returns:
        The languages as this Tesseract calls them: ``Devanagari`` is ``script/Devanagari`` outside Debian.

    Raises:
        MissingDependency: One is not installed; the message names the Debian package.
    """
    installed = installed_languages()
    names = [name if name in installed else f"script/{name}" for name in languages.split("+")]
    missing = [name.removeprefix("script/") for name in names if name not in installed]
    if missing:
        installed_languages.cache_clear()  # a long-lived process is to see what is installed meanwhile
        packages = " ".join(_package(name) for name in missing)
        raise MissingDependency(
            f"Tesseract has no language {', '.join(map(repr, missing))} (installed: "
            f"{', '.join(sorted(installed)) or 'none'}); on Debian: apt install {packages}"
        )
    return "+".join(names)


def _package(language: str) -> str:
    return _PACKAGES.get(language, f"tesseract-ocr-{language.lower().replace('_', '-')}")


def _not_installed() -> MissingDependency:
    return MissingDependency("Tesseract is not installed; on Debian: apt install tesseract-ocr")


@lru_cache(maxsize=1)
def installed_languages() -> frozenset[str]:
    """List the installed languages and scripts.

    Raises:
        MissingDependency: Tesseract is not installed or does not run.
    """
    try:
        listing = subprocess.run(
            [PROGRAM, "--list-langs"], capture_output=True, text=True, check=True, timeout=60
        )
    except FileNotFoundError as error:
        raise _not_installed() from error
    except subprocess.SubprocessError as error:
        raise MissingDependency(f"Tesseract does not run ({error}); reinstall tesseract-ocr") from error
    return frozenset(line.strip() for line in listing.stdout.splitlines()[1:] if line.strip())
