"""A page that was lost on the way is found, wherever it went; nothing is found where none was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from parsing.files import layer_pdf
from support import drop, ingest

from rag_platform.audit.completeness import Completeness, completeness
from rag_platform.parsing.parse import READERS
from rag_platform.parsing.reading import ParsedFile, ParseOptions
from rag_platform.parsing.records import read_records
from rag_platform.system import System

RECORDS = "\n".join(
    json.dumps({"text": text}, ensure_ascii=False)
    for text in ("वडा नं १ को सूचना", "वडा नं २ को सूचना", "वडा नं ३ को सूचना")
)


@pytest.fixture
def system(make_system: Callable[..., System]) -> System:
    return make_system()


def found(system: System) -> dict[str, Completeness]:
    return {one.source: one for one in completeness(system, system.catalog.entries())}


def test_whole_documents_have_lost_nothing(system: System) -> None:
    drop(system, {"क.jsonl": RECORDS, "सूचना.txt": "वडा कार्यालय बन्द रहनेछ।", "खाली.txt": ""})
    line = "वडा कार्यालय शनिबार बन्द रहने सूचना प्रकाशित गरिएको छ"
    system.inbox.path("nepali_docs", "ऐन.pdf").write_bytes(layer_pdf([[(50, 700, line)]] * 2))
    ingest(system)
    assert {s: (c.expected, c.recorded, c.extracted, c.lost) for s, c in found(system).items()} == {
        "क.jsonl": (3, 3, 3, ()),
        "सूचना.txt": (None, 1, 1, ()),
        "ऐन.pdf": (2, 2, 2, ()),
    }


def test_a_reader_that_lost_a_page_is_found(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(path: Path, options: ParseOptions) -> ParsedFile:
        whole = read_records(path, options)
        return replace(whole, pages=whole.pages[:-1])

    monkeypatch.setitem(READERS, "jsonl", forgetful)
    drop(system, {"क.jsonl": RECORDS})
    ingest(system)
    one = found(system)["क.jsonl"]
    assert (one.expected, one.recorded, one.extracted, one.lost) == (3, 2, 2, (3,))


def test_rows_that_vanished_are_found_by_their_numbers(system: System) -> None:
    drop(system, {"क.jsonl": RECORDS, "ख.jsonl": RECORDS})
    ingest(system)
    entries = {entry.source: entry for entry in system.catalog.entries()}
    path = system.tables.path("pages", entries["क.jsonl"].partition)
    rows = pq.read_table(path)
    pq.write_table(rows.filter([number != 2 for number in rows["page_no"].to_pylist()]), path)
    system.tables.path("pages", entries["ख.jsonl"].partition).unlink()
    assert {source: one.lost for source, one in found(system).items()} == {
        "क.jsonl": (2,),
        "ख.jsonl": (1, 2, 3),
    }


def test_a_container_that_is_gone_is_not_taken_for_complete(system: System) -> None:
    drop(system, {"क.jsonl": RECORDS})
    ingest(system)
    (entry,) = system.catalog.entries()
    system.raw.path(entry.content_sha256).unlink()
    one = found(system)["क.jsonl"]
    assert (one.expected, one.lost) == (None, ())
    assert "--force" in one.uncounted
