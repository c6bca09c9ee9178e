from __future__ import annotations

import pytest
from parsing.files import Read, Write

from rag_platform.errors import ParseError

CSV = "क्रम,नाम,ठेगाना\n१,राम थापा,काठमाडौँ\n२,गीता शर्मा,पोखरा\n"
TABLE = "| क्रम | नाम | ठेगाना |\n| --- | --- | --- |\n| १ | राम थापा | काठमाडौँ |\n| २ | गीता शर्मा | पोखरा |"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encoding_and_line_ends_do_not_matter(write: Write, read: Read, encoding: str, newline: str) -> None:
    document = read(write("a.csv", CSV.replace("\n", newline).encode(encoding)))

    (page,) = document.pages
    assert (document.format, page.text, page.label, page.origin) == ("csv", TABLE, "sheet", "markup")
    assert [(one.kind, page.text[one.start : one.end]) for one in page.regions] == [("table", TABLE)]


@pytest.mark.parametrize(
    ("delimiter", "name"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "bars")]
)
def test_the_delimiter_is_found(write: Write, read: Read, delimiter: str, name: str) -> None:
    (page,) = read(write("a.csv", CSV.replace(",", delimiter))).pages

    assert (page.text, page.reason) == (TABLE, f"columns separated by {name}")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("नाम;मूल्य\nआलु;१,५०\nप्याज;२,००\n", "| आलु | १,५० |"),
        ("नाम\tटिप्पणी\nराम\tएक, दुई, तीन\nसीता\tहो, होइन\n", "| राम | एक, दुई, तीन |"),
        ('नाम,टिप्पणी\nराम,"एक; दुई; तीन"\nसीता,"हो; होइन; खै"\n', "| राम | एक; दुई; तीन |"),
        ("sep=;\nनाम;घर\nराम,श्याम;पोखरा\n", "| नाम | घर |\n| --- | --- |\n| राम,श्याम | पोखरा |"),
        ('"नाम", "घर"\n"राम", "भक्तपुर, ४"\n', "| राम | भक्तपुर, ४ |"),
    ],
)
def test_delimiters_in_the_values_do_not_mislead(
    write: Write, read: Read, content: str, expected: str
) -> None:
    assert expected in read(write("a.csv", content)).text


def test_a_tsv_is_cut_at_tabs_however_many_commas_there_are(write: Write, read: Read) -> None:
    document = read(write("a.tsv", "नाम\tक, ख, ग\nराम\tघ, ङ, च\n"))

    assert document.format == "tsv"
    assert document.text == "| नाम | क, ख, ग |\n| --- | --- |\n| राम | घ, ङ, च |"


def test_a_quoted_line_break_splits_no_row(write: Write, read: Read) -> None:
    content = 'नाम,टिप्पणी\nराम,"पहिलो लाइन\r\nदोस्रो ""उद्धरण"", अल्पविराम"\nगीता,\n'

    assert read(write("a.csv", content)).text.splitlines() == [
        "| नाम | टिप्पणी |",
        "| --- | --- |",
        '| राम | पहिलो लाइन दोस्रो "उद्धरण", अल्पविराम |',
        "| गीता |  |",
    ]


def test_a_quote_that_is_never_closed_swallows_no_rows(write: Write, read: Read) -> None:
    rows = "".join(f"{number},नाम {number}\n" for number in range(40))
    for broken in ('7,"अधुरो\n', '7,"अधुरो" बाँकी\n8,"अर्को\n'):
        (page,) = read(write("a.csv", f"क्रम,नाम\n{broken}{rows}")).pages

        assert page.text.count("\n") == 2 + broken.count("\n") + 40 - 1
        assert '| 7 | "अधुरो' in page.text
        assert page.reason.endswith("a quote is never closed: quotes are text")


def test_title_rows_stand_above_the_table_not_in_its_header(write: Write, read: Read) -> None:
    content = "नेपाल सरकार,,\nवडा विभाजन २०७४,,\n,,\nक्रम,वडा,घर\n१,३,४५\n,,\nस्रोत: तथ्याङ्क कार्यालय,,\n"
    document = read(write("a.csv", content))

    assert document.text == (
        "नेपाल सरकार\nवडा विभाजन २०७४\n\n"
        "| क्रम | वडा | घर |\n| --- | --- | --- |\n| १ | ३ | ४५ |\n| स्रोत: तथ्याङ्क कार्यालय |  |  |"
    )


def test_tables_apart_have_their_own_headers_and_gaps_do_not(write: Write, read: Read) -> None:
    content = "सेवा,शुल्क\nनाता,१००\n\nबसाइँ,५०\n\nकर,,\nघर,जग्गा,जम्मा\n१०,२०,३०\n"
    document = read(write("a.csv", content))

    assert document.text == (
        "| सेवा | शुल्क |\n| --- | --- |\n| नाता | १०० |\n| बसाइँ | ५० |\n\n"
        "कर\n\n| घर | जग्गा | जम्मा |\n| --- | --- | --- |\n| १० | २० | ३० |"
    )


def test_rows_of_different_lengths_lose_nothing(write: Write, read: Read) -> None:
    assert read(write("a.csv", "क,ख\n१,२,३\n४\n")).text == (
        "| क | ख |  |\n| --- | --- | --- |\n| १ | २ | ३ |\n| ४ |  |  |"
    )


def test_one_column_is_lines(write: Write, read: Read) -> None:
    assert read(write("a.csv", "नाम\nराम\nगीता | सीता\n")).text == "नाम\nराम\nगीता | सीता"


def test_a_bar_in_a_value_keeps_the_row_a_row(write: Write, read: Read) -> None:
    assert r"| राम \| श्याम | १ |" in read(write("a.csv", "नाम,वडा\nराम | श्याम,१\n")).text


@pytest.mark.parametrize("content", ["\n\n", ",,\n,,\n", "﻿"])
def test_a_table_without_values_is_an_empty_page(write: Write, read: Read, content: str) -> None:
    assert [page.text for page in read(write("a.csv", content)).pages] == [""]


def test_bytes_that_are_no_text_are_refused(write: Write, read: Read) -> None:
    with pytest.raises(ParseError, match="binary"):
        read(write("a.csv", b"\x00\x01\x02\xff" * 50))
    with pytest.raises(ParseError, match="field larger"):
        read(write("a.csv", "क,ख\n" + "ग" * 140_000 + ",घ\n"))


def test_a_long_file_is_one_table_in_moments(write: Write, read: Read) -> None:
    content = "क्रम,नाम\n" + "".join(f"{n},नाम {n}\n\n" for n in range(20_000))
    (page,) = read(write("a.csv", content)).pages

    assert page.text.count("\n") == 20_001
    assert len(page.regions) == 1


def test_a_table_typed_for_a_legacy_font_is_found_by_its_text(write: Write, read: Read) -> None:
    content = "qm=;+=,ljj/0f,sfof{no\n!,g]kfn ;/sf/sf] lg0f{o,lzIff dGqfno\n@,EMP-001 Ward Office,gu/kflnsf\n"
    (page,) = read(write("a.csv", content)).pages

    assert page.text.splitlines()[2:] == [
        "| १ | नेपाल सरकारको निर्णय | शिक्षा मन्त्रालय |",
        "| २ | EMP-001 Ward Office | नगरपालिका |",
    ]
    assert page.origin == "legacy_font"
    assert page.reason.endswith("typed for a legacy font")

    codes = "code,name\nbk12,Ram Thapa\nsf/9,Sita\n"
    assert "| bk12 | Ram Thapa |\n| sf/9 | Sita |" in read(write("a.csv", codes)).text
