"""Which words are marked, and what of a long passage is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.analyze import analyze
from serving.page.highlight import Piece, excerpt, pieces, telling_terms

TERMS = frozenset(analyze("पुस्तकालय सदस्यता"))


def marked(text: str) -> list[str]:
    return [piece.text for piece in pieces(text, TERMS) if piece.hit]


def test_inflected_forms_are_marked_whole() -> None:
    assert marked("पुस्तकालयको सदस्यताका लागि पुस्तकालयहरूमा निवेदन") == ["पुस्तकालयको", "सदस्यताका", "पुस्तकालयहरूमा"]


def test_words_that_every_passage_has_are_not_telling() -> None:
    asked = "पुस्तकालयको सदस्यता शुल्क कति हो?"
    weights = {term: 1.0 for word in asked.split() for term in analyze(word)}
    assert telling_terms(asked, weights) == frozenset(analyze("पुस्तकालय सदस्यता शुल्क"))


def test_parts_of_words_are_not_telling() -> None:
    assert telling_terms("कर", {"कर": 1.0, "~कर": 0.3}) == {"कर"}


@given(st.text(alphabet="पुस्तकालय सदस्यता।\u200d\u200cab<>&\n१2", max_size=300))
def test_pieces_are_the_text(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text, TERMS)) == text


@given(
    st.lists(st.sampled_from(["पुस्तकालय", "नियम", "घर", "सदस्यता", "कार्यालयमा"]), max_size=200),
    st.integers(20, 120),
)
def test_an_excerpt_is_a_stretch_of_the_passage(written: list[str], length: int) -> None:
    text = " ".join(written)
    shown = "".join(piece.text for piece in excerpt(pieces(text, TERMS), length))
    core = shown.removeprefix("… ").removesuffix(" …")
    assert core in text
    assert len(core) <= 1.25 * length


def test_an_excerpt_is_where_most_marked_words_stand() -> None:
    text = "पुस्तकालय " + "नियम " * 100 + "पुस्तकालयको सदस्यता शुल्क " + "घर " * 100
    shown = excerpt(pieces(text, TERMS), 100)
    assert [piece.text for piece in shown if piece.hit] == ["पुस्तकालयको", "सदस्यता"]
    assert (shown[0], shown[-1]) == (Piece("… ", False), Piece(" …", False))
