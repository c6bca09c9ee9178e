"""Sentences by what they say of a question, in its language and in another, with the bundled encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.nearness import Nearness, nearness
from rag_platform.answering.prompts import REFUSALS
from rag_platform.answering.ranked import ranked
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import SHIPPED, CalibratedEncoder, file_name, load_calibration
from rag_platform.embedding.encoders import load_encoder
from rag_platform.types import Passage

OFFICE = Passage(
    "वडा कार्यालय\n\nवडा कार्यालय बिहान १० बजे खुल्छ र साँझ ५ बजे बन्द हुन्छ। सिफारिस लिन नागरिकताको प्रतिलिपि"
    " ल्याउनुपर्छ। शनिबार कार्यालय बन्द रहन्छ।"
)
POND = Passage("पोखरीमा माछा मार्न पाइँदैन। पोखरीको पानी तीन वर्षमा एक पटक फेरिन्छ। डिलमा सय वटा रूख रोपिएका छन्।")
HOURS = "वडा कार्यालय बिहान १० बजे खुल्छ र साँझ ५ बजे बन्द हुन्छ"


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Nearness:
    bare = load_encoder("intfloat/multilingual-e5-small")
    calibration = load_calibration(SHIPPED / file_name(bare.name), bare.dim)
    made = nearness(CalibratedEncoder(bare, calibration), EmbeddingCache(tmp_path_factory.mktemp("near")))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("At what time does the ward office open?", f"{HOURS} [2]।"),
        ("wada karyalaya kati baje khulcha?", f"{HOURS} [2]।"),
        ("How often is the water of the pond changed?", "पोखरीको पानी तीन वर्षमा एक पटक फेरिन्छ [1]।"),
    ],
)
def test_a_question_gets_the_sentence_of_another_language_that_answers_it(
    near: Nearness, question: str, answer: str
) -> None:
    said = ExtractiveGenerator(n_sentences=1, near=near).answer(question, [POND, OFFICE])
    assert (said.text, said.refused) == (answer, False)


def test_by_words_alone_another_language_is_refused() -> None:
    said = ExtractiveGenerator().answer("At what time does the ward office open?", [POND, OFFICE])
    assert (said.text, said.refused) == (REFUSALS["en"], True)


def test_romanized_nepali_is_read_by_the_words_of_the_passages() -> None:
    said = ExtractiveGenerator(n_sentences=1).answer("wada karyalaya kati baje khulcha?", [POND, OFFICE])
    assert said.text == f"{HOURS} [2]।"


@pytest.mark.parametrize(
    "question",
    [
        "Who won the football match in Lisbon?",
        "चन्द्रमामा पहिलो पटक को पुग्यो?",
        "How many metres deep is the pond?",
    ],
)
def test_what_no_sentence_answers_is_refused(near: Nearness, question: str) -> None:
    assert ExtractiveGenerator(near=near).answer(question, [POND, OFFICE]).refused


def test_a_sentence_lacks_what_is_asked_for(near: Nearness) -> None:
    lengths = ranked("How many metres deep is the pond?", [POND, OFFICE], near=near)
    years = ranked("After how many years is the water changed?", [POND, OFFICE], near=near)
    assert (lengths.lacks_kind, years.lacks_kind) == (True, False)


def test_a_title_is_worth_less_than_a_sentence(near: Nearness) -> None:
    question = "वडा कार्यालय कहाँ छ?"
    title, sentence = (ranked(question, [Passage(f"वडा कार्यालय{stop}")], near=near) for stop in ("", "।"))
    assert title.best < sentence.best - 0.2


def test_few_sentences_are_compared_and_none_twice(near: Nearness, tmp_path: Path) -> None:
    many = [Passage(" ".join(f"वडा नम्बर {n}{k} को बैठक बस्यो।" for k in range(9))) for n in range(1, 6)]
    fresh = Nearness(near.encoder, EmbeddingCache(tmp_path))
    assert len(ranked("बैठक कहिले बस्यो?", many, near=fresh).sentences) == 12
    kept = fresh.cache and fresh.cache.get_many(near.encoder.inner, ["वडा नम्बर 10 को बैठक बस्यो।"], "passage")
    assert kept


def test_a_sentence_longer_than_the_model_is_compared_by_its_beginning(near: Nearness) -> None:
    long = "वडा कार्यालय बिहान १० बजे खुल्छ " * 200
    whole, cut = near.of("कार्यालय कति बजे खुल्छ?", "", [long, long[: len(long) // 4]])
    assert whole == pytest.approx(cut, abs=0.1)


def test_an_encoder_of_unknown_scale_or_without_meaning_compares_nothing() -> None:
    hashing = load_encoder("hashing")
    words = load_calibration(SHIPPED / file_name("hashing"), hashing.dim)
    assert nearness(hashing) is None
    assert nearness(CalibratedEncoder(hashing, words)) is None
