"""The documented tables are the real ones."""

from pathlib import Path

import pyarrow as pa
import pytest

from rag_platform import tables
from rag_platform.errors import SchemaMismatch

DOC = Path(__file__).parents[1] / "docs" / "tables.md"
SCHEMAS = {**tables.TABLES, "embeddings": tables.embeddings(384)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_column_is_documented_with_its_type(name: str) -> None:
    section = DOC.read_text(encoding="utf-8").split(f"## {name}\n")[1].split("\n## ")[0]
    documented = [line for line in section.splitlines() if line.startswith("| `")]
    assert documented == [row(field) for field in SCHEMAS[name]]


def row(field: pa.Field) -> str:
    kind = str(field.type).replace(" not null", "").replace("[384]", "[dim]")
    return f"| `{field.name}` | {kind} | {field.metadata[b'description'].decode()} |"


def test_no_column_may_be_null() -> None:
    assert not any(field.nullable for schema in SCHEMAS.values() for field in schema)


def test_a_table_of_another_version_is_named_and_no_crash() -> None:
    old = tables.CHUNKS.empty_table().drop_columns(["kind"])
    with pytest.raises(SchemaMismatch, match=r"another version, it lacks the columns \['kind'\].*ingest"):
        tables.chunks_from(old)
    with pytest.raises(SchemaMismatch, match="regions"):
        tables.pages_from(tables.PAGES.empty_table().drop_columns(["regions"]))
