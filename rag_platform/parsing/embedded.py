"""Pictures inside documents: what is written on a stamp, a letterhead, a scanned annex, by OCR.

Only where pictures are wanted (``image`` among the kinds), each once a document, small ones not at all. How
a picture is read stands in ``image``; where it stands in a document, its reader knows.
"""

from __future__ import annotations

import hashlib
import io
import logging
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rag_platform.errors import ParseError
from rag_platform.parsing import archive
from rag_platform.parsing.reading import ParseOptions
from rag_platform.types import Page

__all__ = ["EmbeddedPictures"]

logger = logging.getLogger(__name__)

MIN_PIXELS = 64
"""Pictures with a shorter side are bullets, lines and icons."""

_LEAST_SCORE = 0.5


@dataclass
class EmbeddedPictures:
    """The pictures of one document.

    Args:
        options: Whether and how they are read.
        shown: Digests of those whose text was given out.
    """

    options: ParseOptions
    shown: set[str] = field(default_factory=set)
    _texts: dict[str, str] = field(default_factory=dict)

    def text(self, load: Callable[[], bytes | None]) -> str:
        """Return what is written on a picture; nothing where it is not wanted, small, or was read before.

        Args:
            load: Returns the picture's file; called only where pictures are wanted.

        Raises:
            MissingDependency: Tesseract or a language is not installed.
        """
        if "image" not in self.options.kinds or self.options.ocr == "never":
            return ""
        content = _loaded(load)
        digest = hashlib.sha256(content or b"").hexdigest()
        if not content or digest in self.shown:
            return ""
        self.shown.add(digest)
        if digest not in self._texts:
            self._texts[digest] = self._read(content) if _is_readable(content) else ""
        return self._texts[digest]

    def _read(self, content: bytes) -> str:
        from rag_platform.parsing.image import read_image

        with tempfile.TemporaryDirectory(prefix="rag-picture-") as folder:
            path = Path(folder) / "picture"
            path.write_bytes(content)
            try:
                pages = read_image(path, self.options).pages
            except ParseError as error:
                logger.warning("a picture inside a document is left out: %s", error)
                return ""
        return "\n".join(page.text.strip() for page in pages if _is_writing(page))


def _loaded(load: Callable[[], bytes | None]) -> bytes | None:
    """Return a picture's file; a damaged one costs no more than itself."""
    try:
        return load()
    except (*archive.DAMAGE, LookupError) as error:
        logger.warning("a picture inside a document is left out: %s", error)
        return None


def _is_writing(page: Page) -> bool:
    """Say whether OCR read something: of a photograph it makes letters that no one wrote."""
    return bool(page.text.strip()) and not page.suspect and page.score >= _LEAST_SCORE


def _is_readable(content: bytes) -> bool:
    """Say whether it is a picture of pixels, and not a small one; drawings (EMF, SVG) are none."""
    from PIL import Image

    from rag_platform.parsing.image import DAMAGE

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        try:
            with Image.open(io.BytesIO(content)) as picture:
                return min(picture.size) >= MIN_PIXELS and picture.format not in ("EMF", "WMF")
        except (Image.DecompressionBombError, *DAMAGE):
            return False
