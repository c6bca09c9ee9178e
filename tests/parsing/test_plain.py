from __future__ import annotations

import pytest
from parsing.files import Read, Write

from rag_platform.errors import ParseError


def test_text_is_one_page_in_unix_lines(write: Write, read: Read) -> None:
    document = read(write("सूचना.txt", "﻿वडा नं. ५\r\nमिति २०८१\rअन्त्य\r\n"))

    assert document.format == "txt"
    assert [page.text for page in document.pages] == ["वडा नं. ५\nमिति २०८१\nअन्त्य"]
    assert document.pages[0].origin == "markup"
    assert document.pages[0].confidence == 1.0


def test_form_feeds_part_pages_and_empty_ones_are_kept(write: Write, read: Read) -> None:
    document = read(write("a.txt", "पहिलो\f\fतेस्रो\f"))

    assert [(page.page_no, page.text) for page in document.pages] == [(1, "पहिलो"), (2, ""), (3, "तेस्रो")]


def test_white_space_alone_is_a_document_without_text(write: Write, read: Read) -> None:
    document = read(write("a.txt", "﻿ \u00a0\n\t\u200b\n"))

    assert document.text == ""
    assert len(document.pages) == 1


def test_stored_text_keeps_joiners_and_digits(write: Write, read: Read) -> None:
    text = "सभाले प्रस्ताव पारित गर्\u200dयो, मिति २०८१।"

    assert read(write("a.txt", text)).text == text


def test_binary_content_is_refused(write: Write, read: Read) -> None:
    with pytest.raises(ParseError, match="binary"):
        read(write("a.txt", bytes(range(256)) * 4))


MARKDOWN = """---
title: "स्वास्थ्य निर्देशिका"
tags: [खोप, रगत]
draft: false
---

# शीर्षक

पहिलो **गाढा** शब्द।
<!-- भित्री
टिप्पणी -->
```python
# यो हेडिङ होइन <!-- कोडमा रहन्छ -->
| a |
|---|
```

| सेवा | शुल्क |
|:-----|------:|
| रगत जाँच | रु. १५० |
"""


def test_front_matter_is_metadata_and_markdown_stays_markdown(write: Write, read: Read) -> None:
    document = read(write("guide.md", MARKDOWN))

    assert document.metadata == {"title": "स्वास्थ्य निर्देशिका", "tags": "खोप, रगत", "draft": "false"}
    assert document.text.startswith("# शीर्षक\n\nपहिलो **गाढा** शब्द।")
    assert "टिप्पणी -->\n```" not in document.text
    assert "# यो हेडिङ होइन <!-- कोडमा रहन्छ -->\n| a |\n|---|\n```" in document.text
    assert document.text.endswith("| सेवा | शुल्क |\n| --- | --- |\n| रगत जाँच | रु. १५० |")


@pytest.mark.parametrize("text", ["---\nन यामल\n---\nपाठ", "---\n[1, 2\n---\nपाठ", "---\n- a\n- b\n---\nपाठ"])
def test_what_is_no_mapping_is_no_front_matter(write: Write, read: Read, text: str) -> None:
    document = read(write("a.md", text))

    assert document.metadata == {}
    assert document.text == text


def test_front_matter_cannot_build_objects(write: Write, read: Read) -> None:
    document = read(write("a.md", "---\ntitle: !!python/object/apply:os.getcwd []\nurl: x\n---\nपाठ"))

    assert document.text.endswith("पाठ")
    assert all(isinstance(value, str) for value in document.metadata.values())
