"""Rebuild what ``rag_platform.text`` knows of words and letters from Tesseract's language data.

Writes ``nepali_words.xz`` (the word list inside ``nep.traineddata``) and ``letter_pairs.txt`` (how much
likelier two letters follow each other in Preeti's keys than in English, from the same list and the one inside
``eng.traineddata``). Needs Tesseract's own tools, combine_tessdata and dawg2wordlist.

    python scripts/word_list.py [TESSDATA_FOLDER]
"""

from __future__ import annotations

import lzma
import math
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise, takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "tests")]

from typist import preeti  # noqa: E402

TEXT = ROOT / "rag_platform" / "text"
TESSDATA = Path("/usr/share/tesseract-ocr/5/tessdata")

WORDS_HEADER = """\
# Nepali words, from the word list inside nep.traineddata (tessdata_fast 4.00, lang nep, synth20170629).
# Copyright 1988-1995 Hewlett Packard Company, 2006-2022 Google Inc. Licensed under the Apache License,
# Version 2.0. Changed: NFC, joiners taken out, words that are no well-formed Nepali left out.
# Made by scripts/word_list.py. After the empty line: xz of sorted words, each a line of the number of
# letters it shares with the word before (as the character 48 + number) and the rest.

"""
PAIRS_HEADER = """\
# How much likelier a pair of letters is in Preeti's keys than in English: natural logarithm of the ratio, in
# halves, 'I' is 0, 'J' is 0.5, 'H' is -0.5. Rows: first letter (word edge, a to z); columns: the second
# (edge, a to z). Computed by scripts/word_list.py from the word lists in nep.traineddata and eng.traineddata.
"""

# Not Nepali, but what bad converters made of it: a sign without its letter, लार्इ, थुपै्र, अन्र्तगत.
_DAMAGED = re.compile(
    "^[\u0900-\u0903\u093a-\u094d]|[\u093e-\u094d][\u093e-\u094c]|[\u093e-\u094c]\u094d|\u094d\u094d|\u094d[\u0900-\u0903]"
    "|[\u0904-\u0914][\u093e-\u094d]|\u094d[\u0904-\u0914]|(?<![कग])\u094dर\u094d[क-ह]"
)
# Of two characters the list has 650 words, mostly splinters of words; the real ones are in words_extra.txt.
_DEVANAGARI = re.compile("[\u0900-\u0963\u0971-\u097f]{3,}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def unpacked(tessdata: Path, language: str) -> list[str]:
    """Return the words inside one language's data."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{folder}/{language}."
        words = Path(folder) / "words"
        for command in (
            ["combine_tessdata", "-u", str(tessdata / f"{language}.traineddata"), prefix],
            ["dawg2wordlist", f"{prefix}lstm-unicharset", f"{prefix}lstm-word-dawg", str(words)],
        ):
            subprocess.run(command, check=True, capture_output=True)
        return words.read_text(encoding="utf-8").split()


def nepali(words: Iterable[str]) -> list[str]:
    """Return the well-formed words, sorted; a final visarga that stands for a colon is taken off."""
    folded = {re.sub("[\u200c\u200d]", "", unicodedata.normalize("NFC", word)) for word in words}
    good = {word for word in folded if _DEVANAGARI.fullmatch(word) and not _DAMAGED.search(word)}
    return sorted(word for word in good if not (word.endswith("\u0903") and word[:-1] in good))


def front_coded(words: Iterable[str]) -> str:
    """Return sorted words, each without what it shares with the one before."""
    lines, before = [], ""
    for word in words:
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, word, strict=False)))
        lines.append(chr(48 + shared) + word[shared:])
        before = word
    return "\n".join(lines)


def letter_pairs(nepali_words: Iterable[str], english_words: Iterable[str]) -> str:
    """Return the table of pairs as rows of characters."""
    legacy, english = (_pairs(words) for words in (map(preeti, nepali_words), english_words))
    alphabet = f" {_LETTERS}"
    return "\n".join("".join(_ratio(legacy, english, a + b) for b in alphabet) for a in alphabet)


def _pairs(words: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for word in words:
        edged = f" {word.lower()} "
        counts.update(a + b for a, b in pairwise(edged) if (a + b).replace(" ", "").isalpha())
    return counts


def _ratio(legacy: Counter[str], english: Counter[str], pair: str) -> str:
    """Return the smoothed log-ratio within -4 and 4, in halves, as a letter."""
    a, b = ((counts[pair] + 0.5) / (counts.total() + 0.5 * 27 * 27) for counts in (legacy, english))
    return chr(ord("I") + round(2 * max(-4.0, min(4.0, math.log(a / b)))))


def main() -> None:
    """Write both files."""
    tessdata = Path(sys.argv[1]) if len(sys.argv) > 1 else TESSDATA
    words = nepali(unpacked(tessdata, "nep"))
    payload = lzma.compress(front_coded(words).encode(), preset=9 | lzma.PRESET_EXTREME)
    (TEXT / "nepali_words.xz").write_bytes(WORDS_HEADER.encode() + payload)
    english = [word for word in unpacked(tessdata, "eng") if word.isascii() and word.isalpha()]
    pairs = letter_pairs(words, english)
    (TEXT / "letter_pairs.txt").write_text(f"{PAIRS_HEADER}{pairs}\n", encoding="utf-8")
    print(f"{len(words)} Nepali words in {len(payload)} bytes; pairs from {len(english)} English words")


if __name__ == "__main__":
    main()
