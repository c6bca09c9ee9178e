"""Sidecars: what they may say, and how a broken one is refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_platform.errors import InvalidMetadata
from rag_platform.metadata.sidecars import (
    Given,
    changed,
    from_json,
    read_notes,
    to_json,
    update_note,
    write_note,
)


def note(folder: Path, text: str, name: str = "ऐन.pdf.meta.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, name: str = "ऐन.pdf.meta.toml") -> Given:
    return read_notes([note(folder, text, name)], root=folder)


def test_every_type_is_read(tmp_path: Path) -> None:
    given = read(
        tmp_path,
        """
publisher = " कानून  किताब व्यवस्था समिति "
ministry = ["कानून मन्त्रालय", "गृह मन्त्रालय"]
document_no = 123
year = 2074
published = 2017-09-04
fiscal_year = "२०७४।७५"
act = "श्रम ऐन, २०७४"
x_ward = [1, "दुई"]

[parse]
languages = ["nep", "eng"]
kinds = "image, text"
""",
    )
    assert dict(given.fields) == {
        "publisher": ("कानून किताब व्यवस्था समिति",),
        "ministry": ("कानून मन्त्रालय", "गृह मन्त्रालय"),
        "document_no": ("123",),
        "year": (2074,),
        "published": (20170904,),
        "fiscal_year": ("2074/75",),
        "act": ("श्रम ऐन, २०७४",),
        "x_ward": (1, "दुई"),
    }
    assert (given.languages, given.kinds) == ("nep+eng", ("text", "image"))


@pytest.mark.parametrize(
    "written",
    ['"2081-04-15"', '"२०८१/०४/१५"', '"साउन १५, २०८१"', "2024-07-30", '"2024-07-30 AD"', "2081-04-15"],
)
def test_a_day_in_either_calendar(tmp_path: Path, written: str) -> None:
    assert read(tmp_path, f"published = {written}\n").fields == {"published": (20240730,)}


def test_json_says_the_same_as_toml(tmp_path: Path) -> None:
    said = {"publisher": "क", "year": 2081, "parse": {"languages": "nep", "kinds": ["text"]}}
    given = read(tmp_path, json.dumps(said), "ऐन.pdf.meta.json")
    assert given == Given({"publisher": ("क",), "year": (2081,)}, "nep", ("text",))


def test_nearer_notes_win_name_by_name(tmp_path: Path) -> None:
    outer = note(tmp_path, 'publisher = "क"\ntitle = "टाढा"\n[parse]\nlanguages = "nep"\n', "_metadata.toml")
    inner = note(tmp_path, 'title = "नजिक"\n[parse]\nkinds = ["text"]\n')
    gone = tmp_path / "ऐन.pdf.meta.json"
    given = read_notes([outer, inner, gone], root=tmp_path)
    assert given == Given({"publisher": ("क",), "title": ("नजिक",)}, "nep", ("text",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('publisher = "क"\nyear = \n', r"ऐन\.pdf\.meta\.toml, line 2: "),
        ('publisher = "क"\n\nyear = "हिजो"\n', r"line 3: 'year' is 'हिजो'; it must be a Bikram Sambat year"),
        ("year = 81\n", r"line 1: 'year' is '81'"),
        ("publisher = true\n", r"line 1: 'publisher' is True; use text"),
        ("publisher = 1.5\n", r"line 1: 'publisher' is 1.5; use text"),
        ('publisher = "  "\n', r"line 1: 'publisher' is '  '; it must be text that is not blank"),
        ("published = 2081-02-33\n", r"line 1: .*dates stand in quotes"),
        (
            'published = "2081-02-33"\n',
            r"line 1: 'published' is '2081-02-33'; it must be one day that exists",
        ),
        ('published = "2081"\n', r"line 1: 'published' is '2081'; it must be one day"),
        ('fiscal_year = "2080/82"\n', r"line 1: 'fiscal_year' is '2080/82'; it must be a fiscal year"),
        ('publishr = "क"\n', r"line 1: unknown field 'publishr'. Did you mean 'publisher'"),
        ('section = "9"\n', r"line 1: 'section' is found in each passage"),
        ('language = "ne"\n', r"line 1: 'language' is no field.*\[parse\]"),
        (
            '[parse]\nlanguage = "nep"\n',
            r"line 2: unknown key of \[parse\] 'language'. Did you mean 'languages'",
        ),
        ('[parse]\nkinds = ["txt"]\n', r"line 2: unknown kind 'txt'. Did you mean 'text'"),
        ("[parse]\nkinds = []\n", r"line 2: 'kinds' is \[\]; list some of text, table, image"),
        ('title = "क"\n[parse]\nlanguages = "nep eng"\n', r"line 3: 'languages' is 'nep eng'"),
        ("parse = 3\n", r"line 1: 'parse' is 3; it must be a table"),
        ("x_tags = []\n", r"line 1: 'x_tags' is an empty list"),
    ],
)
def test_a_broken_note_names_file_line_value_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidMetadata, match=message):
        read(tmp_path, text)


def test_broken_json_and_other_encodings_are_refused_too(tmp_path: Path) -> None:
    with pytest.raises(InvalidMetadata, match=r"a\.meta\.json, line 2: no JSON"):
        read(tmp_path, '{"publisher": "क",\n}', "a.meta.json")
    with pytest.raises(InvalidMetadata, match=r"a\.meta\.json, line 1: it is no object"):
        read(tmp_path, "[1]", "a.meta.json")
    with pytest.raises(InvalidMetadata, match=r"a\.meta\.json, line 2: 'year' is 'x'"):
        read(tmp_path, '{"publisher": "क",\n "year": "x"}', "a.meta.json")
    path = tmp_path / "a.meta.toml"
    path.write_bytes("title = 'क'\n".encode() + b"publisher = '\xe9'\n")
    with pytest.raises(InvalidMetadata, match=r"line 2: it is no UTF-8 text"):
        read_notes([path], root=tmp_path)


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    given = Given(
        {"publisher": ('"क" \\ ख',), "published": (20240730,), "year": (2081,), "x_n": (1, "दुई")},
        "nep+eng",
        ("text", "image"),
    )
    path = tmp_path / "a.txt.meta.toml"
    write_note(path, given)
    assert read_notes([path], root=tmp_path) == given
    assert from_json(to_json(given)) == given
    before = path.stat().st_mtime_ns
    write_note(path, given)
    assert path.stat().st_mtime_ns == before


def test_changes_are_set_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.meta.json"
    update_note(path, ["publisher=क", "ministry=गृह|अर्थ", "parse.kinds=text", "published=2081-04-15"])
    assert read_notes([path], root=tmp_path) == Given(
        {"publisher": ("क",), "ministry": ("गृह", "अर्थ"), "published": (20240730,)}, "", ("text",)
    )
    update_note(path, ["publisher=", "parse.kinds=", "title=a=b"])
    assert read_notes([path], root=tmp_path).fields.keys() == {"ministry", "published", "title"}
    assert read_notes([path], root=tmp_path).fields["title"] == ("a=b",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("publisher", r"--meta 'publisher' has no '='"),
        ("yer=2081", r"--meta: unknown field 'yer'. Did you mean 'year'"),
        ("year=हिजो", r"--meta: 'year' is 'हिजो'"),
        ("parse.lang=nep", r"--meta: unknown key of \[parse\] 'lang'"),
    ],
)
def test_a_change_that_means_nothing_is_refused(change: str, message: str) -> None:
    with pytest.raises(InvalidMetadata, match=message):
        changed({}, [change])


def test_a_note_that_means_nothing_is_refused_before_it_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "पत्र.txt.meta.json"
    path.write_text('{"parse": "nep"}', encoding="utf-8")
    for change in ("parse.languages=nep", "parse.languages="):
        with pytest.raises(InvalidMetadata, match="parse"):
            update_note(path, [change])
    assert path.read_text(encoding="utf-8") == '{"parse": "nep"}'
