"""The old Office formats. Their files are made by LibreOffice here: nothing else writes them any more."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter
from parsing.files import Read, Word, Write

from rag_platform.errors import MissingDependency, ParseError
from rag_platform.parsing import convert

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
Old = Callable[[Path, str], Path]

needs_libreoffice = pytest.mark.skipif(convert.soffice() is None, reason="LibreOffice is not installed")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Old:
    profile = tmp_path_factory.mktemp("profile")

    def _old(path: Path, suffix: str) -> Path:
        command = [str(convert.soffice()), "--headless", f"-env:UserInstallation={profile.as_uri()}"]
        command += ["--convert-to", suffix, "--outdir", str(path.parent), str(path)]
        subprocess.run(command, check=True, capture_output=True, timeout=180)
        return path.with_suffix(f".{suffix}")

    return _old


@needs_libreoffice
def test_a_word_file_of_the_old_format(old: Old, word: Word, read: Read) -> None:
    body = "<w:p><w:r><w:t>कार्यालयको सूचना</w:t></w:r></w:p><w:p><w:r><w:t>गर्‍यो</w:t></w:r></w:p>"
    document = read(old(word(body), "doc"), source="पुरानो/सूचना.doc")

    assert (document.format, document.text) == ("doc", "कार्यालयको सूचना\n\nगर्‍यो")


@needs_libreoffice
def test_a_workbook_of_the_old_format(old: Old, tmp_path: Path, read: Read) -> None:
    with xlsxwriter.Workbook(tmp_path / "दर.xlsx") as book:
        sheet = book.add_worksheet("दर")
        sheet.write_row(0, 0, ["सेवा", "शुल्क"])
        sheet.write_row(1, 0, ["नाता", 100])
    path = old(tmp_path / "दर.xlsx", "xls")
    renamed = path.rename(path.with_name("copy"))  # the store keeps bytes under their digest
    document = read(renamed, source="दर.xls")

    assert document.format == "xls"
    assert document.text == "दर\n\n| सेवा | शुल्क |\n| --- | --- |\n| नाता | 100 |"
    assert document.pages[0].label == "sheet"


@needs_libreoffice
def test_a_presentation_of_the_old_format(old: Old, tmp_path: Path, read: Read) -> None:
    from pptx import Presentation

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "मौलिक हक"
    slide.placeholders[1].text = "समानताको हक"
    presentation.save(str(tmp_path / "a.pptx"))
    document = read(old(tmp_path / "a.pptx", "ppt"))

    assert document.format == "ppt"
    assert [page.label for page in document.pages] == ["slide"]
    assert "मौलिक हक" in document.text
    assert "समानताको हक" in document.text


@needs_libreoffice
def test_a_damaged_file_is_an_error_that_names_the_kind(write: Write, read: Read) -> None:
    with pytest.raises(ParseError, match="LibreOffice cannot read this Word file of the old format"):
        read(write("a.doc", OLE + "WordDocument\0".encode("utf-16-le")))


def test_without_libreoffice_the_remedy_is_named(
    write: Write, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    for name, stream, package in (
        ("a.doc", "WordDocument\0", "libreoffice-writer-nogui"),
        ("a.xls", "Workbook\0", "libreoffice-calc-nogui"),
        ("a.ppt", "PowerPoint Document\0", "libreoffice-impress-nogui"),
    ):
        with pytest.raises(MissingDependency, match=f"apt install {package}.*or save the file as"):
            read(write(name, OLE + stream.encode("utf-16-le")))


def program(folder: Path, script: str) -> Path:
    path = folder / "soffice"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_conversion_that_hangs_is_ended_with_what_it_started(
    tmp_path: Path, write: Write, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "pid"
    program(tmp_path, f"sleep 300 & echo $! > {started}; wait")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(convert, "TIMEOUT_S", 1.0)
    with pytest.raises(ParseError, match="did not convert the file in 1 s"):
        read(write("a.doc", OLE + "WordDocument\0".encode("utf-16-le")))

    deadline = time.monotonic() + 10
    while Path(f"/proc/{started.read_text().strip()}/cmdline").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert time.monotonic() < deadline, "what LibreOffice started goes on"


def test_it_runs_in_a_profile_of_its_own_that_runs_no_macros(
    tmp_path: Path, write: Write, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    program(tmp_path, f'echo "$@" > {seen}; cat "${{HOME}}/profile/user/registrymodifications.xcu" >> {seen}')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ParseError, match="it says nothing"):
        read(write("a.doc", OLE + "WordDocument\0".encode("utf-16-le")))

    said = seen.read_text()
    assert "--headless" in said
    assert "-env:UserInstallation=file:///" in said
    assert "DisableMacrosExecution" in said
    assert not Path(said.split("UserInstallation=file://")[1].split()[0]).exists()
