"""Tables and pictures as chunks of their own, with the table's header row beside them."""

from __future__ import annotations

import pytest

from rag_platform.chunking.chunkers import chunk_document, load_chunker
from rag_platform.chunking.tokenizers import GraphemeTokenizer
from rag_platform.types import Chunk, Document, Kind, Origin, Page, Region

HEADER = "| सेवा | शुल्क |"
ROWS = [f"| सेवा नम्बर {n} को विवरण | रु. {n}० मात्र |" for n in range(10, 30)]
TABLE = "\n".join([HEADER, "| --- | --- |", *ROWS])
SIZE = 80


def page(*pieces: tuple[str, Kind], number: int = 1, origin: Origin = "markup") -> Page:
    text, regions = "", []
    for piece, kind in pieces:
        text += "\n\n" if text else ""
        if kind != "text":
            regions.append(Region(len(text), len(text) + len(piece), kind))
        text += piece
    return Page(number, text, origin, regions=tuple(regions))


def cut(*pages: Page, kinds: tuple[Kind, ...] = ("text", "table", "image")) -> list[Chunk]:
    tokenizer = GraphemeTokenizer()
    chunker = load_chunker("recursive", tokenizer=tokenizer, size=SIZE, overlap_ratio=0.15)
    document = Document("क.docx", "0" * 64, "docx", pages)
    chunks = chunk_document(document, chunker, tokenizer, kinds=kinds)
    for chunk in chunks:
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert tokenizer.count(chunk.indexed_text) <= SIZE
    return chunks


BEFORE, AFTER = "नगरपालिकाले सेवा दिन्छ। नागरिकले शुल्क तिर्छन्।", "थप जानकारी वडाबाट लिनुहोस्।"


def test_a_long_table_is_cut_between_rows_and_repeats_its_header() -> None:
    chunks = cut(page((BEFORE, "text"), (TABLE, "table"), (AFTER, "text")))
    tables = [chunk for chunk in chunks if chunk.kind == "table"]
    assert len(tables) > 3
    assert tables[0].header == ""
    assert {chunk.header for chunk in tables[1:]} == {HEADER}
    assert tables[1].indexed_text == f"{HEADER}\n{tables[1].text}"
    for chunk in tables[1:]:
        assert set(chunk.text.split("\n")) <= set(ROWS)
    assert [row for row in ROWS if not any(row in chunk.text for chunk in tables)] == []
    assert chunks[-1].text == AFTER


def test_the_line_that_introduces_a_table_goes_with_it() -> None:
    small = "\n".join([HEADER, "| --- | --- |", ROWS[0]])
    chunks = cut(page((BEFORE, "text"), ("शुल्क दर:", "text"), (small, "table"), (AFTER, "text")))
    assert [(chunk.kind, chunk.text) for chunk in chunks] == [
        ("text", BEFORE),
        ("table", f"शुल्क दर:\n\n{small}"),
        ("text", AFTER),
    ]


def test_a_picture_is_a_chunk_of_its_own() -> None:
    chunks = cut(page((BEFORE, "text"), ("नगरपालिकाको छाप", "image"), (AFTER, "text")))
    assert [(chunk.kind, chunk.text) for chunk in chunks] == [
        ("text", BEFORE),
        ("image", "नगरपालिकाको छाप"),
        ("text", AFTER),
    ]


@pytest.mark.parametrize("kinds", [("text",), ("table",), ("image",), ("text", "image")])
def test_only_the_wanted_kinds_are_cut(kinds: tuple[Kind, ...]) -> None:
    pages = page((BEFORE, "text"), (TABLE, "table"), ("छाप", "image"), (AFTER, "text"))
    chunks = cut(pages, kinds=kinds)
    assert {chunk.kind for chunk in chunks} == set(kinds)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


def test_a_table_that_goes_on_over_a_page_keeps_its_header() -> None:
    first = page((BEFORE, "text"), ("\n".join([HEADER, "| --- | --- |", *ROWS[:2]]), "table"), origin="ocr")
    second = page((ROWS[2] + "\n| --- | --- |\n" + ROWS[3], "table"), (AFTER, "text"), number=2, origin="ocr")
    chunks = cut(first, second)
    (after,) = [chunk for chunk in chunks if ROWS[3] in chunk.text]
    assert after.header == HEADER


def test_another_table_on_the_next_page_has_its_own_header() -> None:
    other = "| नाम | पद | फोन |\n| --- | --- | --- |\n| सीता | सचिव | ९८ |"
    first = page(("\n".join([HEADER, "| --- | --- |", ROWS[0]]), "table"), origin="ocr")
    chunks = cut(first, page((other, "table"), number=2, origin="ocr"))
    assert [chunk.header for chunk in chunks] == ["", ""]


def test_a_header_that_fills_a_chunk_is_cut_between_cells() -> None:
    wide = "| " + " | ".join(f"लामो स्तम्भको नाम {n}" for n in range(10)) + " |"
    rows = ["| " + " | ".join(["मान"] * 10) + " |" for _ in range(12)]
    chunks = cut(page(("\n".join([wide, "|" + " --- |" * 10, *rows]), "table")))
    headers = {chunk.header for chunk in chunks[1:] if chunk.header}
    assert len(headers) == 1
    assert wide.startswith(headers.pop())


def test_without_regions_markdown_rows_tell_a_table() -> None:
    small = "\n".join([HEADER, "| --- | --- |", ROWS[0]])
    (chunk,) = cut(Page(1, small, "text_layer"))
    assert (chunk.kind, chunk.header) == ("table", "")
