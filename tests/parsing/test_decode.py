from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.errors import ParseError
from rag_platform.parsing.decode import decode, html_declared

NEPALI = "वडा नं. ५ को सूचना।\nमिति २०८१ पुस १० गते, गर्\u200dयो।"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
def test_unicode_encodings_give_the_same_text(encoding: str) -> None:
    assert decode(NEPALI.encode(encoding)) == NEPALI


def test_big_endian_with_and_without_bom() -> None:
    assert decode(b"\xfe\xff" + NEPALI.encode("utf-16-be")) == NEPALI
    assert decode(NEPALI.encode("utf-16-be")) == NEPALI
    assert decode(NEPALI.encode("utf-16-le")) == NEPALI


def test_windows_1252_is_read_after_utf8_failed() -> None:
    text = "The café’s fee is €20 — “paid”."

    assert decode(text.encode("cp1252")) == text


def test_other_code_pages_are_detected() -> None:
    text = "Мы, народ, полны решимости спасти грядущие поколения от бедствий войны. " * 3

    assert decode(text.encode("cp1251")) == text


@pytest.mark.parametrize(
    ("declared", "raw", "text"),
    [
        ("windows-1252", "Café – “daily”".encode("cp1252"), "Café – “daily”"),
        ("iso-8859-1", "“quotes” in Latin-1".encode("cp1252"), "“quotes” in Latin-1"),
        ("windows-1251", "Привет, мир".encode("cp1251"), "Привет, мир"),
        ("utf-16", NEPALI.encode(), NEPALI),
        ("no-such-encoding", NEPALI.encode(), NEPALI),
        ("utf-8", "café".encode("cp1252"), "café"),
    ],
)
def test_a_declaration_is_believed_unless_the_bytes_contradict_it(
    declared: str, raw: bytes, text: str
) -> None:
    assert decode(raw, declared=declared) == text


def test_a_bom_overrules_the_declaration() -> None:
    assert decode(NEPALI.encode("utf-16"), declared="windows-1252") == NEPALI


@pytest.mark.parametrize(
    ("head", "declared"),
    [
        (b'<meta charset="utf-8">', "utf-8"),
        (b"<META CHARSET=windows-1252>", "windows-1252"),
        (b'<?xml version="1.0" encoding="iso-8859-15"?>', "iso-8859-15"),
        (b"<p>charset=x</p>", ""),
        (
            b"<meta name=description content='x'><meta http-equiv=a content='text/html;charset=koi8-r'>",
            "koi8-r",
        ),
    ],
)
def test_declarations_are_found_in_markup(head: bytes, declared: str) -> None:
    assert html_declared(head) == declared


@pytest.mark.parametrize(
    "raw",
    [
        bytes(range(256)) * 8,
        b"\x7fELF\x02\x01\x01" + bytes(64),
        b"\xff\xfe" + "पाठ".encode("utf-16-le") + b"\x05",
        b"text\x01\x02\x03\x04\x05 text",
        bytes(100),
    ],
)
def test_what_is_no_text_is_refused(raw: bytes) -> None:
    with pytest.raises(ParseError):
        decode(raw)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1))
def test_utf8_text_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode()) == text.removeprefix("\ufeff")


@given(st.binary(max_size=200))
def test_any_bytes_give_text_or_a_parse_error(raw: bytes) -> None:
    try:
        text = decode(raw)
    except ParseError:
        return
    assert "\0" not in text
