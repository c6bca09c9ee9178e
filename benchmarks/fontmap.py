"""Font maps on real PDFs: time, coverage, and how far the decoded pages disagree with OCR.

``python benchmarks/fontmap.py FILE.pdf... [--pages 4] [--learn] [--cache FOLDER]`` compares pages that were
not learned from. OCR is Tesseract ``nep`` at 300 DPI, whose own errors count against the map.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path

import pymupdf

from rag_platform.parsing.fontmap.legacy import legacy_converter
from rag_platform.parsing.fontmap.matching import OcrPage, OcrWord
from rag_platform.parsing.fontmap.reader import FontMapReader
from rag_platform.parsing.pictures import Pictures
from rag_platform.parsing.reading import ParseOptions

_STARTER = Path(__file__).parents[1] / "eval_datasets" / "nepali_starter"
_ACT = _STARTER / "library_act" / "documents" / "पुस्तकालय-ऐन-२०८०.pdf"


class Ocr:
    """Reads pages of one document, and keeps what it read in a folder if there is one."""

    def __init__(self, document: pymupdf.Document, pictures: Pictures, cache: Path | None = None) -> None:
        self._document, self._pictures, self._cache = document, pictures, cache

    def __call__(self, page_no: int) -> OcrPage:
        """Read one page."""
        kept = self._kept(page_no)
        if kept is not None and kept.is_file():
            return OcrPage(tuple(OcrWord(*word) for word in json.loads(kept.read_text())))
        read = self._pictures.words(page_no - 1)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            rows = [[w.text, w.x0, w.y0, w.x1, w.y1, w.confidence] for w in read.words]
            kept.write_text(json.dumps(rows, ensure_ascii=False))
        return read

    def _kept(self, page_no: int) -> Path | None:
        if self._cache is None or not self._document.name:
            return None
        name = hashlib.sha256(Path(self._document.name).read_bytes()).hexdigest()[:12]
        return self._cache / f"{name}-{page_no}.json"


def measure(path: Path, arguments: argparse.Namespace) -> None:
    """Print the figures of one file."""
    options = ParseOptions(languages="nep")
    with pymupdf.open(str(path)) as document, Pictures(document, options) as pictures:
        ocr = Ocr(document, pictures, arguments.cache)
        started = time.process_time()
        reader = FontMapReader(
            document,
            ocr=ocr if arguments.learn else None,
            legacy=legacy_converter if arguments.legacy else None,
            ocr_pages=arguments.ocr_pages,
        )
        pages = reader.pages()
        seconds = time.process_time() - started
        mean = sum(page.confidence for page in pages.values()) / len(pages)
        low = [number for number, page in pages.items() if page.confidence < 0.95]
        print(
            f"{path.name}: {len(pages)} pages, {seconds:.2f} s of our own, learned from {reader.learned_from}"
        )
        print(f"  mean confidence {mean:.4f}, below 0.95: {low}")
        held = [number for number in pages if number not in reader.learned_from]
        step = max(1, len(held) // max(1, arguments.pages))
        rates = []
        for number in held[step // 2 :: step][: arguments.pages]:
            found = reader.verify(number, ocr(number))
            rates.append(found.rate)
            page = pages[number]
            print(
                f"  page {number}: {found.rate:.4f} of {found.n_characters}, {page.confidence}, {page.reason}"
            )
        if rates:
            print(f"  mean disagreement {sum(rates) / len(rates):.4f}")


def main() -> None:
    """Run over files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=[_ACT], help="by default the library act")
    parser.add_argument("--pages", type=int, default=4, help="pages compared with OCR")
    parser.add_argument("--learn", action="store_true", help="learn unexplained glyphs from OCR")
    parser.add_argument("--legacy", action="store_true", help="use the tables of legacy fonts")
    parser.add_argument("--ocr-pages", type=int, default=5, help="pages to learn from at most")
    parser.add_argument("--cache", type=Path, help="folder that keeps what OCR read")
    arguments = parser.parse_args()
    pymupdf.TOOLS.mupdf_display_errors(False)
    for path in arguments.files:
        measure(path, arguments)


if __name__ == "__main__":
    main()
