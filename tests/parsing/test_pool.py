from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from parsing.files import SCAN, Word, Write, word_file

from rag_platform.errors import EmptyFile, EnvironmentProblem, ParseError
from rag_platform.parsing.pool import Job, Limits, parse_all
from rag_platform.parsing.reading import ParseOptions
from rag_platform.types import Document

OPTIONS = ParseOptions()


def job(path: Path, source: str = "") -> Job:
    return Job(path.name, path, source or path.name, "c")


def parsed(*jobs: Job, workers: int = 1, limits: Limits | None = None) -> dict[str, object]:
    return dict(parse_all(jobs, OPTIONS, workers=workers, limits=limits or Limits()))


BEFORE: set[psutil.Process] = set()
"""What ran below this process already: other tests share a browser, and a killed engine may lie there."""


@pytest.fixture(autouse=True)
def _what_ran_before() -> None:
    BEFORE.clear()
    BEFORE.update(psutil.Process().children(recursive=True))


def children() -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if one not in BEFORE]


@pytest.fixture
def pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that gives the reading processes another Pillow: they take this import path over."""

    def replace(code: str) -> None:
        package = tmp_path / "lib" / "PIL"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(code)
        monkeypatch.syspath_prepend(package.parent)

    return replace


def test_files_are_read_in_other_processes_and_small_texts_here(word: Word, write: Write) -> None:
    document, text, empty = (
        word("<w:p><w:r><w:t>सूचना</w:t></w:r></w:p>"),
        write("क.txt", "कर"),
        write("e.pdf", b""),
    )
    results = parse_all([job(document), job(text), job(empty)], OPTIONS, workers=2)

    first = dict(next(results) for _ in range(2))
    assert not children(), "a process was started for a small text or a file refused at first sight"
    assert isinstance(first["क.txt"], Document)
    assert isinstance(first["e.pdf"], EmptyFile)
    (key, last), *none = results
    assert (key, none) == ("document.docx", [])
    assert isinstance(last, Document)
    assert (last.text, last.source, last.collection) == ("सूचना", "document.docx", "c")
    assert not children()


def test_one_process_reads_many_files_and_several_share_them(tmp_path: Path) -> None:
    paths = [
        word_file(tmp_path / f"{number}.docx", f"<w:p><w:r><w:t>दफा {number}</w:t></w:r></w:p>")
        for number in range(12)
    ]
    for workers in (1, 3):
        results = parsed(*map(job, paths), workers=workers)
        assert {
            key: document.text for key, document in results.items() if isinstance(document, Document)
        } == {f"{number}.docx": f"दफा {number}" for number in range(12)}


def test_a_text_that_is_none_is_not_read_in_this_process(write: Write) -> None:
    results = parse_all([job(write("a.txt", SCAN.read_bytes()))], ParseOptions(ocr="never"), workers=1)

    ((_, document),) = results
    assert isinstance(document, Document)
    assert document.format == "pdf"


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "its reader crashed (signal SIGSEGV)"),
        ("raise SystemExit(3)", "its reader crashed (status 3)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "most likely for want of memory"),
    ],
)
def test_a_crash_is_an_error_of_that_document_alone(
    word: Word, write: Write, pillow: Callable[[str], None], code: str, how: str
) -> None:
    pillow(code)
    fine = word("<w:p><w:r><w:t>सूचना</w:t></w:r></w:p>")
    bad = [job(write(f"{number}.png", b"\x89PNG\r\n\x1a\n")) for number in range(2)]
    results = parsed(bad[0], job(fine), bad[1])

    assert isinstance(results["document.docx"], Document)
    for number in range(2):
        error = results[f"{number}.png"]
        assert isinstance(error, ParseError)
        assert f"'{number}.png' cannot be read: " in str(error)
        assert how in str(error)


def test_what_takes_too_long_is_ended_with_its_ocr_and_the_next_goes_on(word: Word, tmp_path: Path) -> None:
    import pymupdf

    with pymupdf.open() as long, pymupdf.open(SCAN) as scan:
        for _ in range(20):
            long.insert_pdf(scan)
        long.save(tmp_path / "long.pdf")
    fine = word("<w:p><w:r><w:t>सूचना</w:t></w:r></w:p>")
    results = parsed(job(tmp_path / "long.pdf"), job(fine), limits=Limits(timeout_s=4))

    error = results["long.pdf"]
    assert isinstance(error, ParseError)
    assert "takes longer than 4 s; split it, or raise RAG_PARSE_TIMEOUT_S" in str(error)
    assert isinstance(results["document.docx"], Document)
    assert not children()


def test_what_fills_the_memory_is_refused(write: Write, word: Word) -> None:
    large = write("large.txt", "नेपालको संविधान\n" * 1_000_000)
    fine = word("<w:p><w:r><w:t>सूचना</w:t></w:r></w:p>")
    results = parsed(job(large), job(fine), limits=Limits(memory_mb=160))

    error = results["large.txt"]
    assert isinstance(error, ParseError)
    assert "needs more than 160 MB" in str(error)
    assert "RAG_PARSE_MEMORY_MB" in str(error)
    assert isinstance(results["document.docx"], Document)


@pytest.mark.parametrize("fault", ["no interpreter", "no memory"])
def test_a_pool_that_cannot_start_is_no_fault_of_the_documents(
    word: Word, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "no interpreter":
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
    document = word("<w:p/>")

    with pytest.raises(EnvironmentProblem, match="no process for parsing can be started"):
        parsed(job(document), limits=Limits(memory_mb=1 if fault == "no memory" else 4096))
    assert not children()


def test_results_that_nobody_takes_leave_no_process(word: Word) -> None:
    results = parse_all([job(SCAN), job(word("<w:p/>"))], OPTIONS, workers=2)
    next(results)
    assert children()
    results.close()  # type: ignore[attr-defined]

    assert not children()


@pytest.mark.parametrize("as_file", [True, False])
def test_a_script_needs_no_main_guard(tmp_path: Path, word: Word, as_file: bool) -> None:
    document = word("<w:p><w:r><w:t>सूचना</w:t></w:r></w:p>")
    script = textwrap.dedent(f"""
        from pathlib import Path
        from rag_platform.parsing.pool import Job, parse_all
        from rag_platform.parsing.reading import ParseOptions
        path = Path({str(document)!r})
        for key, result in parse_all([Job("k", path, path.name, "c")], ParseOptions(), workers=1):
            print(key, result.text)
    """)
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, str(tmp_path / "script.py") if as_file else "-"]
    done = subprocess.run(command, input=script.encode(), capture_output=True, timeout=120, check=False)

    assert (done.stdout.decode(), done.stderr.decode()) == ("k सूचना\n", "")


def test_a_killed_caller_leaves_no_reader_behind(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        from pathlib import Path
        from rag_platform.parsing.pool import Job, parse_all
        from rag_platform.parsing.reading import ParseOptions
        list(parse_all([Job("k", Path({str(SCAN)!r}), "a.pdf", "c")], ParseOptions(), workers=1))
    """)
    with subprocess.Popen([sys.executable, "-c", script]) as caller:
        started: list[psutil.Process] = []
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(_is_ocr(one) for one in started):
            time.sleep(0.05)
            started = psutil.Process(caller.pid).children(recursive=True)
        os.kill(caller.pid, signal.SIGKILL)

    gone, alive = psutil.wait_procs(started, timeout=10)
    assert len(gone) >= 2, "no OCR was running when the caller was killed"
    assert alive == []


def _is_ocr(process: psutil.Process) -> bool:
    try:
        return "tesseract" in process.name()
    except psutil.NoSuchProcess:
        return False
