import os
import subprocess
import sys

import numpy as np
import pytest

from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.errors import CallerError

ENCODER = HashingEncoder()


def cosine(a: str, b: str) -> float:
    u, v = ENCODER.encode([a, b], "passage")
    return float(u @ v)


def test_one_letter_is_a_word_and_three_ngrams() -> None:
    # <क, क>, <क> and the word itself: four features of weight 1 + ln 1, so 1/sqrt(4) each
    vector = ENCODER.encode(["क"], "passage")[0]
    assert np.count_nonzero(vector) == 4
    assert np.abs(vector[vector != 0]) == pytest.approx([0.5] * 4)


@pytest.mark.parametrize(
    ("a", "b"), [("कि", "का"), ("का", "के"), ("कि", "के"), ("क", "का"), ("शिक्षा", "शिक्षक")]
)
def test_vowel_signs_tell_words_apart(a: str, b: str) -> None:
    assert cosine(a, b) < 0.7


@pytest.mark.parametrize(
    ("a", "b"),
    [("संविधान", "संविधानले"), ("बजेट", "बजेटमा"), ("विद्यालय", "विद्यालयहरूको"), ("नेपाल", "नेपालीहरू")],
)
def test_inflected_words_are_near_and_other_words_are_not(a: str, b: str) -> None:
    assert cosine(a, b) > 0.25
    assert abs(cosine(a, "मौसम")) < 0.2


@pytest.mark.parametrize(
    ("a", "b"), [("गर्\u200dयो", "गर्यो"), ("२०७२", "2072"), ("पाँच", "पांच"), ("Kathmandu", "KATHMANDU")]
)
def test_spellings_that_search_folds_are_one(a: str, b: str) -> None:
    assert cosine(a, b) == pytest.approx(1.0, abs=1e-6)


def test_a_question_is_nearest_to_its_passage() -> None:
    passages = [
        "नागरिकताको प्रमाणपत्र लिन वडा कार्यालयको सिफारिस आवश्यक पर्छ।",
        "यस वर्ष धानको उत्पादन बढेको कृषि मन्त्रालयले जनाएको छ।",
        "खोप केन्द्र हरेक महिनाको पहिलो साता सञ्चालन हुन्छ।",
    ]
    questions = ["नागरिकता लिन के सिफारिस चाहिन्छ?", "धान उत्पादन कति बढ्यो?", "खोप कहिले लगाइन्छ?"]
    scores = ENCODER.encode(questions, "query") @ ENCODER.encode(passages, "passage").T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", ["।", "— ॥ —", "\u200d", "🙂", "?"])
def test_text_without_a_word_has_a_vector_too(text: str) -> None:
    assert np.linalg.norm(ENCODER.encode([text], "query")[0]) == pytest.approx(1.0)


def test_blank_text_is_refused_with_its_position() -> None:
    with pytest.raises(CallerError, match="text 1 of 2 is blank"):
        ENCODER.encode(["सूचना", " \n"], "passage")


def test_every_process_gives_the_same_vector() -> None:
    code = (
        "from rag_platform.embedding.hashing import HashingEncoder as H;"
        "print(H().encode(['नेपालको संविधान २०७२'], 'passage').tobytes().hex())"
    )
    seeds = ["1", "2"]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in seeds
    }
    assert found == {ENCODER.encode(["नेपालको संविधान २०७२"], "passage").tobytes().hex()}
