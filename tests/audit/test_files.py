"""Files of all kinds in one audit: what is told of each, and that nothing stops the others."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pymupdf
import pytest
from parsing.files import SCAN, layer_pdf, pack, word_file

from rag_platform.audit.files import (
    OCR_PAGE_S,
    Duplicates,
    FileAudit,
    Source,
    audit_files,
    duplicates,
    files_below,
    summary,
)
from rag_platform.parsing.pool import Limits
from rag_platform.parsing.reading import ParseOptions

LINES = (
    "कल्पनापुर नगरपालिकाको सार्वजनिक सूचना यस प्रकार छ",
    "सम्पत्ति कर असार मसान्तभित्र बुझाउनुहोला भनी अनुरोध गरिन्छ",
    "ढिलो बुझाउने करदातालाई दश प्रतिशत जरिवाना लाग्नेछ",
    "थप जानकारीका लागि वडा कार्यालयमा सम्पर्क गर्नुहोस्",
)
BROKEN = [line.replace("ष्ट", "ɈṢ").replace("र", "रɌ") for line in LINES]


def placed(lines: tuple[str, ...] | list[str]) -> list[tuple[float, float, str]]:
    return [(50.0, 760.0 - 20 * at, line) for at, line in enumerate(lines)]


def as_word(path: Path) -> Path:
    return word_file(path, "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in LINES))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "सूचना.pdf").write_bytes(layer_pdf([placed(LINES), placed(BROKEN), []]))
    (folder / "scan.pdf").write_bytes(SCAN.read_bytes())
    (folder / "प्रति.pdf").write_bytes(SCAN.read_bytes())
    (folder / "सूचना.txt").write_text("\n".join(LINES), encoding="utf-8")
    as_word(folder / "सूचना.docx")
    (folder / "खाली.txt").write_text(" \n")
    (folder / "zero.pdf").write_bytes(b"")
    whole = layer_pdf([placed(LINES)] * 3)
    (folder / "आधा.pdf").write_bytes(whole[: len(whole) // 3])
    locked = pymupdf.open()
    locked.new_page().insert_text((72, 72), "Locked minutes of the ward meeting of the municipality")
    locked.save(folder / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="गोप्य")
    (folder / "program.exe").write_bytes(b"MZ" + bytes(100))
    (folder / ".hidden.txt").write_text("लुकेको")
    (folder / "link.txt").symlink_to(folder / "सूचना.txt")
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Mapping[str, FileAudit]:
    sources = files_below([folder], [])
    options = ParseOptions(workers=1)
    audits = audit_files(sources, options, limits=Limits(60.0), workers=1, n_pictures=2)
    return {Path(audit.source).name: audit for audit in audits}


def codes(audit: FileAudit) -> list[str]:
    return [problem.code for problem in audit.problems]


def test_hidden_files_and_links_are_left_out(found: Mapping[str, FileAudit]) -> None:
    assert sorted(found) == sorted(
        [
            "सूचना.pdf", "scan.pdf", "प्रति.pdf", "सूचना.txt", "सूचना.docx", "खाली.txt", "zero.pdf", "आधा.pdf",
            "locked.pdf", "program.exe",
        ]
    )  # fmt: skip


def test_each_page_of_a_pdf_has_its_route_and_reason(found: Mapping[str, FileAudit]) -> None:
    audit = found["सूचना.pdf"]
    assert (audit.format, audit.expected_pages, len(audit.pages)) == ("pdf", 3, 3)
    right, broken, blank = audit.pages
    assert (right.route, right.suspect) == ("text_layer", False)
    assert broken.route == "ocr"
    assert "foreign letters inside Devanagari words" in broken.reason
    assert "switched off" not in broken.reason
    assert (blank.route, blank.reason) == ("text_layer", "blank page")
    assert (audit.n_ocr, audit.ocr_s) == (1, OCR_PAGE_S)
    assert audit.routes == {"text_layer": 2, "ocr": 1}


def test_script_and_language_are_of_the_text_that_needs_no_ocr(found: Mapping[str, FileAudit]) -> None:
    assert found["सूचना.pdf"].language == "ne"
    assert found["सूचना.txt"].scripts == {"Devanagari": 1.0}
    assert found["scan.pdf"].language == "unknown"


def test_a_scan_goes_to_ocr_and_its_page_is_drawn(found: Mapping[str, FileAudit]) -> None:
    audit = found["scan.pdf"]
    assert audit.routes == {"ocr": 1}
    assert codes(audit) == []
    (picture,) = audit.pictures
    assert (picture.page_no, picture.excerpt) == (1, "")
    assert picture.jpeg.startswith(b"\xff\xd8\xff")
    assert found["सूचना.txt"].pictures == ()


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("zero.pdf", "empty_file", "0 bytes"),
        ("आधा.pdf", "parse_error", "get"),
        ("locked.pdf", "password_required", "password"),
        ("program.exe", "unsupported_format", "supported are"),
    ],
)
def test_a_refused_file_says_what_to_do(
    found: Mapping[str, FileAudit], name: str, code: str, says: str
) -> None:
    audit = found[name]
    assert audit.refused
    assert codes(audit) == [code]
    assert says in audit.problems[0].message


def test_a_file_without_text_is_a_problem_but_not_refused(found: Mapping[str, FileAudit]) -> None:
    assert (found["खाली.txt"].refused, codes(found["खाली.txt"])) == (False, ["empty"])


def test_duplicates_by_bytes_and_by_text_in_another_format(found: Mapping[str, FileAudit]) -> None:
    files = [found[name] for name in ("scan.pdf", "सूचना.docx", "सूचना.txt", "प्रति.pdf")]
    same = [Duplicates(d.kind, tuple(Path(s).name for s in d.sources)) for d in duplicates(files)]
    assert same == [
        Duplicates("bytes", ("scan.pdf", "प्रति.pdf")),
        Duplicates("text", ("सूचना.docx", "सूचना.txt")),
    ]


def test_the_summary_adds_up(found: Mapping[str, FileAudit]) -> None:
    total = summary([*found.values()], duplicates([*found.values()]))
    assert (total.files, total.refused, total.ocr_pages) == (10, 4, 3)
    assert total.ocr_s == 3 * OCR_PAGE_S
    assert total.pages == 3 + 1 + 1 + 1 + 1 + 1
    assert total.problems == {
        "empty_file": 1, "parse_error": 1, "password_required": 1, "unsupported_format": 1, "empty": 1,
    }  # fmt: skip
    assert total.duplicates == 2


def test_routes_follow_how_ingestion_is_set(folder: Path) -> None:
    sources = [Source("सूचना.pdf", folder / "सूचना.pdf")]
    (always,) = audit_files(sources, ParseOptions(ocr="always"), workers=1)
    assert [page.route for page in always.pages] == ["ocr", "ocr", "text_layer"]
    (never,) = audit_files(sources, ParseOptions(ocr="never"), workers=1)
    assert "ocr" not in never.routes
    assert never.n_ocr == 0
    assert codes(never) == ["suspect_pages"]


def test_a_missing_language_is_told_of_files_that_need_ocr(folder: Path) -> None:
    sources = [Source("scan.pdf", folder / "scan.pdf"), Source("सूचना.txt", folder / "सूचना.txt")]
    found = {f.source: f for f in audit_files(sources, ParseOptions(languages="nep+xyz"), workers=1)}
    assert codes(found["scan.pdf"]) == ["ocr_missing"]
    assert "xyz" in found["scan.pdf"].problems[0].message
    assert codes(found["सूचना.txt"]) == []


def test_macros_and_a_mended_structure_are_problems(tmp_path: Path) -> None:
    plain = as_word(tmp_path / "a.docx")
    with zipfile.ZipFile(plain) as archive:
        parts: dict[str, bytes | str] = {name: archive.read(name) for name in archive.namelist()}
    macros = pack(tmp_path / "a.docm", {**parts, "word/vbaProject.bin": b"\xd0\xcf\x11\xe0"})
    mended = tmp_path / "b.pdf"
    mended.write_bytes(layer_pdf([placed(LINES)]).replace(b"startxref", b"startxxxx"))
    sources = [Source("a.docm", macros), Source("b.pdf", mended)]
    found = {audit.source: audit for audit in audit_files(sources, ParseOptions(), workers=1)}
    assert codes(found["a.docm"]) == ["macros"]
    assert codes(found["b.pdf"]) == ["repaired"]


def test_a_name_that_is_no_text_can_be_written(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.txt"
    Path(os.fsdecode(path)).write_text("सूचना")
    (source,) = files_below([tmp_path], [])
    assert source.name.encode().endswith(rb"\xff.txt")
