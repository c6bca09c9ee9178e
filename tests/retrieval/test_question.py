"""What a question means against the words of a generation."""

from __future__ import annotations

import numpy as np
import pytest

from rag_platform.protocols import FloatArray
from rag_platform.retrieval.question import Question
from rag_platform.text.analyze import ALL, analyze
from rag_platform.text.romanize import WordVocabulary

PASSAGES = ["खानेपानीको महसुल हरेक महिना तिर्नुपर्छ।", "विद्यालयमा भर्ना वैशाखमा खुल्छ।", "Water bills are due monthly."]


class Words(WordVocabulary):
    """The words of the passages above, counted in memory."""

    n_chunks, analyzer = len(PASSAGES), ALL

    def frequency(self, term: str) -> int:
        return sum(term in analyze(text) for text in PASSAGES)


@pytest.fixture(scope="module")
def lexicon() -> Words:
    return Words.of_texts(PASSAGES)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("query", "romanized"),
    [
        ("महसुल कहिले तिर्ने?", False),
        ("When is the water bill due?", False),
        ("mahasul kahile tirne?", True),
        ("khanepani mahasul", True),
    ],
)
def test_which_questions_are_read_as_nepali(query: str, romanized: bool) -> None:
    assert Question.of(query).is_romanized is romanized


def test_a_romanized_question_is_read_by_the_words_of_the_collection(lexicon: Words) -> None:
    meaning = Question.of("mahasul kahile tirne?").meaning(lexicon)
    assert meaning.romanized is not None
    assert "महसुल" in meaning.romanized.text
    assert set(analyze("महसुल")) <= set(meaning.terms)
    assert meaning.ideal > 0


def test_its_vector_is_that_of_both_spellings_together(lexicon: Words) -> None:
    asked: list[str] = []

    def embed(text: str) -> FloatArray:
        asked.append(text)
        return np.array([1, 0] if text.isascii() else [0, 1], np.float32)

    question = Question.of("mahasul kahile tirne?")
    vector = question.meaning(lexicon).vector(question.text, embed)
    np.testing.assert_allclose(vector, [0.5**0.5, 0.5**0.5], atol=1e-6)
    assert asked[0] == question.text
    assert len(asked) == 2


def test_other_questions_are_embedded_as_they_are(lexicon: Words) -> None:
    question = Question.of("\ufeffWhen is the bill due?\n")
    asked: list[str] = []

    def embed(text: str) -> FloatArray:
        asked.append(text)
        return np.ones(2, np.float32)

    question.meaning(lexicon).vector(question.text, embed)
    assert asked == ["When is the bill due?"]


def test_words_that_nobody_has_make_the_ideal_larger(lexicon: Words) -> None:
    known, unknown = Question.of("महसुल").meaning(lexicon), Question.of("महसुल हिमनदी").meaning(lexicon)
    assert known.ideal < unknown.ideal
    assert Question.of("?!").meaning(lexicon).ideal == 0


@pytest.mark.parametrize("query", ["महसुल कहिले तिर्ने, महसुल?", "mahasul kahile tirne?"])
def test_each_frequency_is_looked_up_once(query: str) -> None:
    looked_up: list[str] = []

    class Counted(Words):
        def frequency(self, term: str) -> int:
            looked_up.append(term)
            return super().frequency(term)

    meaning = Question.of(query).meaning(Counted.of_texts(PASSAGES))  # type: ignore[arg-type]
    assert len(looked_up) == len(set(looked_up))
    assert set(meaning.frequencies) == set(meaning.terms) <= set(looked_up)
    assert meaning.frequencies["महसुल"] == 1
