"""The words of the page: complete in both languages, and every one of them used."""

from __future__ import annotations

import re
from pathlib import Path

import serving.page
from serving.page.words import words

FOLDER = Path(serving.page.__file__).parent
LATIN = {"language", "other_language", "other_name", "condition_hint", "quote", "quote_with_path"}
PLACES = re.compile(r"{(\w+)}")


def test_both_languages_say_the_same_things_with_the_same_places_to_fill_in() -> None:
    nepali, english = words("ne").texts, words("en").texts
    assert nepali.keys() == english.keys()
    for key, text in nepali.items():
        assert sorted(PLACES.findall(text)) == sorted(PLACES.findall(english[key])), key


def test_no_word_is_left_over() -> None:
    used = "".join(
        path.read_text()
        for path in (*FOLDER.glob("*.html"), *FOLDER.glob("*.py"), *FOLDER.glob("static/*.js"))
    )
    for key in words("en").texts:
        assert re.search(rf"""["']{key}["']""", used) or key == "language" or key.startswith("kind_"), key


def test_nepali_texts_have_nepali_digits_and_are_in_devanagari() -> None:
    assert words("ne")("pages", n=3, m=12) == "पृष्ठ ३–१२"
    for key, text in words("ne").texts.items():
        if key not in (
            "language",
            "other_language",
            "other_name",
            "condition_hint",
            "quote",
            "quote_with_path",
        ):
            assert re.search("[\u0900-\u097f]", text), key
            assert not re.search("[0-9]", PLACES.sub("", text)), key
