"""What extraction costs: OCR against the Tesseract program alone, text layers, and memory on a long file.

``python benchmarks/extraction.py [PICTURE...]`` prints Markdown for ``docs/benchmarks.md``. Without pictures
it reads the pages of the library act in ``eval_datasets``. Both sides of a ratio run in turn, in one process,
on the same pixels; ratios of one run, never absolute promises.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pymupdf
from PIL import Image

from rag_platform.parsing import ocr
from rag_platform.parsing.parse import ParseOptions, parse_file

_STARTER = Path(__file__).parents[1] / "eval_datasets" / "nepali_starter"
_ACT = _STARTER / "library_act" / "documents" / "पुस्तकालय-ऐन-२०८०.pdf"
_LOOK_S = 0.05


def pictures(paths: Sequence[Path]) -> list[Image.Image]:
    """Return the pages to read, grey, at 300 DPI."""
    if paths:
        return [Image.open(path).convert("L") for path in paths]
    with pymupdf.open(str(_ACT)) as document:
        drawn = [page.get_pixmap(dpi=ocr.DPI, colorspace=pymupdf.csGRAY) for page in document]
    return [Image.frombytes("L", (one.width, one.height), one.samples) for one in drawn] * 4


def wall_s(read: Callable[[int], object], n_pages: int, workers: int) -> float:
    """Return the seconds that ``workers`` threads take for all pages."""
    started = time.perf_counter()
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(read, range(n_pages)))
    return time.perf_counter() - started


def cpu_s(read: Callable[[int], object], n_pages: int) -> float:
    """Return the processor seconds, ours and those of the programs called, for all pages."""
    before = _used_s()
    for page in range(n_pages):
        read(page)
    return _used_s() - before


def _used_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def ocr_rows(pages: Sequence[Image.Image], workers: int, rounds: int) -> list[tuple[str, str]]:
    """Measure OCR against the program alone, and what choosing language and orientation adds."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.pgm" for number in range(len(pages))]
        for page, file in zip(pages, files, strict=True):
            page.save(file)
        fixed = ParseOptions(languages="nep", workers=workers)
        chosen = ParseOptions(workers=workers)

        def alone(number: int) -> None:
            command = ["tesseract", str(files[number]), "stdout", "-l", "nep", "--dpi", "300", "tsv"]
            limit = {**os.environ, "OMP_THREAD_LIMIT": "1"}
            subprocess.run(command, env=limit, capture_output=True, check=True)

        def ours(number: int) -> None:
            ocr.read_picture(pages[number], fixed)

        def choosing(number: int) -> None:
            ocr.read_picture(pages[number], chosen)

        ratios, speeds = [], []
        for _ in range(rounds):
            raw_s = wall_s(alone, len(pages), workers)
            ours_s = wall_s(ours, len(pages), workers)
            ratios.append(raw_s / ours_s)
            speeds.append(len(pages) / ours_s)
        fixed_s, chosen_s = cpu_s(ours, len(pages)), cpu_s(choosing, len(pages))
    return [
        (f"OCR, {workers} workers, language fixed", f"{statistics.median(speeds):.2f} pages/s"),
        ("throughput over the Tesseract program alone, in parallel", f"{statistics.median(ratios):.2f}"),
        ("processor time a page, language fixed", f"{fixed_s / len(pages):.2f} s"),
        ("choosing language and second readings add", f"{chosen_s / fixed_s - 1:.0%}"),
    ]


def layer_row(n_copies: int) -> tuple[str, str]:
    """Measure pages with a right text layer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "act.pdf"
        with pymupdf.open(str(_ACT)) as document, pymupdf.open() as long:
            for _ in range(n_copies):
                long.insert_pdf(document)
            long.save(str(path))
        started = time.process_time()
        pages = parse_file(path).pages
        used_s = time.process_time() - started
    n_layers = sum(page.origin == "text_layer" for page in pages)
    return f"text layers ({n_layers} of {len(pages)} pages)", f"{len(pages) / used_s:.0f} pages/s a core"


def memory_row(n_pages: int, workers: int) -> tuple[str, str]:
    """Measure the most memory that a long scan takes, its OCR included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scan.pdf"
        _write_scan(path, n_pages)
        program = (
            "import sys; from pathlib import Path; from rag_platform.parsing.parse import *; "
            f"parse_file(Path(sys.argv[1]), options=ParseOptions(workers={workers}))"
        )
        started = time.perf_counter()
        process = psutil.Popen([sys.executable, "-c", program, str(path)])
        peak = 0
        while process.poll() is None:
            peak = max(peak, _memory(process))
            time.sleep(_LOOK_S)
        wall = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"the reader ended with {process.returncode}")
    return f"peak memory, {n_pages} scanned pages, OCR included", f"{peak >> 20} MB ({wall:.0f} s)"


def _memory(process: psutil.Process) -> int:
    """Return bytes in use; what a program shares with its caller while it starts counts once (PSS)."""
    used = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            used += one.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return used


def _write_scan(path: Path, n_pages: int) -> None:
    """Write A4 pages as grey JPEGs at 300 DPI, each another picture with a few lines on it."""
    with pymupdf.open(str(_ACT)) as act, pymupdf.open() as scan:
        drawn = act[0].get_pixmap(dpi=ocr.DPI, colorspace=pymupdf.csGRAY)
        page = Image.frombytes("L", (drawn.width, drawn.height), drawn.samples)
        with tempfile.TemporaryDirectory() as folder:
            for number in range(n_pages):
                few = Image.new("L", page.size, 255)
                few.paste(page.crop((0, 200, page.width, 700)), (0, 200 + number))
                file = Path(folder) / f"{number}.jpg"
                few.save(file, quality=90)
                scan.new_page(width=595, height=842).insert_image(scan[number].rect, filename=str(file))
            scan.save(str(path))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", nargs="*", type=Path, help="pages at 300 DPI")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=250, help="pages of the long scan")
    arguments = parser.parse_args()
    rows = ocr_rows(pictures(arguments.pictures), arguments.workers, arguments.rounds)
    rows.append(layer_row(80))
    rows.append(memory_row(arguments.pages, arguments.workers))
    print("| what | measured |\n| --- | --- |")
    for what, measured in rows:
        print(f"| {what} | {measured} |")


if __name__ == "__main__":
    main()
