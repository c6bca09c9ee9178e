from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsing.files import STARTER, Odt, Read, Word, Write, layer_pdf

from rag_platform.errors import MissingDependency, ParseError, RagError, StorageError
from rag_platform.parsing import parse
from rag_platform.parsing.parse import ParseOptions, parse_file
from rag_platform.parsing.reading import ParsedFile
from rag_platform.types import Document

SAMPLES = sorted(STARTER.glob("*/documents/*"))


def test_the_document_says_what_was_read(write: Write) -> None:
    path = write("क.txt", "कर सूचना")
    document = parse_file(path, source="कर/क.txt", collection="circulars")

    assert document.content_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (document.source, document.collection, document.format) == ("कर/क.txt", "circulars", "txt")
    assert parse_file(str(path)).source == "क.txt"


def test_sources_are_nfc_so_that_spellings_of_a_name_are_one_document(write: Write) -> None:
    path = write("a.txt", "x")
    composed = parse_file(path, source=unicodedata.normalize("NFC", "फ़ाइल é.txt"))
    decomposed = parse_file(path, source=unicodedata.normalize("NFD", "फ़ाइल é.txt"))

    assert composed.document_id == decomposed.document_id


def test_the_recipe_changes_with_every_option() -> None:
    recipes = {
        ParseOptions().recipe,
        ParseOptions(ocr="never").recipe,
        ParseOptions(languages="nep").recipe,
        ParseOptions(ocr_timeout_s=60).recipe,
    }
    assert len(recipes) == 4
    assert ParseOptions().recipe == ParseOptions().recipe


def test_paths_that_cannot_be_read_are_storage_errors(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "none.txt", tmp_path, write("a.txt", "x") / "b.txt"):
        with pytest.raises(StorageError, match="cannot be read"):
            parse_file(path)

    locked = write("locked.txt", "x")

    def refused(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(StorageError, match="Permission denied"):
        parse_file(locked)


@pytest.mark.parametrize(
    "error", [ValueError("odd\nsecond line"), KeyError("x"), RecursionError(), UnicodeError("y")]
)
def test_whatever_a_library_raises_is_a_parse_error(
    write: Write, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(path: Path, options: ParseOptions) -> ParsedFile:
        raise error

    monkeypatch.setitem(parse.READERS, "txt", broken)
    with pytest.raises(ParseError, match=r"'a\.txt' is damaged") as caught:
        parse_file(write("a.txt", "x"))
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()])
def test_what_is_no_fault_of_the_document_flies(
    write: Write, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def broken(path: Path, options: ParseOptions) -> ParsedFile:
        raise error

    monkeypatch.setitem(parse.READERS, "txt", broken)
    with pytest.raises(type(error)):
        parse_file(write("a.txt", "x"))


def test_a_missing_package_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path, options: ParseOptions) -> ParsedFile:
        raise ModuleNotFoundError("No module named 'striprtf'", name="striprtf")

    monkeypatch.setitem(parse.READERS, "txt", broken)
    with pytest.raises(MissingDependency, match="striprtf"):
        parse_file(write("a.txt", "x"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.suffix)
def test_every_sample_is_read_twice_the_same(path: Path) -> None:
    options = ParseOptions(ocr="never")
    document = parse_file(path, options=options)

    assert document.pages
    assert [page.page_no for page in document.pages] == list(range(1, len(document.pages) + 1))
    assert parse_file(path, options=options) == document
    for page, span in zip(document.pages, document.page_spans, strict=True):
        assert document.text[span.start : span.end] == page.text
        assert page.text == unicodedata.normalize("NFC", page.text).strip()
        assert "�" not in page.text


def damage(content: bytes, cut: float, flips: list[tuple[float, int]]) -> bytes:
    damaged = bytearray(content[: max(1, int(len(content) * cut))])
    for at, bit in flips:
        damaged[int(at * (len(damaged) - 1))] ^= 1 << bit
    return bytes(damaged)


def outcome(path: Path, content: bytes) -> Document | RagError:
    """Parse any bytes; what is neither text nor an error of ours fails the test."""
    path.write_bytes(content)
    try:
        return parse_file(path, options=ParseOptions(ocr="never"))
    except RagError as error:
        return error


FRACTION = st.floats(0, 1, exclude_max=True)
FLIPS = st.lists(st.tuples(FRACTION, st.integers(0, 7)), max_size=6)


@pytest.mark.parametrize(
    "suffix", [".pdf", ".docx", ".pptx", ".odt", ".rtf", ".epub", ".html", ".md", ".txt"]
)
def test_damaged_bytes_give_text_or_an_error_of_ours(
    suffix: str, tmp_path: Path, word: Word, odt: Odt, read: Read
) -> None:
    text = "नगर सभाले पारित गरेको बजेट। The budget of 2024."
    small = {
        ".pdf": lambda: layer_pdf([[(60, 700, text)], [(60, 600, text)]]),
        ".docx": lambda: word(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>").read_bytes(),
        ".odt": lambda: odt(f"<text:p>{text}</text:p>").read_bytes(),
    }
    sample = next(path for path in SAMPLES if path.suffix == suffix)
    whole = small.get(suffix, sample.read_bytes)()

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(cut=st.one_of(st.just(1.0), FRACTION), flips=FLIPS)
    def check(cut: float, flips: list[tuple[float, int]]) -> None:
        result = outcome(tmp_path / f"damaged{suffix}", damage(whole, cut, flips))
        assert result.text.encode() is not None if isinstance(result, Document) else str(result)

    check()
