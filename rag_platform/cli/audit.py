"""``rag audit``: files before they are ingested, or a published collection; nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import (
    Collection,
    Embedding,
    EnvFile,
    Output,
    Password,
    QdrantKey,
    QdrantUrl,
    Verbose,
    open_settings,
    open_system,
    with_password,
)
from rag_platform.cli.render import Format, Row, emit, progress_bar, say, snippet
from rag_platform.errors import StorageError

if TYPE_CHECKING:
    from rag_platform.audit.collection import CollectionAudit
    from rag_platform.audit.files import Duplicates, FileAudit, Source, Summary
    from rag_platform.audit.pictures import PagePicture
    from rag_platform.settings import Settings

__all__ = ["audit"]

_PICTURES_A_FILE = 3
_SHOWN = 20
"""Findings of a kind in a table; JSON has more."""
_UNSHOWN = ("signature", "pictures", "text_key")


def audit(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", exists=True, help="Files and folders to look at."),
    ] = None,
    collection: Collection = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a report with the worst pages, too.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 when a file is refused.")] = False,
    sample: Annotated[
        int, typer.Option("--sample", min=100, help="Chunks of a collection that are compared.")
    ] = 100_000,
    password: Password = None,
    output: Output = Format.table,
    embedding: Embedding = None,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Say what ingesting files would meet, or what dirt a published collection holds.

    Files are read with OCR switched off, and nothing is stored. Exit code 0: audited, whatever was found.
    """
    if bool(paths) == bool(collection):
        raise typer.BadParameter("name files and folders, or a collection with --collection; one of both")
    settings = open_settings(
        env_file,
        verbose,
        QDRANT_URL=qdrant_url,
        QDRANT_API_KEY=qdrant_api_key,
        EMBEDDING_MODEL=embedding,
    )
    if collection:
        _show_collection(_collection(settings, collection, sample), output)
        return
    n_refused = _files(with_password(settings, password), paths or [], html, output)
    if strict and n_refused:
        raise typer.Exit(1)


def _files(settings: Settings, paths: Sequence[Path], html: Path | None, output: Format) -> int:
    """Audit files, write what was found, and return how many were refused."""
    from rag_platform.audit.files import duplicates, files_below, summary
    from rag_platform.audit.report import worst

    unreadable: list[Path] = []
    sources = files_below(paths, unreadable)
    for folder in unreadable:
        say(f"cannot list {folder}: check its permissions")
    files: list[FileAudit] = []
    pictures: list[PagePicture] = []
    with progress_bar("auditing", lambda: len(sources)) as advance:
        for file in _looked_at(settings, sources, _PICTURES_A_FILE if html else 0):
            pictures = worst([*pictures, *file.pictures])
            files.append(replace(file, pictures=()))
            advance(file.source)
    files.sort(key=lambda file: file.source)
    found = duplicates(files)
    total = summary(files, found)
    workers = settings.workers or os.cpu_count() or 1
    if html is not None:
        _write_html(html, files, found, total, pictures, workers)
    _show_files(files, found, total, workers, output)
    return total.refused + len(unreadable)


def _looked_at(settings: Settings, sources: Sequence[Source], n_pictures: int) -> Iterator[FileAudit]:
    from rag_platform.audit.files import audit_files
    from rag_platform.parsing.pool import Limits
    from rag_platform.system import parse_options

    limits = Limits(settings.parse_timeout_s, settings.parse_memory_mb)
    options, workers = parse_options(settings), settings.workers
    return audit_files(sources, options, limits=limits, workers=workers, n_pictures=n_pictures)


def _write_html(
    path: Path,
    files: Sequence[FileAudit],
    found: Sequence[Duplicates],
    total: Summary,
    pictures: Sequence[PagePicture],
    workers: int,
) -> None:
    from rag_platform.audit.report import as_html

    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(as_html(files, found, total, pictures, workers=workers))
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; name another file with --html") from error
    say(f"wrote {path}")


def _show_files(
    files: Sequence[FileAudit],
    found: Sequence[Duplicates],
    total: Summary,
    workers: int,
    output: Format,
) -> None:
    from rag_platform.audit.files import OCR_PAGE_S

    value: Row = {
        "summary": asdict(total) | {"ocr_page_s": OCR_PAGE_S, "workers": workers},
        "files": [_file_value(file) for file in files],
        "duplicates": [asdict(one) for one in found],
    }
    copies = {source: one for one in reversed(found) for source in one.sources}
    emit(output, value, [_file_row(file, copies.get(file.source)) for file in files])
    if output is Format.table:
        emit(output, {}, [_summary_row(total)])
    minutes = total.ocr_s / workers / 60
    most = f" (at most {total.ocr_pages_most})" if total.ocr_pages_most > total.ocr_pages else ""
    say(
        f"{total.files} files, {total.pages} pages; OCR of {total.ocr_pages} pages{most} takes about "
        f"{total.ocr_s:.0f} s of one core ({OCR_PAGE_S:g} s a page), {minutes:.1f} minutes with {workers}"
    )


def _file_value(file: FileAudit) -> Row:
    """Return all that is known of a file, for JSON."""
    shown: Row = {
        field.name: getattr(file, field.name) for field in fields(file) if field.name not in _UNSHOWN
    }
    return shown | {
        "pages": [asdict(page) for page in file.pages],
        "problems": [asdict(problem) for problem in file.problems],
        "routes": file.routes,
        "ocr_s": file.ocr_s,
    }


def _file_row(file: FileAudit, copy: Duplicates | None) -> Row:
    problems = [f"{problem.code}: {problem.message}" for problem in file.problems]
    if copy is not None:
        others = [source for source in copy.sources if source != file.source]
        same = "nearly the text of" if copy.kind == "near" else f"the {copy.kind} of"
        problems.append(f"{same} {', '.join(others)}")
    return {
        "file": file.source,
        "format": file.format,
        "pages": len(file.pages),
        "language": file.language,
        "kB": round(file.n_bytes / 1000),
        "routes": _counted(file.routes),
        "ocr_s": round(file.ocr_s),
        "why": snippet(file.why, 60),
        "problems": "; ".join(problems),
    }


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items())


def _summary_row(total: Summary) -> Row:
    return {
        "files": total.files,
        "refused": total.refused,
        "MB": round(total.n_bytes / 1e6, 1),
        "pages": total.pages,
        "routes": _counted(total.routes),
        "suspect pages": total.suspect_pages,
        "ocr_s": round(total.ocr_s),
        "duplicates": total.duplicates,
        "problems": _counted(total.problems),
    }


def _collection(settings: Settings, name: str, sample: int) -> CollectionAudit:
    from rag_platform.audit.collection import audit_collection

    system = open_system(settings, must_exist=True)
    reader = system.index.open(name, system.embedding().name)
    with progress_bar("reading", reader.count) as advance:
        return audit_collection(reader, sample=sample, progress=advance)


def _show_collection(found: CollectionAudit, output: Format) -> None:
    value: Row = asdict(found)
    rows: list[Row] = []
    shown: dict[str, int] = {}
    for finding in found.findings:
        shown[finding.kind] = shown.get(finding.kind, 0) + 1
        if shown[finding.kind] <= _SHOWN:
            rows.append(
                {
                    "kind": finding.kind,
                    "source": finding.source,
                    "page": finding.page,
                    "finding": finding.message,
                    "text": snippet(finding.text, 120),
                }
            )
    emit(output, value, rows)
    if output is Format.table and found.hubness is not None:
        emit(output, {}, [asdict(found.hubness)])
    for note in found.notes:
        say(note)
    counts = ", ".join(f"{n} {kind}" for kind, n in found.counts.items() if n)
    say(f"{found.points} chunks of {found.documents} documents: {counts or 'no dirt found'}")
