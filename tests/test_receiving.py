"""Names of documents that programs hand over, and how they get into the inbox."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.errors import CallerError, InvalidMetadata
from rag_platform.inbox import is_ignored
from rag_platform.receiving import receive, safe_name, said
from rag_platform.system import System


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("सूचना (१), २०८१.pdf", "सूचना (१), २०८१.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\कागज\\पत्र.docx", "पत्र.docx"),
        ("दुई\tभाग\n.txt", "दुईभाग.txt"),
        ("  खाली   ठाउँ .txt ", "खाली ठाउँ .txt"),
        ("श्रीमान्\u200dको.txt", "श्रीमान्\u200dको.txt"),
        ("e\u0301.txt", "é.txt"),
        ("a\x00b.txt", "ab.txt"),
        ("सूचना\u202efdp.exe", "सूचनाfdp.exe"),
        ("\u2066पत्र\u2069.docx", "पत्र.docx"),
        ("e\u202e\u0301.txt", "é.txt"),
    ],
)
def test_a_name_is_kept_and_its_folders_are_not(given: str, kept: str) -> None:
    assert safe_name(given) == kept


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", "x/", "../..", ".env", "~$a.docx", "a.part", "_metadata.toml"]
)
def test_what_is_no_name_of_a_document_is_refused(name: str) -> None:
    with pytest.raises(CallerError):
        safe_name(name)


@given(st.text())
def test_whatever_is_given_stays_inside_a_folder(given: str) -> None:
    try:
        name = safe_name(given)
    except CallerError:
        return
    assert "/" not in name
    assert "\\" not in name
    assert name not in ("", ".", "..")
    assert len(name.encode()) <= 200
    assert not is_ignored(name)
    assert safe_name(name) == name


def test_long_names_are_told_apart() -> None:
    first, second = (safe_name(f"{'नगरपालिका' * 40} {n}.pdf") for n in (1, 2))
    assert first != second
    assert first.startswith("नगरपालिकानगरपालिका")
    assert first.endswith(".pdf")


def test_what_is_said_of_documents() -> None:
    assert said({"year": 2081, "publisher": ["क", "ख"]}, kinds=["text"], language="nep+eng") == [
        "year=2081",
        "publisher=क|ख",
        "parse.kinds=text",
        "parse.languages=nep+eng",
    ]
    assert said(["year=2081"]) == ["year=2081"]
    with pytest.raises(InvalidMetadata, match="Did you mean 'year'"):
        said({"yaer": 2081})


def test_documents_lie_in_the_inbox_with_what_is_said_of_them(make_system: Callable[..., System]) -> None:
    system = make_system()
    sources = receive(system, "laws", [("ऐन.txt", BytesIO(b"x"))], changes=["year=2081"])
    folder = system.home / "inbox" / "laws"
    assert sources == ["ऐन.txt"]
    assert sorted(path.name for path in folder.iterdir()) == ["ऐन.txt", "ऐन.txt.meta.json"]
    assert system.catalog.collections() == ["nepali_docs", "laws"]


def test_a_folder_of_the_inbox_is_no_name_for_a_document(make_system: Callable[..., System]) -> None:
    system = make_system()
    (system.home / "inbox" / "laws").mkdir()
    with pytest.raises(CallerError, match="is a folder of the inbox"):
        receive(system, "nepali_docs", [("laws", BytesIO(b"x"))])
