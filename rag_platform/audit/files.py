"""What ingesting files would meet, without ingesting them: routes of the pages, cost, duplicates, problems.

Each file is parsed by the pool, within its limits and with OCR switched off, so that the arbitration of the
parser itself says which pages would be read by their picture, and nobody pays for it. Nothing is stored; how
it is shown is the business of ``report`` and ``cli``.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rag_platform.audit.container import Container, inspect
from rag_platform.audit.likeness import Signature, folded_words, groups, near_groups, signature, text_key
from rag_platform.audit.pictures import PagePicture, draw
from rag_platform.errors import MissingDependency, ParseError, RagError
from rag_platform.inbox import is_ignored
from rag_platform.metadata.sidecars import is_note
from rag_platform.parsing.ocr import require_languages
from rag_platform.parsing.parse import ParseOptions, parse_file
from rag_platform.parsing.pool import Job, Limits, do_all
from rag_platform.parsing.reading import OCR_OFF, OcrMode
from rag_platform.parsing.routes import Reading, map_is_right
from rag_platform.text.language import detect_language, script_shares
from rag_platform.types import Document, Page

__all__ = [
    "OCR_PAGE_S",
    "Duplicates",
    "FileAudit",
    "PageRoute",
    "Problem",
    "Source",
    "Summary",
    "audit_files",
    "duplicates",
    "files_below",
    "look",
    "summary",
]

OCR_PAGE_S = 2.0
"""Seconds of one core for the OCR of a full page at 300 DPI; 1.0 to 2.2 were measured on pages of a Nepali
law (``docs/audit.md``). Pictures and scans that must be turned or read in both languages take up to twice."""

_PENDING = "believed if a page of the document agrees with its OCR, else read by OCR"
_FAILED = "page failed"
_LEAST_WORDS = 30
"""Shorter texts get no signature: two short notices are alike without being duplicates."""
_DEFAULT_LANGUAGES = "nep+eng"
_NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Source:
    """A file to audit: how it is named in the report, and where it is."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file, and what to do about it; ``code`` is stable."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class PageRoute:
    """How one page would be read.

    Attributes:
        route: Its origin after ingestion: ``text_layer``, ``font_map``, ``legacy_font``, ``ocr``, ``markup``.
        reason: Why.
        score: How well the text reads that is there without OCR, 0 to 1.
        suspect: That text is probably wrong, or there is none.
        n_characters: Of that text.
    """

    page_no: int
    label: str
    route: str
    reason: str
    score: float
    suspect: bool
    n_characters: int


@dataclass(frozen=True, slots=True)
class FileAudit:
    """What is known of one file.

    Attributes:
        expected_pages: What its container says; None where the format does not tell.
        language: Of the text that needs no OCR.
        scripts: Share of each script among its letters.
        n_ocr: Pages that OCR would read, the one that verifies a font map included.
        n_ocr_most: The same, should that page not bear the map out.
        refused: It cannot be ingested; ``problems`` says why.
        text_key: Equal for equal texts in any format; empty for a short text, and where OCR adds to it.
        signature: For likeness; None in the same cases.
        pictures: Its worst pages, drawn.
    """

    source: str
    n_bytes: int
    format: str = ""
    content_sha256: str = ""
    expected_pages: int | None = None
    pages: tuple[PageRoute, ...] = ()
    language: str = ""
    scripts: dict[str, float] = field(default_factory=dict)
    n_characters: int = 0
    n_ocr: int = 0
    n_ocr_most: int = 0
    refused: bool = False
    problems: tuple[Problem, ...] = ()
    text_key: str = ""
    signature: Signature | None = None
    pictures: tuple[PagePicture, ...] = ()

    @property
    def routes(self) -> dict[str, int]:
        """Number of pages by route, most first."""
        return dict(Counter(page.route for page in self.pages).most_common())

    @property
    def why(self) -> str:
        """The reason that most of its pages give for their route; JSON has each page's."""
        reasons = Counter(page.reason for page in self.pages if page.reason)
        return reasons.most_common(1)[0][0] if reasons else ""

    @property
    def ocr_s(self) -> float:
        """Expected seconds of OCR on one core."""
        return self.n_ocr * OCR_PAGE_S


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Files with the same ``bytes``, the same ``text``, or nearly the same text (``near``)."""

    kind: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """All files together.

    Attributes:
        suspect_pages: Whose text is probably wrong and would not be read by OCR.
        ocr_pages_most: Should no font map be borne out by the page that is compared with its OCR.
        ocr_s: Expected seconds of OCR on one core.
        problems: Number of files by the code of a problem.
        duplicates: Files that add nothing to others.
    """

    files: int
    refused: int
    n_bytes: int
    pages: int
    routes: dict[str, int]
    suspect_pages: int
    ocr_pages: int
    ocr_pages_most: int
    ocr_s: float
    problems: dict[str, int]
    duplicates: int


def files_below(paths: Sequence[Path], unreadable: list[Path]) -> list[Source]:
    """Return the files below paths, as ingestion would take them: no links, hidden or temporary ones.

    Args:
        paths: Files and folders; a file that is named is taken whatever its name.
        unreadable: Takes the folders that cannot be listed.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            found[path] = None
            continue
        walk = os.walk(path, onerror=lambda error: unreadable.append(Path(str(error.filename))))
        for folder, folders, names in walk:
            folders[:] = sorted(name for name in folders if not is_ignored(name))
            names = [name for name in names if not is_ignored(name) and not is_note(name)]
            files = (Path(folder, name) for name in sorted(names))
            found.update((file, None) for file in files if file.is_file() and not file.is_symlink())
    return [Source(_name(path), path) for path in found]


def _name(path: Path) -> str:
    """Return a path in NFC; bytes that are no UTF-8 become escapes, which every output can hold."""
    return unicodedata.normalize("NFC", os.fsencode(path).decode("utf-8", "backslashreplace"))


def audit_files(
    sources: Sequence[Source],
    options: ParseOptions,
    *,
    limits: Limits = _NO_LIMITS,
    workers: int = 0,
    n_pictures: int = 0,
) -> Iterator[FileAudit]:
    """Look at files and yield what is found as each is done; a bad one never stops the others.

    Args:
        sources: The files.
        options: How they would be ingested.
        limits: What each file may take.
        workers: Processes at once; 0: one a core.
        n_pictures: Pages of each file to draw, the worst ones.
    """
    by_key = {str(at): source for at, source in enumerate(sources)}
    jobs = [Job(key, source.path, source.name, "") for key, source in by_key.items()]
    task = partial(look, planned=options.ocr, n_pictures=n_pictures)
    dry = replace(options, ocr="never", kinds=tuple(kind for kind in options.kinds if kind != "image"))
    missing = () if options.ocr == "never" else _missing_languages(options.languages or _DEFAULT_LANGUAGES)
    for key, result in do_all(task, jobs, dry, workers=workers, limits=limits):
        if isinstance(result, RagError):
            yield _refused(by_key[key], result)
        elif result.n_ocr:
            yield replace(result, problems=(*missing, *result.problems))
        else:
            yield result


def _refused(source: Source, error: RagError) -> FileAudit:
    try:
        n_bytes = source.path.stat().st_size
    except OSError:  # which is why it was refused
        n_bytes = 0
    return FileAudit(source.name, n_bytes, refused=True, problems=(Problem(error.code, str(error)),))


def _missing_languages(languages: str) -> tuple[Problem, ...]:
    """Return what keeps OCR from reading these languages, if anything."""
    try:
        require_languages(languages)
    except MissingDependency as error:
        return (Problem("ocr_missing", str(error)),)
    return ()


def look(job: Job, options: ParseOptions, *, planned: OcrMode, n_pictures: int) -> FileAudit:
    """Look at one file; runs in a process of the pool.

    Args:
        job: The file.
        options: With OCR switched off.
        planned: How ingestion would use OCR.
        n_pictures: Pages to draw.
    """
    document = parse_file(job.path, source=job.source, options=options)
    try:
        container, problems = inspect(job.path, document.format, passwords=options.passwords), []
    except ParseError as error:
        container, problems = Container(), [Problem("container", str(error))]
    pages = tuple(_route(page, document.format, planned) for page in document.pages)
    text = "\n\n".join(
        page.text for page, found in zip(document.pages, pages, strict=True) if found.route != "ocr"
    )
    n_ocr, n_ocr_most = _n_ocr(pages, planned)
    words = folded_words(text)
    is_whole = all(page.route != "ocr" for page in pages)
    audit = FileAudit(
        source=job.source,
        n_bytes=job.path.stat().st_size,
        format=document.format,
        content_sha256=document.content_sha256,
        expected_pages=container.n_pages,
        pages=pages,
        language=detect_language(text) if text.strip() else "unknown",
        scripts={name: round(share, 4) for name, share in script_shares(text).items()},
        n_characters=len(text.strip()),
        n_ocr=n_ocr,
        n_ocr_most=n_ocr_most,
        text_key=text_key(words) if is_whole else "",
        signature=signature(words) if is_whole and len(words) >= _LEAST_WORDS else None,
        pictures=_pictures(job.path, document, pages, n_pictures, options.passwords),
    )
    return replace(audit, problems=(*problems, *_problems(audit, container)))


def _route(page: Page, format_name: str, planned: OcrMode) -> PageRoute:
    route, reason, suspect = str(page.origin), page.reason, page.suspect
    reasons = reason.split("; ")
    if planned == "always" and format_name == "pdf" and not _is_void(page):
        route, reason = "ocr", "OCR of every page is set"
    elif planned != "never" and OCR_OFF in reasons:
        rest = "; ".join(one for one in reasons if one != OCR_OFF)
        if _is_pending(page):
            reason, suspect = f"{rest}; {_PENDING}", False
        else:
            route, reason = "ocr", rest
    return PageRoute(page.page_no, page.label, route, reason, page.score, suspect, len(page.text))


def _is_pending(page: Page) -> bool:
    """Say whether the document's fonts tell a page, should the comparison with OCR bear them out."""
    reading = Reading(page.text, page.origin, page.confidence, "")
    return page.origin == "font_map" and map_is_right(reading, 0.0)


def _is_void(page: Page) -> bool:
    return page.reason.startswith((_FAILED, "blank page"))


def _n_ocr(pages: Sequence[PageRoute], planned: OcrMode) -> tuple[int, int]:
    """Count the pages that OCR would read, at best and at worst; one verifies a font map."""
    n_pages = sum(page.route == "ocr" for page in pages)
    n_pages += planned == "auto" and any(page.route == "font_map" for page in pages)
    return n_pages, n_pages + sum(page.reason.endswith(_PENDING) for page in pages)


def _pictures(
    path: Path, document: Document, pages: Sequence[PageRoute], n: int, passwords: Sequence[str]
) -> tuple[PagePicture, ...]:
    """Draw the worst pages: failed ones, then wrong texts, then what has none; good pages never."""
    bad = [page for page in pages if page.suspect]
    bad.sort(key=lambda page: (not page.reason.startswith(_FAILED), not page.n_characters, page.score))
    texts = {page.page_no: page.text for page in document.pages}
    return draw(
        path,
        document.format,
        [(page.page_no, page.reason, page.score, texts[page.page_no]) for page in bad[:n]],
        source=document.source,
        passwords=passwords,
    )


def _problems(audit: FileAudit, container: Container) -> Iterator[Problem]:
    n_failed = sum(page.reason.startswith(_FAILED) for page in audit.pages)
    n_suspect = sum(page.suspect and page.route != "ocr" for page in audit.pages) - n_failed
    expected = container.n_pages
    if container.is_repaired:
        yield Problem("repaired", "its structure is broken and was mended: compare it with the original")
    if container.is_restricted:
        yield Problem("protected", "protected by a password of its owner; it is read nonetheless")
    if container.has_macros:
        yield Problem("macros", "it carries macros; they are never run")
    if n_failed:
        yield Problem("failed_pages", f"{n_failed} pages cannot be read; get the file again")
    if n_suspect > 0:
        yield Problem("suspect_pages", f"the text of {n_suspect} pages is probably wrong; look at them")
    if expected is not None and expected > len(audit.pages):
        yield Problem(
            "lost_pages", f"{expected} pages by its container, {len(audit.pages)} read; report this file"
        )
    if not audit.n_characters and not any(page.route == "ocr" for page in audit.pages):
        yield Problem("empty", "nothing in it is text; leave it out")


def duplicates(files: Sequence[FileAudit]) -> list[Duplicates]:
    """Return which files are the same: by bytes, else by text in whatever format, else nearly."""
    found = [Duplicates("bytes", _sources(files, same)) for same in groups(f.content_sha256 for f in files)]
    first: dict[str, FileAudit] = {}
    for file in files:
        if file.content_sha256:
            first.setdefault(file.content_sha256, file)
    unique = list(first.values())
    same_text = groups(file.text_key for file in unique)
    found += [Duplicates("text", _sources(unique, same)) for same in same_text]
    keys: dict[str, FileAudit] = {}
    for file in unique:
        if file.signature is not None:
            keys.setdefault(file.text_key, file)
    texts = list(keys.values())
    near = near_groups([file.signature for file in texts if file.signature is not None])
    return [*found, *(Duplicates("near", _sources(texts, alike)) for alike in near)]


def _sources(files: Sequence[FileAudit], places: Iterable[int]) -> tuple[str, ...]:
    return tuple(files[at].source for at in places)


def summary(files: Sequence[FileAudit], found: Sequence[Duplicates]) -> Summary:
    """Add up what was found."""
    routes: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    for file in files:
        routes.update(file.routes)
        problems.update({problem.code for problem in file.problems})
    return Summary(
        files=len(files),
        refused=sum(file.refused for file in files),
        n_bytes=sum(file.n_bytes for file in files),
        pages=sum(len(file.pages) for file in files),
        routes=dict(routes.most_common()),
        suspect_pages=sum(page.suspect and page.route != "ocr" for file in files for page in file.pages),
        ocr_pages=sum(file.n_ocr for file in files),
        ocr_pages_most=sum(file.n_ocr_most for file in files),
        ocr_s=sum(file.ocr_s for file in files),
        problems=dict(problems.most_common()),
        duplicates=sum(len(one.sources) - 1 for one in found),
    )
