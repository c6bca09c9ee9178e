from __future__ import annotations

import json

import pytest
from parsing.files import Read, Write

from rag_platform.errors import ParseError


def test_every_record_is_a_page_of_its_text_and_fields(write: Write, read: Read) -> None:
    lines = [
        {"id": 7, "title": "मौलिक हक", "text": "प्रत्येक नागरिकलाई हक हुनेछ।\nदोस्रो लाइन।", "पृष्ठ": 12},
        {"content": "कर तिर्नुपर्ने।", "url": "https://example.org/कर", "ok": True, "none": None, "empty": ""},
    ]
    document = read(write("a.jsonl", "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)))

    first, second = document.pages
    assert document.format == "jsonl"
    assert first.text == "मौलिक हक\n\nप्रत्येक नागरिकलाई हक हुनेछ।\nदोस्रो लाइन।\n\nid: 7\nपृष्ठ: 12"
    assert (first.page_no, first.label, first.origin) == (1, "record", "markup")
    assert [(one.kind, first.text[one.start : one.end]) for one in first.regions] == [("heading", "मौलिक हक")]
    assert second.text == "कर तिर्नुपर्ने।\n\nurl: https://example.org/कर\nok: true"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"a": {"b": 1, "c": {"d": "घ"}}}', "a.b: 1\na.c.d: घ"),
        ('{"tags": ["कर", "शुल्क", 3]}', "tags: कर, शुल्क, 3"),
        ('{"rows": [{"क": "ख"}, [1]]}', 'rows: [{"क": "ख"}, [1]]'),
        ('{"a": 1, "a": 2}', "a: 1\na: 2"),
        ('{"text": {"ne": "पाठ"}}', "text.ne: पाठ"),
        ('{"TEXT": "पाठ", "body": "थप"}', "पाठ\n\nथप"),
        ('{"n": 0, "f": false, "x": 1.5, "y": 1e400}', "n: 0\nf: false\nx: 1.5\ny: Infinity"),
        ('"केवल वाक्य"', "केवल वाक्य"),
        ('["क", "ख"]', "क, ख"),
        ("12", "12"),
        ("{}", ""),
        ('{"text": "सेप\u2028लाइन"}', "सेप\nलाइन"),
        ('{"text": "\\ud83d अधुरो"}', "अधुरो"),
    ],
)
def test_nothing_of_a_record_is_lost(write: Write, read: Read, line: str, text: str) -> None:
    assert read(write("a.ndjson", line)).pages[0].text == text


def test_encodings_line_ends_and_blank_lines_do_not_matter(write: Write, read: Read) -> None:
    content = '{"text": "एक"}\r\n\r\n{"text": "दुई"}'
    for encoding in ("utf-8-sig", "utf-16"):
        assert [page.text for page in read(write("a.jsonl", content.encode(encoding))).pages] == ["एक", "दुई"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"text": "एक"}\n\n{"text": "दु',
            r"line 3 is no JSON value \(Unterminated string.*\): '\{\"text\": \"दु'",
        ),
        ("साधारण वाक्य\n", "line 1 is no JSON value"),
        ('{"text": "एक"}\n' + "[" * 100_000, "line 2 is no JSON value"),
        ("9" * 5_000, "line 1 is no JSON value"),
    ],
)
def test_a_broken_line_refuses_the_file_by_its_number(
    write: Write, read: Read, content: str, message: str
) -> None:
    with pytest.raises(ParseError, match=message):
        read(write("a.jsonl", content))
