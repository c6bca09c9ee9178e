"""``rag audit`` as people and programs run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import drop, ingest
from typer.testing import CliRunner, Result

from rag_platform.cli import app
from rag_platform.errors import NotPublished
from rag_platform.system import System

ROOT = Path(__file__).parents[2]
NOTICE = "सुनकोशी नगरपालिकाको सूचना। सम्पत्ति कर असार मसान्तभित्र तिर्नुहोला।"
FOREIGN = "नेपाल सरकारले रावɈष्टिय योजना आयोग गठन गरेको छ।"
HOSTILE = "<b onclick=x>.txt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "सूचना.txt").write_text(NOTICE, encoding="utf-8")
    (docs / "सूचना.md").write_text(f"# {NOTICE}", encoding="utf-8")
    (docs / HOSTILE).write_text("वडा कार्यालय बिहीबार बन्द रहनेछ।", encoding="utf-8")
    (docs / "खाली.pdf").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


def rag(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["audit", *arguments])


def test_a_folder_as_a_table_and_nothing_is_stored(folder: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    done = subprocess.run(
        [sys.executable, "-m", "rag_platform.cli", "audit", "docs"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    assert "docs/सूचना.txt" in done.stdout
    assert "is empty (0 bytes)" in done.stdout
    assert "the text of docs/सूचना.md" in done.stdout
    assert "4 files, 3 pages" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["docs"]


def test_json_holds_every_page_and_html_no_markup_of_a_name(folder: Path) -> None:
    answer = json.loads(rag("docs", "--format", "json", "--html", "report.html").stdout)
    assert set(answer) == {"summary", "files", "duplicates"}
    files = {Path(file["source"]).name: file for file in answer["files"]}
    assert files["सूचना.md"]["pages"] == [
        {
            "page_no": 1,
            "label": "page",
            "route": "markup",
            "reason": "",
            "score": 1.0,
            "suspect": False,
            "n_characters": len(f"# {NOTICE}"),
        }
    ]
    assert answer["duplicates"] == [{"kind": "text", "sources": ["docs/सूचना.md", "docs/सूचना.txt"]}]
    assert (answer["summary"]["files"], answer["summary"]["refused"]) == (4, 1)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<b onclick" not in page
    assert "&lt;b onclick=x&gt;.txt" in page


def test_strict_fails_on_a_refused_file_only(folder: Path) -> None:
    assert rag("docs").exit_code == 0
    assert rag("docs", "--strict").exit_code == 1
    assert rag("docs/सूचना.txt", "--strict").exit_code == 0


def test_one_of_files_and_collection_is_wanted(folder: Path) -> None:
    for arguments in ([], ["docs", "--collection", "kanun"]):
        refused = rag(*arguments)
        assert (refused.exit_code, "one of both" in refused.output) == (2, True)
    assert isinstance(rag("--collection", "kanun").exception, NotPublished)


def test_a_published_collection(
    folder: Path, make_system: Callable[..., System], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make_system()
    drop(system, {"सूचना.txt": NOTICE, "सूचना.md": NOTICE, "विदेशी.txt": FOREIGN})
    ingest(system)
    monkeypatch.setenv("RAG_HOME", str(system.home))
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing")
    answer = json.loads(rag("--collection", "nepali_docs", "--format", "json").stdout)
    assert (answer["points"], answer["documents"]) == (3, 3)
    (foreign,) = [finding for finding in answer["findings"] if finding["kind"] == "foreign"]
    assert (foreign["source"], foreign["text"]) == ("विदेशी.txt", FOREIGN)
    assert answer["counts"]["duplicate"] == 1
    shown = rag("--collection", "nepali_docs")
    assert "1 words with foreign letters: रावɈष्टिय" in shown.stdout
    assert "3 chunks of 3 documents: 1 foreign, 1 duplicate" in shown.stderr
