"""Looks, claims and tombstones on real folders and a real SQLite file."""

import os
import sqlite3
import unicodedata
from pathlib import Path

import pytest

from rag_platform.catalog import Catalog
from rag_platform.entries import StageRecord, partition_key
from rag_platform.errors import CallerError, StorageError, UnknownName
from rag_platform.inbox import Inbox
from rag_platform.types import Failure, document_id

NOW = 1_900_000_000.0


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "catalog.sqlite", default_collection="nepali_docs")


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return Inbox(folder, root_collection="nepali_docs")


def drop(inbox: Inbox, name: str, text: str, mtime: float = NOW - 100) -> Path:
    path = inbox.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (mtime, mtime))
    return path


def look(catalog: Catalog, inbox: Inbox, now: float = NOW, quiet_s: float = 5.0, **kwargs):
    return catalog.observe(inbox.scan(catalog.collections()), now=now, quiet_s=quiet_s, **kwargs)


def claim(catalog: Catalog, owner: str = "a", alive: bool = True, **kwargs) -> list[str]:
    return [entry.source for entry in catalog.claim(owner, alive=lambda _: alive, **kwargs)]


def test_a_file_is_due_after_two_equal_looks(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "सूचना.txt", "करको सूचना")
    assert look(catalog, inbox).n_new == 1
    assert claim(catalog) == []
    assert look(catalog, inbox, NOW + 5).n_waiting == 1
    assert claim(catalog) == ["सूचना.txt"]
    assert claim(catalog, "b") == []


def test_a_file_that_still_grows_is_not_due(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "ऐन.pdf", "क")
    look(catalog, inbox)
    drop(inbox, "ऐन.pdf", "कख")
    assert look(catalog, inbox, NOW + 5).n_changed == 1
    assert claim(catalog) == []
    drop(inbox, "ऐन.pdf", "कख", mtime=NOW + 9)
    look(catalog, inbox, NOW + 10)
    look(catalog, inbox, NOW + 11)
    assert claim(catalog) == [], "equal twice, but quiet for two seconds only"
    look(catalog, inbox, NOW + 15)
    assert claim(catalog) == ["ऐन.pdf"]


def test_a_file_the_caller_vouches_for_is_due_at_once(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "a.txt", "क", mtime=NOW)
    drop(inbox, "b.txt", "ख", mtime=NOW)
    look(catalog, inbox, complete={("nepali_docs", "a.txt")})
    assert claim(catalog) == ["a.txt"]


def test_a_changed_file_is_due_again_and_an_unchanged_one_is_not(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "a.txt", "क")
    drop(inbox, "b.txt", "ख")
    look(catalog, inbox, quiet_s=0)
    look(catalog, inbox, quiet_s=0)
    assert claim(catalog) == ["a.txt", "b.txt"]
    catalog.finish("a")
    drop(inbox, "b.txt", "खग")
    look(catalog, inbox, quiet_s=0)
    look(catalog, inbox, quiet_s=0)
    assert claim(catalog) == ["b.txt"]


def test_claims_of_a_dead_owner_are_taken_over_and_released_ones_are_due(
    catalog: Catalog, inbox: Inbox
) -> None:
    drop(inbox, "a.txt", "क")
    look(catalog, inbox, quiet_s=0)
    look(catalog, inbox, quiet_s=0)
    assert claim(catalog, "first") == ["a.txt"]
    assert claim(catalog, "second", alive=True) == []
    assert claim(catalog, "third", alive=False) == ["a.txt"]
    catalog.release("third")
    assert claim(catalog, "fourth") == ["a.txt"]
    catalog.finish("fourth")
    assert claim(catalog, "fifth") == []


def test_a_vanished_file_becomes_a_tombstone_and_can_come_back(catalog: Catalog, inbox: Inbox) -> None:
    path = drop(inbox, "a.txt", "क")
    look(catalog, inbox, quiet_s=0)
    path.unlink()
    (gone,) = look(catalog, inbox).vanished
    assert gone.source == "a.txt"
    assert catalog.entries() == []
    assert [entry.status for entry in catalog.entries(deleted=True)] == ["deleted"]
    drop(inbox, "a.txt", "क")
    look(catalog, inbox, quiet_s=0)
    look(catalog, inbox, quiet_s=0)
    assert claim(catalog) == ["a.txt"]


def test_a_missing_inbox_is_a_fault_not_a_mass_deletion(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "a.txt", "क")
    look(catalog, inbox)
    inbox.root.rename(inbox.root.with_name("away"))
    with pytest.raises(StorageError, match="is missing"):
        look(catalog, inbox)
    assert [entry.source for entry in catalog.entries()] == ["a.txt"]


def test_adding_to_a_missing_inbox_is_refused_not_a_deletion_of_the_rest(
    inbox: Inbox, tmp_path: Path
) -> None:
    (tmp_path / "सूचना.txt").write_text("करको सूचना")
    inbox.root.rmdir()
    with pytest.raises(StorageError, match="mount it again"):
        inbox.add([tmp_path / "सूचना.txt"], "nepali_docs")
    assert not inbox.root.exists()


def test_a_name_that_is_no_utf8_is_ingested_under_an_escaped_one(
    catalog: Catalog, inbox: Inbox, tmp_path: Path
) -> None:
    """Names from old ZIP archives: one of them must not stop the whole inbox."""
    name = os.fsdecode(b"\xff\xfe\xe0.txt")
    try:
        drop(inbox, name, "सूचना")
    except OSError:
        pytest.skip("this file system holds UTF-8 names only")
    look(catalog, inbox)
    look(catalog, inbox, NOW + 5)
    (claimed,) = catalog.claim("me", alive=lambda owner: True)
    assert claimed.source == r"\xff\xfe\xe0.txt"
    assert inbox.path(claimed.collection, claimed.source).read_text() == "सूचना"
    outside = tmp_path / "elsewhere" / name
    outside.parent.mkdir()
    outside.write_text("अर्को")
    assert inbox.add([outside], claimed.collection) == [claimed.source]
    assert inbox.path(claimed.collection, claimed.source).read_text() == "अर्को"
    assert len(inbox.scan(catalog.collections()).files) == 1


def test_nfc_and_nfd_names_are_one_document(catalog: Catalog, inbox: Inbox) -> None:
    composed = unicodedata.normalize("NFC", "résumé.txt")
    drop(inbox, unicodedata.normalize("NFD", composed), "क")
    look(catalog, inbox)
    assert [entry.source for entry in catalog.entries()] == [composed]
    assert inbox.path("nepali_docs", composed).exists()


@pytest.mark.parametrize(
    "name", [".DS_Store", "~$ऐन.docx", "ऐन.pdf.part", "x.crdownload", "Thumbs.db", "a.txt~"]
)
def test_temporary_names_are_never_listed(catalog: Catalog, inbox: Inbox, name: str) -> None:
    drop(inbox, name, "क")
    assert inbox.scan(catalog.collections()).files == ()


def test_links_are_not_followed(catalog: Catalog, inbox: Inbox, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("गोप्य", encoding="utf-8")
    (inbox.root / "link.txt").symlink_to(tmp_path / "secret.txt")
    assert inbox.scan(catalog.collections()).files == ()


def test_a_sub_folder_belongs_to_a_collection_only_when_that_exists(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "courts/फैसला.txt", "क")
    files = inbox.scan(catalog.collections()).files
    assert [(f.collection, f.source) for f in files] == [("nepali_docs", "courts/फैसला.txt")]
    catalog.create_collection("courts")
    files = inbox.scan(catalog.collections()).files
    assert [(f.collection, f.source) for f in files] == [("courts", "फैसला.txt")]


@pytest.mark.parametrize("source", ["courts/फैसला.txt", "courts"])
def test_a_collection_may_not_take_over_documents_of_the_root(
    catalog: Catalog, inbox: Inbox, source: str
) -> None:
    drop(inbox, source, "क")
    drop(inbox, "courtship/पत्र.txt", "क")
    look(catalog, inbox)
    with pytest.raises(CallerError, match="already holds 'courts' as part of 'nepali_docs'"):
        catalog.create_collection("courts")
    catalog.create_collection("court")


@pytest.mark.parametrize("name", ["", "..", "a/b", "Courts", "a" * 64, "नेपाल"])
def test_collection_names_are_safe_as_folders_and_aliases(catalog: Catalog, name: str) -> None:
    with pytest.raises(CallerError, match="no collection name"):
        catalog.create_collection(name)


def test_the_root_stays_with_its_first_collection(tmp_path: Path) -> None:
    Catalog(tmp_path / "c.sqlite", default_collection="nepali_docs")
    again = Catalog(tmp_path / "c.sqlite", default_collection="other")
    assert again.collections() == ["nepali_docs"]


def test_status_tells_the_first_failure(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "a.doc", "क")
    look(catalog, inbox)
    key = document_id("nepali_docs", "a.doc")
    assert catalog.entry("nepali_docs", "a.doc").status == "pending"
    failure = Failure("pages", "unsupported_format", "legacy .doc")
    catalog.record("pages", {key: StageRecord("f", 0, {}, failure)})
    entry = catalog.entry("nepali_docs", "a.doc")
    assert (entry.status, entry.failure) == ("unsupported", failure)
    catalog.record("pages", {key: StageRecord("f", 2, {"format": "docx"})})
    catalog.record("chunks", {key: StageRecord("g", 0)})
    assert catalog.entry("nepali_docs", "a.doc").status == "empty"
    catalog.record("chunks", {key: StageRecord("g", 3)})
    entry = catalog.entry("nepali_docs", "a.doc")
    assert (entry.status, entry.n_pages, entry.n_chunks, entry.format) == ("ok", 2, 3, "docx")


def test_an_unknown_document_names_the_nearest(catalog: Catalog, inbox: Inbox) -> None:
    drop(inbox, "budget.txt", "क")
    look(catalog, inbox)
    with pytest.raises(UnknownName, match=r"Did you mean 'budget\.txt'"):
        catalog.entry("nepali_docs", "bugdet.txt")


def test_partition_keys_are_safe_readable_and_distinct() -> None:
    names = [
        "../../etc/x",
        "a|b.txt",
        "a...b",
        "क\nख",
        "नेपाल" * 60 + ".pdf",
        "a/x.txt",
        "b/x.txt",
        "x[1],2.pdf",
    ]
    keys = [partition_key("nepali_docs", name) for name in names]
    assert len(set(keys)) == len(keys)
    assert all(len(key.encode()) <= 80 and not set(key) & set("/|,[]\n.") for key in keys)
    assert partition_key("nepali_docs", "a.txt") != partition_key("courts", "a.txt")


def test_two_processes_may_open_it_at_once(catalog: Catalog) -> None:
    other = sqlite3.connect(catalog.path)
    other.execute("SELECT count(*) FROM documents").fetchone()
    catalog.create_collection("courts")
    assert other.execute("SELECT count(*) FROM collections").fetchone() == (2,)
    other.close()


def test_a_path_out_of_the_inbox_is_refused(inbox: Inbox) -> None:
    for source in ("../x.txt", "/etc/passwd", "a/../../x"):
        with pytest.raises(StorageError, match="not a path below the inbox"):
            inbox.path("nepali_docs", source)


def test_add_keeps_paths_from_the_common_parent(inbox: Inbox, tmp_path: Path) -> None:
    outside = tmp_path / "from"
    (outside / "b").mkdir(parents=True)
    (outside / "x.txt").write_text("क", encoding="utf-8")
    (outside / "b" / "y.txt").write_text("ख", encoding="utf-8")
    (outside / "b" / ".hidden").write_text("ग", encoding="utf-8")
    assert inbox.add([outside / "x.txt", outside / "b"], "nepali_docs") == ["x.txt", "b/y.txt"]
    assert inbox.add([outside], "nepali_docs") == ["b/y.txt", "x.txt"]
    assert inbox.add([outside / "b" / "y.txt"], "nepali_docs") == ["y.txt"]
    assert (inbox.root / "b" / "y.txt").read_text(encoding="utf-8") == "ख"


def test_add_does_not_touch_a_file_that_is_already_there(inbox: Inbox, tmp_path: Path) -> None:
    source = tmp_path / "x.txt"
    source.write_text("क", encoding="utf-8")
    inbox.add([source], "nepali_docs")
    before = (inbox.root / "x.txt").stat().st_mtime_ns
    assert inbox.add([source], "nepali_docs") == ["x.txt"]
    assert inbox.add([inbox.root / "x.txt"], "nepali_docs") == ["x.txt"]
    assert (inbox.root / "x.txt").stat().st_mtime_ns == before


def test_adding_a_missing_path_names_it(inbox: Inbox, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"nowhere\.txt does not exist"):
        inbox.add([tmp_path / "nowhere.txt"], "nepali_docs")


def test_what_cannot_be_read_is_refused_alone(inbox: Inbox, tmp_path: Path) -> None:
    outside = tmp_path / "from"
    outside.mkdir()
    (outside / "a.txt").write_text("क", encoding="utf-8")
    (outside / "b.txt").write_text("ख", encoding="utf-8")
    (inbox.root / "a.txt").mkdir()  # nothing can be written there, not even by root
    refused: dict[str, StorageError] = {}
    assert inbox.add([outside], "nepali_docs", refused=refused) == ["b.txt"]
    assert list(refused) == ["a.txt"]
    with pytest.raises(StorageError, match=r"a\.txt"):
        inbox.add([outside], "nepali_docs")


def test_documents_are_read_in_parts_while_they_come_and_go(catalog: Catalog, inbox: Inbox) -> None:
    catalog.create_collection("laws")
    for name in ("क.txt", "ख.txt", "घ.txt", "ङ.txt", "laws/अ.txt", "laws/आ.txt"):
        drop(inbox, name, name)
    look(catalog, inbox)
    catalog.record("pages", {document_id("nepali_docs", "ख.txt"): StageRecord("f", 3, {})})
    found = catalog.page(limit=3)
    drop(inbox, "क१.txt", "नयाँ, अगाडि")
    drop(inbox, "ग.txt", "नयाँ, पछाडि")
    (inbox.root / "ङ.txt").unlink()
    look(catalog, inbox)
    assert [(one.collection, one.source) for one in found] == [
        ("laws", "अ.txt"),
        ("laws", "आ.txt"),
        ("nepali_docs", "क.txt"),
    ]
    while part := catalog.page(after=(found[-1].collection, found[-1].source), limit=2):
        found += part
    assert [one.source for one in found[3:]] == ["क१.txt", "ख.txt", "ग.txt", "घ.txt"]
    assert found[4].stages["pages"].n_rows == 3
    assert [one.source for one in catalog.page(["laws"], limit=1)] == ["अ.txt"]
    assert [one.source for one in catalog.page(["nepali_docs"], deleted=True)][-1] == "ङ.txt"
    assert catalog.page([]) == []
