"""Locked PDFs on the command line: the password opens them, is kept nowhere and shown nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pymupdf
import pytest

from rag_platform.plan import plan
from rag_platform.settings import Settings
from rag_platform.system import System

PASSWORD = "गोप्य,शब्द-७"
SENTENCE = "The ward office is closed on Saturday and on public holidays."


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), SENTENCE)
    path = tmp_path / "files" / "बन्द.pdf"
    path.parent.mkdir()
    document.save(str(path), encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=PASSWORD, owner_pw="owner")
    return path


def rag(
    folder: Path, *arguments: str, expect: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "rag_platform.cli", *arguments],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "EMBEDDING_MODEL": "hashing",
            **environment,
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done


def test_a_document_is_read_once_its_password_is_given(tmp_path: Path, locked: Path) -> None:
    refused = rag(tmp_path, "ingest", "files", expect=1)
    assert "--password" in refused.stdout
    right = rag(tmp_path, "ingest", "files", "--password", PASSWORD, "--verbose")
    assert "1 ok" in right.stderr

    system = System.from_settings(Settings.load(None, RAG_HOME=tmp_path / ".rag"))
    assert not plan(system, ["hashing"])  # without the password, what was read stays
    stored = b"".join(path.read_bytes() for path in (tmp_path / ".rag").rglob("*") if path.is_file())
    for written in (PASSWORD.encode(), PASSWORD.encode("unicode-escape")):
        assert written not in stored
    assert PASSWORD not in refused.stdout + refused.stderr + right.stdout + right.stderr


def test_parse_takes_passwords_from_the_flag_and_the_environment(tmp_path: Path, locked: Path) -> None:
    written = PASSWORD.replace(",", r"\,")
    read = rag(tmp_path, "parse", str(locked), "--password", "x", RAG_PDF_PASSWORDS=f"y,{written}")

    assert read.stdout.strip() == SENTENCE
