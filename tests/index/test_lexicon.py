"""Counts of terms and words by hand, changes against a rebuild, files that do not belong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from points import COLLECTION, MODEL, Corpus, chunks_of

from rag_platform.errors import DamagedFile
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.lexicon import StoredLexicon, Tally, following
from rag_platform.text.romanize import phonetic_key

WORDS = ["कर", "करको", "कार", "घर", "विद्यालय", "बिध्यालय", "tax", "सम्पत्ति"]


def tally(texts: Sequence[str]) -> Tally:
    return Tally(chunks_of("a.txt", list(texts)))


def files(lexicon: StoredLexicon, folder: Path) -> list[bytes]:
    lexicon.replace(folder)
    return [(folder / name).read_bytes() for name in ("terms.arrow", "words.arrow")]


def test_counts_by_hand() -> None:
    lexicon = StoredLexicon.of(tally(["कर कर", "करको घर", "कार", "tax"]))
    assert lexicon.n_chunks == 4
    assert [lexicon.frequency(term) for term in ("कर", "घर", "tax", "~tax", "नदी")] == [2, 1, 1, 1, 0]
    assert lexicon.candidates("kr") == [("कर", 2), ("कार", 1)]
    assert lexicon.candidates("krk") == [("करको", 1)]
    assert lexicon.candidates("") == []


def test_headers_of_tables_are_counted() -> None:
    assert StoredLexicon.of(tally(["| दर्ता |"])).candidates(phonetic_key("sulka")) == [("शुल्क", 1)]


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4), max_size=6),
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4), max_size=6),
    st.integers(0, 6),
)
@settings(max_examples=30, deadline=None)
def test_changes_equal_a_rebuild(
    tmp_path_factory: pytest.TempPathFactory, old: list[list[str]], new: list[list[str]], n_removed: int
) -> None:
    folder = tmp_path_factory.mktemp("lexicon")
    before, added = [" ".join(words) for words in old], [" ".join(words) for words in new]
    gone, kept = before[:n_removed], before[n_removed:]
    StoredLexicon.of(tally(before)).save(folder / "before")
    opened = StoredLexicon.open(folder / "before", len(before))
    changed = opened.changed(added=tally(added), removed=tally(gone))
    assert files(changed, folder / "x") == files(StoredLexicon.of(tally(kept + added)), folder / "x")


def test_all_is_counted_where_the_last_counts_are_wrong(caplog: pytest.LogCaptureFixture) -> None:
    wrong, chunks = StoredLexicon.of(tally(["tax"])), chunks_of("a.txt", ["घर", "कर"])
    lexicon = following(wrong, added=tally(["कर"]), removed=tally(["बाटो"]), chunks=lambda: chunks)
    assert lexicon.n_chunks == 2
    assert [lexicon.frequency(term) for term in ("घर", "कर", "tax")] == [1, 1, 0]
    assert "do not belong" in caplog.text


def test_files_are_read_after_their_folder_is_gone(tmp_path: Path) -> None:
    StoredLexicon.of(tally(["कर"])).replace(tmp_path / "lexicon")
    lexicon = StoredLexicon.open(tmp_path / "lexicon", 1)
    StoredLexicon.of(tally(["घर", "घर"])).replace(tmp_path / "lexicon")
    assert (lexicon.frequency("कर"), lexicon.candidates("kr")) == (1, [("कर", 1)])
    assert StoredLexicon.open(tmp_path / "lexicon", 2).candidates("kr") == []
    assert [path.name for path in tmp_path.iterdir()] == ["lexicon"]


def test_what_does_not_belong_is_refused(tmp_path: Path) -> None:
    lexicon = StoredLexicon.of(tally(["कर"]))
    with pytest.raises(DamagedFile, match="do not belong to the points"):
        lexicon.changed(added=tally([]), removed=tally(["घर"]))
    lexicon.save(tmp_path / "lexicon")
    with pytest.raises(DamagedFile, match=r"counts 1 chunks instead of 5; publish again"):
        StoredLexicon.open(tmp_path / "lexicon", 5)
    with pytest.raises(DamagedFile, match=r"terms\.arrow is missing; publish again"):
        StoredLexicon.open(tmp_path / "elsewhere", 1)


def test_a_word_that_sounds_like_nothing_typed_comes_and_goes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index, corpus = EdgeIndex(tmp_path), Corpus({"मन्त्र.txt": ["ॐ शान्ति", "ऽऽऽ"], "कर.txt": ["सम्पत्ति कर"]})
    corpus.publish(index)
    corpus.remove("मन्त्र.txt")
    corpus.publish(index)
    assert "are read to count" not in caplog.text
    assert index.open(COLLECTION, MODEL).lexicon.n_chunks == 1
