from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.chunking.chunkers import CHUNKERS, chunk_document, load_chunker
from rag_platform.chunking.tokenizers import load_tokenizer
from rag_platform.errors import UnknownName
from rag_platform.types import Chunk, Document, Page

GRAPHEMES = load_tokenizer("graphemes")


def document(*texts: str, sha256: str = "ab" * 32, first_no: int = 1) -> Document:
    pages = tuple(Page(first_no + i, text, "markup") for i, text in enumerate(texts))
    return Document("सूचना/बजेट.txt", sha256, "txt", pages, collection="palika")


def chunks_of(doc: Document, size: int = 20, ratio: float = 0.0) -> list[Chunk]:
    chunker = load_chunker("recursive", tokenizer=GRAPHEMES, size=size, overlap_ratio=ratio)
    return chunk_document(doc, chunker, GRAPHEMES)


def test_every_field_of_a_short_document() -> None:
    doc = document("नेपालको राजधानी काठमाडौं हो।")
    [chunk] = chunks_of(doc, 256)
    UUID(chunk.chunk_id)
    assert chunk == Chunk(
        chunk_id=chunk.chunk_id,
        document_id=doc.document_id,
        collection="palika",
        source="सूचना/बजेट.txt",
        content_sha256="ab" * 32,
        ordinal=0,
        text="नेपालको राजधानी काठमाडौं हो।",
        start=0,
        end=28,
        page_first=1,
        page_last=1,
        # ने पा ल को | रा ज धा नी | का ठ मा डौं | हो ।
        token_count=14,
        overlap=0,
        kind="text",
        language="ne",
    )


def test_pages_are_found_by_position_where_pages_repeat() -> None:
    form = "नाम: ......"
    chunks = chunks_of(document(form, form, "", form), size=9)
    assert [(c.text, c.page_first, c.page_last) for c in chunks] == [(form, 1, 1), (form, 2, 2), (form, 4, 4)]


def test_a_chunk_may_cross_pages_and_names_both() -> None:
    chunks = chunks_of(document("कखगघ", " ", "ङचछज", "झञटठ", first_no=3), size=8)
    assert [(c.text, c.page_first, c.page_last) for c in chunks] == [
        ("कखगघ\n\n \n\nङचछज", 3, 5),
        ("झञटठ", 6, 6),
    ]


def test_overlap_is_what_is_really_shared() -> None:
    chunks = chunks_of(document("कखग। घङच। छजझ। टठड। ढणत।"), size=12, ratio=0.4)
    assert [chunk.text for chunk in chunks] == ["कखग। घङच। छजझ।", "छजझ। टठड। ढणत।"]
    assert [chunk.overlap for chunk in chunks] == [0, len("छजझ।")]
    assert [chunk.overlap for chunk in chunks_of(document("कखग। घङच। छजझ।"), size=8)] == [0, 0]


def test_a_chunk_of_rows_is_a_table_and_prose_with_pipes_is_not() -> None:
    table = "| शीर्षक | रकम |\n|---|---|\n| शिक्षा | ५० लाख |\n| सडक | ८० लाख |"
    kinds = [
        chunks_of(document(text), 256)[0].kind
        for text in (
            table,
            "तालिका १\n" + table,
            "क | ख हो।",
            table + "\n\n" + "यो बजेट सभाले पारित गर्‍यो। " * 5,
        )
    ]
    assert kinds == ["table", "table", "text", "text"]


def test_languages_are_told_chunk_by_chunk() -> None:
    chunks = chunks_of(document("बजेट पारित भयो।", "The budget was passed.", "budget kahile aaucha?"), size=21)
    assert [chunk.language for chunk in chunks] == ["ne", "en", "romanized"]


def test_a_document_without_text_has_no_chunks() -> None:
    assert chunks_of(document("", " \n ", "\t")) == []
    assert chunks_of(document()) == []


@given(st.lists(st.text("कखर्‍ािे। \n|aB१", max_size=60), max_size=6), st.integers(4, 25))
def test_chunks_slice_back_with_unique_and_stable_ids(texts: list[str], size: int) -> None:
    doc = document(*texts)
    chunks = chunks_of(doc, size, 0.25)
    assert chunks == chunks_of(document(*texts), size, 0.25)
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    for ordinal, chunk in enumerate(chunks):
        assert chunk.ordinal == ordinal
        assert doc.text[chunk.start : chunk.end] == chunk.text
        assert chunk.token_count == GRAPHEMES.count(chunk.text) <= size
        spans = {page.page_no: span for page, span in zip(doc.pages, doc.page_spans, strict=True)}
        touched = [
            no for no, span in spans.items() if max(span.start, chunk.start) < min(span.end, chunk.end)
        ]
        assert (chunk.page_first, chunk.page_last) == (touched[0], touched[-1])


def test_ids_change_with_the_bytes_and_the_recipe() -> None:
    ids = {
        chunks_of(document("क ख ग", sha256=sha256), size)[0].chunk_id
        for sha256 in ("aa" * 32, "bb" * 32)
        for size in (8, 9)
    }
    assert len(ids) == 4


def test_the_recipe_names_everything_that_decides_the_cuts() -> None:
    chunker = load_chunker("recursive", tokenizer=load_tokenizer("xlm-r"))
    assert chunker.recipe == "recursive-1|size=256|overlap=0.15|xlm-r-1"
    recipes = {load_chunker(name, tokenizer=GRAPHEMES).recipe for name in CHUNKERS}
    assert len(recipes) == len(CHUNKERS) == 3


def test_an_unknown_chunker_names_the_nearest() -> None:
    assert "recursive" in CHUNKERS
    with pytest.raises(UnknownName, match="Did you mean 'recursive'"):
        load_chunker("recursiv", tokenizer=GRAPHEMES)
