"""Files appear whole or not at all, and a table knows whose rows it holds."""

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rag_platform import tables
from rag_platform.errors import DamagedFile, SchemaMismatch, StorageError
from rag_platform.storage import RawStore, TableStore, atomic, copy_file, storage_errors, write_json
from rag_platform.types import Document, Page, Region

NEPALI = "नेपालको संविधान"


def rows(*names: str) -> pa.Table:
    table = [
        {
            "document_id": name,
            "collection": "nepali_docs",
            "source": f"{name}.txt",
            "content_sha256": "0" * 64,
            "n_bytes": 1,
            "raw_path": "raw/00/" + "0" * 64,
            "metadata": "{}",
        }
        for name in names
    ]
    return pa.Table.from_pylist(table, schema=tables.RAW_DOCUMENTS)


def test_an_interrupted_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_json(path, {"क": 1})
    before = path.read_bytes()

    def interrupted() -> None:
        with atomic(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_write_below_a_file_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with (
        pytest.raises(StorageError, match="check that the path exists"),
        atomic(tmp_path / "f" / "g") as file,
    ):
        file.write(b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(StorageError, match="free some space"), storage_errors("write", Path("/dev/full")):
        Path("/dev/full").write_bytes(b"x")


def test_raw_copies_are_addressed_by_their_bytes(tmp_path: Path) -> None:
    store = RawStore(tmp_path / "raw")
    (tmp_path / "a.txt").write_text(NEPALI, encoding="utf-8")
    (tmp_path / "b.txt").write_text(NEPALI, encoding="utf-8")
    digest = store.put(tmp_path / "a.txt")
    assert digest == hashlib.sha256(NEPALI.encode()).hexdigest()
    assert store.put(tmp_path / "b.txt") == digest
    assert [p.relative_to(store.root).as_posix() for p in store.root.rglob("*") if p.is_file()] == [
        f"{digest[:2]}/{digest}"
    ]
    store.remove(digest)
    store.remove(digest)
    assert not store.path(digest).exists()


def test_a_missing_source_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot copy"):
        RawStore(tmp_path / "raw").put(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="cannot read"):
        copy_file(tmp_path / "nowhere", tmp_path / "x")


def test_a_table_keeps_the_other_documents_of_its_partition(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    write = store.write
    write("raw_documents", "p", tables.RAW_DOCUMENTS, {"a": ("1", rows("a")), "b": ("2", rows("b"))})
    write("raw_documents", "p", tables.RAW_DOCUMENTS, {"a": ("3", rows("a"))})
    assert store.fingerprints("raw_documents", "p") == {"a": "3", "b": "2"}
    found = store.read("raw_documents", "p")
    assert found is not None
    assert sorted(found["document_id"].to_pylist()) == ["a", "b"]
    write("raw_documents", "p", tables.RAW_DOCUMENTS, {"b": ("", None)})
    assert store.fingerprints("raw_documents", "p") == {"a": "3"}
    only = store.read("raw_documents", "p", ["b"])
    assert only is not None
    assert only.num_rows == 0


def test_a_document_without_rows_is_known_as_done(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    store.write("chunks", "p", tables.CHUNKS, {"a": ("1", tables.CHUNKS.empty_table())})
    assert store.fingerprints("chunks", "p") == {"a": "1"}
    assert store.fingerprints("chunks", "q") == {}
    assert store.read("chunks", "q") is None


def test_tables_are_plain_parquet_with_described_columns(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    path = store.write("raw_documents", "p", tables.RAW_DOCUMENTS, {"a": ("1", rows("a"))})
    assert path == tmp_path / "raw_documents" / "p.parquet"
    field = pq.read_schema(path).field("document_id")
    assert field.metadata[b"description"].startswith(b"uuid5")


def test_wrong_columns_and_holes_are_refused(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    with pytest.raises(SchemaMismatch, match="expected columns"):
        store.write("pages", "p", tables.PAGES, {"a": ("1", rows("a"))})
    holed = pa.Table.from_arrays(
        [pa.array([None], field.type) for field in tables.RAW_DOCUMENTS], schema=tables.RAW_DOCUMENTS
    )
    with pytest.raises(SchemaMismatch, match="nulls"):
        tables.check(holed, tables.RAW_DOCUMENTS)


def test_pages_survive_the_way_through_their_table() -> None:
    pages = (
        Page(1, NEPALI, "markup"),
        Page(2, "", "ocr", 0.0, "blank page"),
        Page(3, "भाग १", "ocr", 0.5, "स्क्यान", True, score=0.5, regions=(Region(0, 5, "heading", 1),)),
    )
    document = Document("ऐन.pdf", "0" * 64, "pdf", pages)
    table = tables.check(tables.pages_table(document, "{}"), tables.PAGES)
    assert tables.pages_from(table) == pages
    spans = list(zip(table["start"].to_pylist(), table["end"].to_pylist(), strict=True))
    assert [document.text[a:b] for a, b in spans] == [NEPALI, "", "भाग १"]


def test_writers_of_different_partitions_do_not_disturb_each_other(tmp_path: Path) -> None:
    store = TableStore(tmp_path)

    def write(partition: str) -> None:
        for version in range(20):
            store.write(
                "raw_documents", partition, tables.RAW_DOCUMENTS, {partition: (str(version), rows(partition))}
            )

    threads = [threading.Thread(target=write, args=[f"p{n}"]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: store.fingerprints("raw_documents", f"p{n}") for n in range(4)} == {
        n: {f"p{n}": "19"} for n in range(4)
    }


@pytest.mark.parametrize("damage", [lambda whole: b"garbage", lambda whole: whole[:-20], lambda whole: b""])
def test_a_damaged_table_is_named_and_replaced(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    store = TableStore(tmp_path)
    path = store.write("raw_documents", "क", tables.RAW_DOCUMENTS, {"a": ("1", rows("a"))})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DamagedFile, match=r"क\.parquet is damaged .* with --force"):
        store.read("raw_documents", "क")
    assert store.fingerprints("raw_documents", "क") == {}
    store.write("raw_documents", "क", tables.RAW_DOCUMENTS, {"a": ("2", rows("a"))})
    assert store.fingerprints("raw_documents", "क") == {"a": "2"}
    assert store.read("raw_documents", "क") == rows("a")


def test_a_table_damaged_inside_is_no_crash(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    path = store.write("raw_documents", "क", tables.RAW_DOCUMENTS, {"a": ("1", rows("a"))})
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396  # the footer is whole, the columns are not
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match="with --force"):
        store.read("raw_documents", "क")
