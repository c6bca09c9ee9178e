"""Arrow schemas of the tables between stages, and the way from values to rows and back.

One Parquet file a table and partition (``storage.TableStore``); its metadata carry the fingerprint of
each document in it. Reading and writing files does not happen here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from typing import Any

import pyarrow as pa

from rag_platform.errors import SchemaMismatch
from rag_platform.types import Chunk, Document, Fields, Page, Region

__all__ = [
    "CHUNKS",
    "PAGES",
    "RAW_DOCUMENTS",
    "TABLES",
    "check",
    "chunks_from",
    "chunks_table",
    "embeddings",
    "pages_from",
    "pages_table",
]


def _field(name: str, kind: pa.DataType, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"description": description})


_STR, _INT = pa.string(), pa.int32()

_IDENTITY = [
    _field("document_id", _STR, "uuid5 of collection and source; survives edits"),
    _field("collection", _STR, "named corpus"),
    _field("source", _STR, "path below the collection's inbox, NFC"),
    _field("content_sha256", _STR, "hex digest of the raw bytes: the version"),
]

RAW_DOCUMENTS = pa.schema(
    [
        *_IDENTITY,
        _field("n_bytes", pa.int64(), "size of the file"),
        _field("raw_path", _STR, "content-addressed copy below RAG_HOME"),
        _field("metadata", _STR, "JSON object: what sidecars and folder defaults say of it"),
    ]
)

PAGES = pa.schema(
    [
        *_IDENTITY,
        _field("format", _STR, "format by content: pdf, docx, ..."),
        _field("page_no", _INT, "page, slide, chapter or section, from 1"),
        _field("label", _STR, "page, slide, chapter or section"),
        _field("text", pa.large_string(), "NFC text as the source has it"),
        _field("start", pa.int64(), "first code point of the page in the document's text"),
        _field("end", pa.int64(), "one past its last code point"),
        _field("origin", _STR, "text_layer, font_map, legacy_font, ocr or markup"),
        _field("confidence", pa.float32(), "0 to 1: how sure the route is"),
        _field("score", pa.float32(), "0 to 1: how well the text reads, by its words"),
        _field("reason", _STR, "why this route was taken"),
        _field("suspect", pa.bool_(), "the text is probably wrong"),
        _field(
            "regions",
            _STR,
            "JSON list of [start, end, kind, level]: heading, table, image",
        ),
        _field("metadata", _STR, "JSON object: what the file says about itself"),
    ]
)

CHUNKS = pa.schema(
    [
        _field("chunk_id", _STR, "uuid5 of document, version, recipe and span; the Qdrant point id"),
        *_IDENTITY,
        _field("ordinal", _INT, "position in the document, from 0"),
        _field("text", pa.large_string(), "exactly document text[start:end]"),
        _field("start", pa.int64(), "first code point"),
        _field("end", pa.int64(), "one past the last code point"),
        _field("page_first", _INT, "first page touched"),
        _field("page_last", _INT, "last page touched"),
        _field("token_count", _INT, "XLM-R tokens of the text, without prefix and special tokens"),
        _field("overlap", _INT, "code points shared with the chunk before"),
        _field("kind", _STR, "text, table or image"),
        _field("language", _STR, "ne, en, hi, mr, bn, te, mixed, romanized or unknown"),
        _field("path", _STR, "headings and legal divisions above its start, joined by ' > '"),
        _field("header", _STR, "header row of the table inside which it starts, searched with the text"),
        _field("fields", _STR, "JSON object: name -> list of words or whole numbers, for filters"),
    ]
)


def embeddings(dim: int) -> pa.Schema:
    """Return the schema of an embeddings table of vectors with ``dim`` values."""
    return pa.schema(
        [
            _field("chunk_id", _STR, "the chunk this vector stands for"),
            _field("document_id", _STR, "its document"),
            _field(
                "vector",
                pa.list_(pa.field("item", pa.float32(), nullable=False), dim),
                "L2-normalised",
            ),
        ]
    )


_PAGE_FIELDS = tuple(field.name for field in fields(Page) if field.name != "regions")

TABLES = {"raw_documents": RAW_DOCUMENTS, "pages": PAGES, "chunks": CHUNKS}


def check(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return ``table`` when its columns are exactly those of ``schema``.

    Raises:
        SchemaMismatch: A column is missing, unknown, of another type, or holds nulls.
    """
    if not table.schema.equals(schema, check_metadata=False):
        raise SchemaMismatch(
            f"expected columns {schema.names} with their types, found {table.schema.to_string()}"
        )
    holes = [name for name in schema.names if table.column(name).null_count]
    if holes:
        raise SchemaMismatch(f"columns {holes} hold nulls; every column of a table is required")
    return table


def pages_table(document: Document, metadata: str) -> pa.Table:
    """Return the pages of one document; ``metadata`` is its JSON."""
    identity = {name: getattr(document, name) for name in PAGES.names[:5]}
    rows = [
        {
            **identity,
            **{name: getattr(page, name) for name in _PAGE_FIELDS},
            "start": span.start,
            "end": span.end,
            "regions": json.dumps([astuple(region) for region in page.regions]),
            "metadata": metadata,
        }
        for page, span in zip(document.pages, document.page_spans, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=PAGES)


def pages_from(table: pa.Table) -> tuple[Page, ...]:
    """Return the pages of a table of one document, by page number."""
    rows = _selected(table, [*_PAGE_FIELDS, "regions"]).to_pylist()
    return tuple(
        Page(**{**row, "regions": tuple(Region(*values) for values in json.loads(row["regions"]))})
        for row in sorted(rows, key=lambda row: row["page_no"])
    )


def chunks_table(chunks: Sequence[Chunk]) -> pa.Table:
    """Return chunks as rows."""
    rows = [{**asdict(chunk), "fields": json.dumps(chunk.fields, ensure_ascii=False)} for chunk in chunks]
    return pa.Table.from_pylist(rows, schema=CHUNKS)


def chunks_from(table: pa.Table) -> list[Chunk]:
    """Return the rows of a chunks table as values, in table order."""
    rows: list[dict[str, Any]] = _selected(table, CHUNKS.names).to_pylist()
    return [Chunk(**{**row, "fields": _fields(json.loads(row["fields"]))}) for row in rows]


def _fields(stored: dict[str, list[str | int]]) -> Fields:
    return {name: tuple(values) for name, values in stored.items()}


def _selected(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return these columns; a file of another version of this program may lack some."""
    if missing := sorted(set(names) - set(table.column_names)):
        raise SchemaMismatch(
            f"this table was written by another version, it lacks the columns {missing}; "
            "make all tables again: ingest the whole inbox, RAG_HOME/inbox"
        )
    return table.select(names)
