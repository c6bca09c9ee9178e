from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest
from parsing.files import Read, Word, Write, pack

from rag_platform.errors import ParseError, UnsupportedFormat
from rag_platform.parsing import archive, packed


def test_the_members_are_the_pages_under_their_paths(tmp_path: Path, word: Word, read: Read) -> None:
    heading = '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>शीर्षक</w:t></w:r></w:p>'
    body = f"{heading}<w:p><w:r><w:t>पाठ</w:t></w:r></w:p>"
    path = pack(
        tmp_path / "परिपत्र.zip",
        {
            "क/सूचना.docx": word(body).read_bytes(),
            "दर.csv": "सेवा,शुल्क\nनाता,१००\n",
            "दुई.txt": "पहिलो\fदोस्रो",
        },
    )
    document = read(path)

    assert (document.format, dict(document.metadata)) == ("zip", {"members": "3"})
    assert [page.page_no for page in document.pages] == [1, 2, 3, 4]
    word_page, sheet, first, second = document.pages
    assert word_page.text == "क/सूचना.docx\n\nशीर्षक\n\nपाठ"
    assert sheet.text == "दर.csv\n\n| सेवा | शुल्क |\n| --- | --- |\n| नाता | १०० |"
    assert (sheet.label, sheet.reason) == ("sheet", "दर.csv: columns separated by commas")
    assert (first.text, second.text, second.reason) == ("दुई.txt\n\nपहिलो", "दोस्रो", "दुई.txt")
    for page, found in (
        (word_page, [("heading", 1, "क/सूचना.docx"), ("heading", 2, "शीर्षक")]),
        (sheet, [("heading", 1, "दर.csv"), ("table", 0, sheet.text[8:])]),
    ):
        assert [(one.kind, one.level, page.text[one.start : one.end]) for one in page.regions] == found


def test_what_cannot_be_read_is_said_and_the_rest_is_read(tmp_path: Path, read: Read) -> None:
    inner = pack(tmp_path / "inner.zip", {"a.txt": "x"}).read_bytes()
    path = pack(
        tmp_path / "a.zip",
        {
            "b.docx": b"PK\x03\x04",
            "a.txt": "पाठ",
            "v.mp4": b"\0\0ftyp",
            "inner.zip": inner,
            "e.txt": "",
        },
    )
    damaged, text, empty, left_out = read(path).pages

    assert (damaged.text, damaged.suspect, damaged.confidence) == ("", True, 0.0)
    assert damaged.reason.startswith("b.docx: the file is a damaged or truncated ZIP")
    assert (text.text, text.suspect) == ("a.txt\n\nपाठ", False)
    assert empty.reason == "e.txt: 'e.txt' is empty (0 bytes)"
    assert left_out.reason == "v.mp4, inner.zip: no reader for this kind of file; left out"
    assert left_out.suspect


@pytest.mark.parametrize("entries", [{}, {"a.exe": b"MZ\0"}, {"__MACOSX/._a.txt": "x", ".DS_Store": "x"}])
def test_an_archive_without_documents_is_refused(
    tmp_path: Path, read: Read, entries: dict[str, bytes]
) -> None:
    with pytest.raises(UnsupportedFormat, match="nothing in the archive can be read"):
        read(pack(tmp_path / "a.zip", entries))


def test_paths_never_reach_the_disk(tmp_path: Path, read: Read) -> None:
    outside = tmp_path / "outside.txt"
    names = ["../outside.txt", str(outside), "..\\outside.txt", "C:\\outside.txt", "./././x.txt"]
    path = tmp_path / "deep" / "a.zip"
    path.parent.mkdir()
    before = set(Path.cwd().iterdir())
    pages = read(pack(path, dict.fromkeys(names, "पाठ"))).pages

    assert [page.text.splitlines()[0] for page in pages] == [
        "outside.txt", str(outside).lstrip("/"), "outside.txt", "C:/outside.txt", "x.txt",
    ]  # fmt: skip
    assert not outside.exists()
    assert set(Path.cwd().iterdir()) == before
    assert sorted(one.name for one in path.parent.iterdir()) == ["a.zip"]


def test_links_are_no_documents(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "a.zip"
    link = zipfile.ZipInfo("passwd.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as whole:
        whole.writestr(link, "/etc/passwd")
        whole.writestr("a.txt", "पाठ")

    assert [page.text for page in read(path).pages] == ["a.txt\n\nपाठ"]


def test_names_that_do_not_say_they_are_utf8_are_read_all_the_same(tmp_path: Path, read: Read) -> None:
    path = pack(tmp_path / "a.zip", {"सूचना.txt": "पाठ"})
    content = path.read_bytes()
    flagged, plain = (0x0800).to_bytes(2, "little"), bytes(2)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.index(signature) + at
        assert content[start : start + 2] == flagged
        content = content[:start] + plain + content[start + 2 :]
    path.write_bytes(content)

    assert read(path).text == "सूचना.txt\n\nपाठ"


def test_a_member_under_a_password_says_so(tmp_path: Path, read: Read) -> None:
    path = pack(tmp_path / "a.zip", {"a.txt": "x", "b.txt": "पाठ"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x03\x04") + 6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    locked, text = read(path).pages

    assert locked.reason == "a.txt: it is under a password; pack it without one"
    assert text.text == "b.txt\n\nपाठ"


def test_too_many_members_and_bombs_are_refused(tmp_path: Path, read: Read) -> None:
    many = pack(tmp_path / "many.zip", {f"{n}.txt": "x" for n in range(packed.MAX_MEMBERS + 1)})
    with pytest.raises(ParseError, match="more than 2000; unpack it"):
        read(many)

    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("bomb.txt", bytes(archive.RATIO_COUNTS_FROM + 1))
        whole.writestr("noise.bin", os.urandom(1 << 20))
    with pytest.raises(ParseError, match="decompression bomb"):
        read(bomb)


def test_a_member_whose_size_is_a_lie_is_no_flood(tmp_path: Path, read: Read, write: Write) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("a.txt", "क" * 1_000_000)
        whole.writestr("b.txt", "पाठ")
    content = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = content.index(signature) + at
        content[start : start + 4] = (100).to_bytes(4, "little")
    lie, text = read(write("a.zip", bytes(content))).pages

    assert lie.suspect
    assert "a.txt: it is damaged" in lie.reason
    assert text.text == "b.txt\n\nपाठ"
