"""Fixtures of the parsing tests: functions that write files of each kind into the test's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from parsing.files import Odt, Pdf, Read, Word, Write, layer_pdf, odt_file, word_file

from rag_platform.parsing.parse import ParseOptions, parse_file
from rag_platform.types import Document


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


@pytest.fixture
def read() -> Read:
    def _read(path: Path, *, source: str | None = None, **options: object) -> Document:
        return parse_file(path, source=source, options=ParseOptions(**options))  # type: ignore[arg-type]

    return _read


@pytest.fixture
def word(tmp_path: Path) -> Word:
    def _word(body: str, *, links: Mapping[str, str] | None = None, **parts: str) -> Path:
        return word_file(tmp_path / "document.docx", body, links=links, **parts)

    return _word


@pytest.fixture
def odt(tmp_path: Path) -> Odt:
    def _odt(text: str, **parts: str) -> Path:
        return odt_file(tmp_path / "document.odt", text, **parts)

    return _odt


@pytest.fixture
def pdf(write: Write) -> Pdf:
    def _pdf(*pages: Sequence[tuple[float, float, str]], font: str = "Helvetica") -> Path:
        return write("document.pdf", layer_pdf(pages, font=font))

    return _pdf
