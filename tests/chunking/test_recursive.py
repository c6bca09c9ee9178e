from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_platform.chunking.chunkers import load_chunker
from rag_platform.chunking.recursive import SEPARATORS, RecursiveChunker
from rag_platform.chunking.tokenizers import load_tokenizer
from rag_platform.errors import InvalidSetting
from rag_platform.text.normalize import stored_text
from rag_platform.text.segment import grapheme_boundaries

GRAPHEMES = load_tokenizer("graphemes")
XLM_R = load_tokenizer("xlm-r")
ALPHABET = "कषतरनयािे्ं\u200d  \n\n।॥?!.|aB9१"
TEXTS = st.text(ALPHABET, max_size=200) | st.text(max_size=80) | st.text(ALPHABET[:11], max_size=120)


def chunker(size: int, ratio: float = 0.0, name: str = "recursive") -> RecursiveChunker:
    return RecursiveChunker(GRAPHEMES, size=size, overlap_ratio=ratio, name=name)


def cut(text: str, size: int, ratio: float = 0.0, name: str = "recursive") -> list[str]:
    return [text[span.start : span.end] for span in chunker(size, ratio, name).split(text)]


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("सानो पाठ।\n\nदुई हरफ।\n", 99, ["सानो पाठ।\n\nदुई हरफ।"]),
        # 3 + 3 graphemes fit in 6; the third paragraph begins a chunk.
        ("कखग\n\nघङच\n\nछजझ", 6, ["कखग\n\nघङच", "छजझ"]),
        # A paragraph too long is cut at its lines, a line at its sentences.
        ("कखग\nघङच\nछजझ", 4, ["कखग", "घङच", "छजझ"]),
        ("कखग। घङच? छजझ! टठड॥", 8, ["कखग। घङच?", "छजझ! टठड॥"]),
        ("रु. ५० मात्र। डा. राई।", 9, ["रु. ५० मात्र।", "डा. राई।"]),
        ("One two. Three 3.14 x.", 12, ["One two.", "Three 3.14 x."]),
        ("क ख ग घ ङ", 2, ["क ख", "ग घ", "ङ"]),
        ("क्षत्रियक्षत्रिय", 2, ["क्षत्रि", "यक्ष", "त्रिय"]),
        ("", 5, []),
        (" \n\n\t ", 5, []),
        ("।\n\n\n\nक", 1, ["।", "क"]),
    ],
)
def test_the_coarsest_separator_that_fits_cuts(text: str, size: int, expected: list[str]) -> None:
    assert cut(text, size) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Paragraphs of 3, 8 and 3 graphemes; sentences of 3, 3, 5 and 3; words of 3, 3, 2, 3 and 3.
        ("recursive", ["कख।", "गघ। ङच छज।", "झञ।"]),
        ("sentences", ["कख।\n\nगघ।", "ङच छज।\n\nझञ।"]),
        ("words", ["कख।\n\nगघ। ङच", "छज।\n\nझञ।"]),
    ],
)
def test_a_chunker_of_the_family_cuts_at_its_own_separators(name: str, expected: list[str]) -> None:
    assert cut("कख।\n\nगघ। ङच छज।\n\nझञ।", 8, 0.0, name) == expected


def test_windows_of_words_repeat_words_not_sentences() -> None:
    # 4 of 8 graphemes are repeated: a sentence of 4; of 9 the last words, not from the sentence among them.
    assert cut("क ख। ग घ ङ। च छ ज।", 8, 0.5, "sentences") == ["क ख। ग घ ङ।", "ग घ ङ। च छ ज।"]
    assert cut("क ख। ग घ ङ। च छ ज झ।", 9, 0.5, "words") == ["क ख। ग घ ङ। च छ", "ङ। च छ ज झ।"]


def test_table_rows_stay_whole_and_are_repeated_whole() -> None:
    rows = ["| नाम | रकम |", "| राम | १२३ |", "| सीता | ४५६ |", "| हरि | ७८९ |"]
    # A row has 7 to 8 graphemes, the pipes among them; 20 hold two rows, and half of 20 one row again.
    chunks = cut("\n".join(rows), 20, 0.5)
    assert chunks == ["\n".join(rows[:2]), "\n".join(rows[1:3]), "\n".join(rows[2:])]


def test_a_row_longer_than_the_overlap_is_not_repeated_in_part() -> None:
    rows = [f"| क ख ग घ {n} |" for n in "१२३४"]
    assert cut("\n".join(rows), 7, 0.5) == rows


def test_overlap_prefers_whole_sentences_and_never_exceeds_what_is_asked() -> None:
    # 4 graphemes a sentence: 12 hold three; 0.4 * 12 = 4 of them are repeated.
    assert cut("कखग। घङच। छजझ। टठड। ढणत।", 12, 0.4) == ["कखग। घङच। छजझ।", "छजझ। टठड। ढणत।"]
    # No sentence begins within 3 graphemes from the end: whole words.
    assert cut("क ख ग घ ङ च छ ज झ ञ ट ठ।", 8, 0.4) == ["क ख ग घ ङ च छ ज", "च छ ज झ ञ ट ठ।"]
    # The next sentence has 7 of 8 graphemes, so only 1 could be repeated, and no word is as short.
    assert cut("क ख ग घ ङ च। छ ज झ ञ ट ठ।", 8, 0.4) == ["क ख ग घ ङ च।", "छ ज झ ञ ट ठ।"]


def test_words_without_spaces_are_cut_between_aksharas() -> None:
    text = "क्षत्रिय" * 300
    aksharas = set(grapheme_boundaries(text))
    spans = RecursiveChunker(XLM_R, size=256, overlap_ratio=0.15).split(text)
    assert all({span.start, span.end} <= aksharas for span in spans)
    assert all(text[span.start] in "क्षत्रिय" and text[span.start] not in "्ि" for span in spans)
    assert len(spans) == 5
    overlaps = [XLM_R.count(text[b.start : a.end]) for a, b in pairwise(spans)]
    assert all(30 <= n <= 38 for n in overlaps)


@given(TEXTS, st.integers(2, 30), st.sampled_from([0.0, 0.15, 0.5, 0.9]), st.sampled_from(list(SEPARATORS)))
def test_the_laws_of_spans(raw: str, size: int, ratio: float, name: str) -> None:
    text = stored_text(raw)
    spans = chunker(size, ratio, name).split(text)
    bounds = set(grapheme_boundaries(text))
    for span in spans:
        chunk = text[span.start : span.end]
        assert chunk.strip()
        assert GRAPHEMES.count(chunk) <= size
        assert {span.start, span.end} <= bounds
    for a, b in pairwise(spans):
        assert a.start < b.start
        assert a.end < b.end
        assert GRAPHEMES.count(text[b.start : max(a.end, b.start)]) <= int(size * ratio)
    covered = {at for span in spans for at in range(span.start, span.end)}
    assert all(char.isspace() for at, char in enumerate(text) if at not in covered)
    if text.strip() and GRAPHEMES.count(text) <= size:
        assert len(spans) == 1


@settings(max_examples=60)
@given(TEXTS, st.sampled_from([16, 40]), st.sampled_from([0.0, 0.15]))
def test_no_chunk_exceeds_its_size_in_model_tokens(raw: str, size: int, ratio: float) -> None:
    text = stored_text(raw)
    spans = RecursiveChunker(XLM_R, size=size, overlap_ratio=ratio).split(text)
    assert all(XLM_R.count(text[span.start : span.end]) <= size for span in spans)


@pytest.mark.parametrize("text", ["\u0301" * 500, "क्" * 300, "\ufdfa" * 60, "🇳🇵" * 200, "a" * 3000])
def test_monstrous_words_still_fit(text: str) -> None:
    spans = RecursiveChunker(XLM_R, size=32, overlap_ratio=0.15).split(text)
    assert spans[0].start == 0
    assert spans[-1].end == len(text)
    assert all(b.start <= a.end for a, b in pairwise(spans))
    assert max(XLM_R.count(text[span.start : span.end]) for span in spans) <= 32


def test_the_work_grows_with_the_text_only() -> None:
    counted = 0

    class Counting:
        name = "counting-1"

        def count(self, text: str) -> int:
            nonlocal counted
            counted += len(text)
            return GRAPHEMES.count(text)

    text = "नेपालको संविधान जारी भयो। सबै नागरिक समान छन्।\n" * 400
    RecursiveChunker(Counting(), size=64, overlap_ratio=0.15).split(text)
    assert counted < 12 * len(text)


@pytest.mark.parametrize(("size", "ratio"), [(0, 0.1), (-5, 0.1), (256, 1.0), (256, 1.5), (256, -0.1)])
def test_settings_that_cannot_work_are_refused(size: int, ratio: float) -> None:
    with pytest.raises(InvalidSetting, match=r"default"):
        load_chunker("recursive", tokenizer=GRAPHEMES, size=size, overlap_ratio=ratio)
