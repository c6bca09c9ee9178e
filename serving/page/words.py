"""What the page says, in Nepali and in English, and which of the two a visitor gets."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from rag_platform.text.dates import devanagari_digits

__all__ = ["LANGUAGES", "Language", "Words", "language_of", "words"]

Language = Literal["ne", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language: ``words("page", n=3)``."""

    language: Language
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Return a text, filled in; numbers in the language's digits."""
        filled = {
            name: self.digits(str(value)) if isinstance(value, int) else value
            for name, value in values.items()
        }
        return self.texts[key].format(**filled) if filled else self.texts[key]

    def digits(self, text: str) -> str:
        """Return a text of ours with its digits in the language's own.

        >>> words("ne").digits("2081-04-15"), words("en").digits("0.512")
        ('२०८१-०४-१५', '0.512')
        """
        return devanagari_digits(text) if self.language == "ne" else text


@cache
def words(language: Language) -> Words:
    """Return the words of a language."""
    written = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    return Words(language, written[language])


def language_of(asked: str | None, kept: str | None, accepted: str) -> Language:
    """Return the language of a visitor: the one asked for, else the one chosen before, else the browser's.

    >>> language_of(None, None, "en-GB,en;q=0.9,ne;q=0.8"), language_of(None, "ne", "en")
    ('en', 'ne')
    """
    for given in (asked, kept):
        if given in LANGUAGES:
            return given
    weights: dict[Language, float] = {}
    for part in accepted.split(","):
        tag, _, weight = part.strip().partition(";q=")
        for language in LANGUAGES:
            if tag.lower().split("-")[0] == language:
                weights.setdefault(language, _weight(weight))
    return max(weights, key=lambda language: weights[language], default="ne")


def _weight(written: str) -> float:
    try:
        return float(written or 1)
    except ValueError:
        return 0.0
