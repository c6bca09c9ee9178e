"""The audit of files as one HTML page that needs nothing else: no script, no font, no picture from outside.

Everything that comes from a file, its name included, is text here: escaped, and without the characters that
control how a line is drawn. What is in the report is decided in ``files``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from rag_platform.audit.files import OCR_PAGE_S, Duplicates, FileAudit, Summary
from rag_platform.audit.pictures import PagePicture
from rag_platform.text.markup import html_text

__all__ = ["MOST_PICTURES", "as_html", "megabytes", "worst"]

MOST_PICTURES = 40
"""Pages shown: a picture has 10 to 30 KB, and nobody looks at hundreds."""

_STYLE = """
body { font: 15px/1.5 "Noto Sans Devanagari", "Noto Sans", system-ui, sans-serif; margin: 2rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .3rem .7rem; text-align: left;
vertical-align: top; border-bottom: 1px solid #ddd; overflow-wrap: anywhere } td.n { text-align: right }
.refused { background: #fdecea }
article { display: flex; gap: 1rem; border-top: 1px solid #ddd; padding: 1rem 0 } article img {
border: 1px solid #ccc; align-self: flex-start } pre { white-space: pre-wrap; font: inherit }
"""
_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width"><title>Audit of files</title>'
    f"<style>{_STYLE}</style></head><body>"
)


def worst(pictures: Iterable[PagePicture], n: int = MOST_PICTURES) -> list[PagePicture]:
    """Return the pages to show: every file's worst before any file's second, pages with a text first."""
    seen: dict[str, int] = {}
    ranked = []
    for picture in pictures:
        turn = seen[picture.source] = seen.get(picture.source, 0) + 1
        ranked.append((not picture.excerpt.strip(), turn, picture.score, picture.source, picture))
    return [picture for *_, picture in sorted(ranked, key=lambda one: one[:4])[:n]]


def as_html(
    files: Sequence[FileAudit],
    found: Sequence[Duplicates],
    total: Summary,
    pictures: Sequence[PagePicture],
    *,
    workers: int,
) -> Iterator[str]:
    """Yield the report piece by piece.

    Args:
        files: What was found of each file.
        found: Their duplicates.
        total: Their sums.
        pictures: The worst pages.
        workers: Pages read by OCR at once, for the expected time.
    """
    yield f"{_HEAD}<h1>Audit of {total.files} files</h1>"
    yield from _table(("", ""), _totals(total, workers))
    yield "<h2>Files</h2>"
    head = ("file", "format", "pages", "language", "MB", "routes", "OCR s", "problems")
    yield from _table(head, map(_row, files), [file.refused for file in files])
    if found:
        yield "<h2>Duplicates</h2>"
        yield from _table(("same", "files"), ((one.kind, "\n".join(one.sources)) for one in found))
    if pictures:
        yield "<h2>Worst pages</h2><p>As people see them, beside the text that is there without OCR.</p>"
        yield from map(_article, pictures)
    yield "</body></html>\n"


def _totals(total: Summary, workers: int) -> Iterator[tuple[object, ...]]:
    values = asdict(total)
    values["n_bytes"] = f"{megabytes(total.n_bytes)} MB"
    values["ocr_s"] = (
        f"{total.ocr_s:.0f} s on one core, {total.ocr_s / workers / 60:.1f} minutes with {workers} at once "
        f"(measured: {OCR_PAGE_S:g} s a full page and core)"
    )
    for name, value in values.items():
        yield name.replace("_", " ").removeprefix("n "), _counts(value) if isinstance(value, dict) else value


def _row(file: FileAudit) -> tuple[object, ...]:
    problems = "\n".join(f"{problem.code}: {problem.message}" for problem in file.problems)
    size = megabytes(file.n_bytes)
    routes = _counts(file.routes)
    return file.source, file.format, len(file.pages), file.language, size, routes, int(file.ocr_s), problems


def megabytes(n_bytes: int) -> float:
    """Return a size in megabytes, to two digits.

    >>> megabytes(2_345_678)
    2.35
    """
    return round(n_bytes / 1e6, 2)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items())


def _table(
    head: Sequence[str], rows: Iterable[Sequence[object]], refused: Sequence[bool] = ()
) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{html_text(name)}</th>' for name in head)}</tr>"
    for at, row in enumerate(rows):
        cells = "".join(
            f"<td{' class=n' if isinstance(cell, int | float) else ''}>{html_text(cell)}</td>" for cell in row
        )
        marked = " class=refused" if at < len(refused) and refused[at] else ""
        yield f"<tr{marked}>{cells}</tr>"
    yield "</table>"


def _article(picture: PagePicture) -> str:
    shown = ""
    if picture.jpeg:
        shown = f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(picture.jpeg).decode()}">'
    return (
        f"<article>{shown}<div><h3>{html_text(picture.source)}, page {picture.page_no}</h3>"
        f"<p>{html_text(picture.reason)}; score {picture.score:.2f}</p>"
        f"<pre>{html_text(picture.excerpt) or '(no text)'}</pre></div></article>"
    )
