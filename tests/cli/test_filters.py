"""Metadata at ingest and filters at search, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_platform.cli.app import main

Rag = Callable[..., tuple[str, str]]


@pytest.fixture
def rag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Rag:
    """Return the command line in this process: it gives stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing")

    def run(*arguments: str, expect: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = capfd.readouterr()
        assert end.value.code == expect, err
        return out, err

    return run


def test_what_is_said_of_files_is_found_by_filters(rag: Rag, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "सूचना.txt").write_text("विद्यालयको सूचना", encoding="utf-8")
    (files / "खोप.txt").write_text("खोपको सूचना", encoding="utf-8")
    (files / "_metadata.toml").write_text('ministry = "शिक्षा मन्त्रालय"\n', encoding="utf-8")
    (files / "खोप.txt.meta.toml").write_text("publisher = \n", encoding="utf-8")
    _, err = rag("ingest", "files", "--meta", "publishr=क", expect=1)
    assert "unknown field 'publishr'. Did you mean 'publisher'?" in err
    said = ("--meta", "publisher=सुनकोशी", "--meta", "published=2081-04-15")
    out, _ = rag("ingest", "files", *said, "--format", "json", expect=1)
    documents = {row["source"]: row for row in json.loads(out)["documents"]}
    assert documents["सूचना.txt"]["status"] == "ok"
    assert "खोप.txt.meta.toml, line 1" in documents["खोप.txt"]["error"]

    where = ("--where", "published=2024-07-30", "--where", "ministry=शिक्षा", "--format", "json")
    out, err = rag("search", "सूचना", *where)
    (hit,) = json.loads(out)["hits"]
    assert hit["fields"] == {
        "ministry": ["शिक्षा मन्त्रालय", "शिक्षा"],
        "published": [20240730],
        "publisher": ["सुनकोशी"],
        "year": [2081],
    }
    assert "where published = 2024-07-30 (BS 2081-04-15)" in err
    out, _ = rag("search", "सूचना", "--where", "year<2081", "--format", "json")
    assert json.loads(out) == {"hits": []}
    _, err = rag("search", "सूचना", "--where", "yaer=2081", expect=1)
    assert "unknown filter field 'yaer'. Did you mean 'year'?" in err
