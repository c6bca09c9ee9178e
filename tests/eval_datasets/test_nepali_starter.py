from __future__ import annotations

import csv
import json
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from eval_datasets import build_nepali_starter as starter
from eval_datasets.starter_source import Source, read_source
from rag_platform.errors import MissingDependency
from rag_platform.evaluation.collection import Reading, read_set
from rag_platform.evaluation.labels import units_of
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.pool import Limits
from rag_platform.storage import TableStore

ITEMS = sorted(starter.ITEMS)
SUFFIXES = {
    ".pdf": 2,
    ".txt": 1,
    ".md": 1,
    ".docx": 1,
    ".pptx": 1,
    ".rtf": 1,
    ".html": 1,
    ".epub": 1,
    ".odt": 1,
}
KINDS = {"lookup", "table", "date", "thematic", "keyword", "english", "romanized", "unanswerable"}

# What the scan must say for the case to be answerable from it; the other labels hold their quote themselves.
SCAN = "municipal_notice"
EVIDENCE = {
    "notice-1": "अन्तिम मिति २०८२ मङ्सिर २० गते",
    "notice-2": "१० प्रतिशत छुट",
    "notice-3": "कोठा नम्बर १०४",
    "notice-4": "१२ प्रतिशत विलम्ब शुल्क",
    "notice-5": "अघिल्लो वर्षको कर तिरेको रसिद, जग्गाधनी प्रमाणपुर्जाको प्रतिलिपि र नागरिकताको प्रतिलिपि",
    "notice-6": "६० लाख रुपैयाँसम्म भए वार्षिक १,८०० रुपैयाँ",
    "notice-7": "मिति: २०८२ असोज ६",
    "notice-8": "शुक्रबार भने दिउँसो १ बजेसम्म मात्र",
    "notice-9": "वडा नम्बर ४ र ७ को कार्यालयमा छुट्टै काउन्टर",
    "notice-10": "३० लाख रुपैयाँसम्म भए वार्षिक ६०० रुपैयाँ",
    "notice-11": "वडा नम्बर ४ र ७ को कार्यालयमा छुट्टै काउन्टर",
    "notice-12": "१२ प्रतिशत विलम्ब शुल्क",
    "notice-r1": "अन्तिम मिति २०८२ मङ्सिर २० गते",
    "notice-r2": "१० प्रतिशत छुट",
    "multi-1": "वडा नम्बर ४ र ७ को कार्यालयमा छुट्टै काउन्टर",
    "multi-3": "कोठा नम्बर १०४",
}


def source_of(item: str) -> Source:
    return read_source(starter.STARTER / item / "source.md")


def document_of(item: str, folder: Path = starter.STARTER) -> Path:
    return folder / item / "documents" / unicodedata.normalize("NFC", starter.ITEMS[item][0])


def questions_of(item: str) -> list[dict[str, str]]:
    with (starter.STARTER / item / "data.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cases() -> list[dict[str, Any]]:
    lines = (starter.STARTER / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def labelled_pages(case: dict[str, Any]) -> list[str]:
    return [
        "\n".join(block.text for block in source_of(label["source"].split("/")[0]).pages[number - 1])
        for label in case["relevant"]
        for number in label["pages"]
    ]


def squeeze(text: str) -> str:
    """All white space one space, U+200B out: what extraction may differ in."""
    return " ".join(text.replace("\u200b", "").split())


def test_the_items_are_the_folders() -> None:
    assert sorted(path.name for path in starter.STARTER.iterdir() if path.is_dir()) == ITEMS


def test_the_formats_are_covered_once_and_pdf_twice() -> None:
    assert Counter(document_of(item).suffix for item in ITEMS) == SUFFIXES


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_has_one_document_and_ten_questions(item: str) -> None:
    names = [
        unicodedata.normalize("NFC", path.name) for path in (starter.STARTER / item / "documents").iterdir()
    ]
    assert names == [document_of(item).name]
    rows = questions_of(item)
    assert len(rows) == 10
    assert all(set(row) == {"question", "actual_answer"} and all(row.values()) for row in rows)


@pytest.mark.parametrize("item", ITEMS)
def test_the_sources_are_clean_nepali_text(item: str) -> None:
    text = (starter.STARTER / item / "source.md").read_text(encoding="utf-8")
    assert unicodedata.is_normalized("NFC", text)
    assert not re.search("[\u200b\ufeff\u200e\u200f|]$", text)
    assert not re.search(r"[\u0900-\u097F]\s+[।॥]|[\u0900-\u097F] [\u093C\u093E-\u094D]", text)
    assert "काल्पनिक" in text.rstrip().splitlines()[-1]  # says itself that it is made up


def test_all_documents_together_are_small() -> None:
    assert sum(document_of(item).stat().st_size for item in ITEMS) < 1_000_000


def test_cases_have_exactly_the_documented_keys_and_values() -> None:
    keys = ["id", "query", "relevant", "reference_answer", "kind", "language", "answerable"]
    all_cases = cases()
    assert all(list(case) == keys for case in all_cases)
    assert {case["kind"] for case in all_cases} == KINDS
    assert {case["language"] for case in all_cases} == {"ne", "en", "romanized"}
    for field in ("id", "query"):
        assert max(Counter(case[field] for case in all_cases).values()) == 1
    for case in all_cases:
        assert (case["kind"] == "romanized") <= (case["language"] == "romanized")
        assert (case["language"] != "ne") == case["query"].isascii()


def test_a_case_is_answerable_exactly_when_it_names_a_page_that_exists() -> None:
    for case in cases():
        assert case["answerable"] == bool(case["relevant"]) == bool(case["reference_answer"])
        assert case["answerable"] == (case["kind"] != "unanswerable")
        for label in case["relevant"]:
            is_scan = label["source"].startswith(SCAN)
            assert list(label) == (["source", "pages"] if is_scan else ["source", "pages", "quote"])
            assert (starter.STARTER / label["source"]).is_file()
            n_pages = len(source_of(label["source"].split("/")[0]).pages)
            assert label["pages"]
            assert set(label["pages"]) <= set(range(1, n_pages + 1))


def test_every_question_is_a_case_with_the_same_answer() -> None:
    labelled = {
        (label["source"].split("/")[0], case["query"]): case["reference_answer"]
        for case in cases()
        for label in case["relevant"]
    }
    for item in ITEMS:
        for row in questions_of(item):
            assert labelled[item, row["question"]] == row["actual_answer"]


def test_the_labelled_page_of_the_scan_holds_the_evidence() -> None:
    on_scan = {
        case["id"]: case
        for case in cases()
        if any(label["source"].startswith(SCAN) for label in case["relevant"])
    }
    assert on_scan.keys() == EVIDENCE.keys()
    for case_id, evidence in EVIDENCE.items():
        assert any(evidence in page for page in labelled_pages(on_scan[case_id])), case_id


def test_every_label_is_found_in_the_documents_as_the_platform_reads_them(tmp_path: Path) -> None:
    dataset = load_dataset("nepali_starter")
    reading = Reading(ParseOptions(ocr="never"), Limits(), TableStore(tmp_path), workers=1)
    documents = read_set(dataset, reading)
    for case in dataset.cases:
        for unit in units_of(case, documents[""]):
            assert unit.span is not None
            assert unit.is_page == unit.source.startswith(SCAN)
            if not unit.is_page:
                assert documents[""][unit.source].text[unit.span.start : unit.span.end].strip()


def test_every_kind_and_every_document_has_enough_questions() -> None:
    kinds = Counter(case["kind"] for case in cases())
    assert min(kinds.values()) >= 10, kinds
    named = Counter(
        label["source"].split("/")[0]
        for case in cases()
        if case["language"] in {"ne", "en"}
        for label in case["relevant"][:1]
    )
    assert set(named) == set(ITEMS)
    assert min(named.values()) >= 10, named


def test_figures_of_an_answer_stand_on_the_labelled_page_or_follow_from_it() -> None:
    # lakh told in crore as well
    converted = {"budget-2": {"१२"}, "budget-3": {"१५", "८०"}, "budget-6": {"१०"}}
    for case in cases():
        answer = re.sub(r"\(दफा [०-९]+\)", "", case["reference_answer"])
        pages = "\n".join(labelled_pages(case))
        missing = {figure for figure in re.findall(r"[०-९](?:[०-९,]*[०-९])?", answer) if figure not in pages}
        assert missing <= converted.get(case["id"], set()), case["id"]


def extract_pdf(path: Path) -> list[str]:
    import pymupdf

    with pymupdf.open(path) as document:
        return [page.get_text() for page in document]


def row_line(cells: Iterable[str]) -> str:
    return " | ".join(cells)


def extract_docx(path: Path) -> list[str]:
    import docx

    parts = []
    for block in docx.Document(str(path)).iter_inner_content():
        if hasattr(block, "rows"):
            parts += [row_line(cell.text for cell in row.cells) for row in block.rows]
        else:
            page_break = block._p.xpath('.//w:br[@w:type="page"]')
            parts.append("\f" if page_break else block.text)
    return "\n".join(parts).split("\f")


def extract_pptx(path: Path) -> list[str]:
    import pptx

    slides = []
    for slide in pptx.Presentation(str(path)).slides:
        parts = [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        for shape in slide.shapes:
            if shape.has_table:
                parts += [row_line(cell.text for cell in row.cells) for row in shape.table.rows]
        if slide.has_notes_slide:
            parts.append(slide.notes_slide.notes_text_frame.text)
        slides.append("\n".join(parts))
    return slides


def extract_rtf(path: Path) -> list[str]:
    from striprtf.striprtf import rtf_to_text

    return [rtf_to_text(path.read_text(encoding="ascii"))]


def _cells_joined(markup: str) -> str:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(markup, "lxml")
    for row in soup.find_all("tr"):
        row.string = row_line(cell.get_text() for cell in row.find_all(["td", "th"]))
    return str(soup.body.get_text("\n")) if soup.body else ""


def extract_html(path: Path) -> list[str]:
    return [_cells_joined(path.read_text(encoding="utf-8"))]


def extract_epub(path: Path) -> list[str]:
    from ebooklib import epub

    book = epub.read_epub(str(path), {"ignore_ncx": True})
    chapters = [book.get_item_with_id(idref) for idref, _ in book.spine]
    return [_cells_joined(chapter.get_body_content().decode()) for chapter in chapters]


def extract_odt(path: Path) -> list[str]:
    from odf import opendocument, table, text
    from odf.teletype import extractText

    parts = []
    for node in opendocument.load(str(path)).text.childNodes:
        if node.qname == (table.TABLENS, "table"):
            for row in node.getElementsByType(table.TableRow):
                parts.append(row_line(map(extractText, row.getElementsByType(table.TableCell))))
        elif node.qname == (text.TEXTNS, "list"):
            parts += map(extractText, node.getElementsByType(text.P))
        else:
            parts.append(extractText(node))
    return ["\n".join(parts)]


def extract_text(path: Path) -> list[str]:
    return [path.read_text(encoding="utf-8")]


EXTRACTORS = {
    ".pdf": extract_pdf,
    ".docx": extract_docx,
    ".pptx": extract_pptx,
    ".rtf": extract_rtf,
    ".html": extract_html,
    ".epub": extract_epub,
    ".odt": extract_odt,
    ".md": extract_text,
    ".txt": extract_text,
}
DIGITAL = [item for item in ITEMS if item != "municipal_notice"]
PAGED = {"library_act", "citizenship_guide", "history_page", "budget_summary"}


@pytest.fixture(scope="session")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("starter")
    try:
        starter.build(folder)
    except MissingDependency as missing:
        pytest.skip(str(missing))
    return folder


def lines_of(source: Source, page: int | None = None) -> list[str]:
    blocks = source.blocks if page is None else source.pages[page]
    return [
        line
        for block in blocks
        for line in (map(" | ".join, block.rows) if block.kind == "table" else block.lines)
    ]


@pytest.mark.filterwarnings("ignore:In the future version we will turn default option ignore_ncx")
@pytest.mark.parametrize("item", DIGITAL)
@pytest.mark.parametrize("committed", [True, False], ids=["committed", "rebuilt"])
def test_a_document_holds_every_line_of_its_source(item: str, committed: bool, rebuilt: Path) -> None:
    path = document_of(item, starter.STARTER if committed else rebuilt)
    pages = [squeeze(page) for page in EXTRACTORS[path.suffix](path)]
    source = source_of(item)
    if item in PAGED:
        assert len(pages) == len(source.pages)
        for number, page in enumerate(pages):
            assert [line for line in lines_of(source, number) if squeeze(line) not in page] == []
    else:
        assert [line for line in lines_of(source) if squeeze(line) not in pages[0]] == []


@pytest.mark.parametrize("item", DIGITAL)
def test_zip_containers_have_one_fixed_time(item: str) -> None:
    path = document_of(item)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(2026, 1, 1, 0, 0, 0)}
    else:
        assert path.suffix in {".pdf", ".md", ".txt", ".html", ".rtf"}


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "rebuilt"])
def test_the_scan_is_one_image_of_300_dpi_without_text(committed: bool, rebuilt: Path) -> None:
    import pymupdf

    with pymupdf.open(document_of("municipal_notice", starter.STARTER if committed else rebuilt)) as document:
        (page,) = document
        assert page.get_text() == ""
        (image,) = page.get_image_info()
        assert (image["width"], image["height"], image["bpc"]) == (2480, 3508, 1)
        assert image["width"] / page.rect.width * 72 == pytest.approx(300, abs=0.5)


def test_a_missing_font_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from eval_datasets import starter_pages

    monkeypatch.setattr(starter_pages, "FONT_FOLDERS", (str(tmp_path),))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependency, match="fonts-sil-annapurna"):
        starter_pages.find_font("regular")
