from typing import Any

import pytest

from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.prompts import REFUSALS, is_refusal
from rag_platform.answering.support import claims_of, support
from rag_platform.evaluation.answer_measures import faithfulness
from rag_platform.types import Passage

TAX = Passage(
    "सम्पत्ति कर २०८२ मङ्सिर २० गतेभित्र बुझाउनुपर्छ। कात्तिकभित्र बुझाउने करदाताले १० प्रतिशत छुट पाउँछन्।"
    " राजस्व शाखा कोठा नम्बर १०४ मा छ।",
    source="कर सूचना.pdf",
    page=1,
)
LIBRARY = Passage(
    "पुस्तकालय बिहान ९ बजे खुल्छ र साँझ ६ बजे बन्द हुन्छ। The library is closed on Tuesdays. A member may borrow"
    " three books for fourteen days.",
    path="पुस्तकालय ऐन > दफा ४",
)


def test_it_answers_with_the_sentence_that_holds_the_question_and_cites_it() -> None:
    answer = ExtractiveGenerator().answer("सम्पत्ति कर कहिलेसम्म बुझाउनुपर्छ?", [LIBRARY, TAX])
    assert answer.text.startswith("सम्पत्ति कर २०८२ मङ्सिर २० गतेभित्र बुझाउनुपर्छ [2]।")
    assert (answer.refused, answer.citations) == (False, (2,))
    assert answer.usage.tokens == 0


def test_it_answers_english_from_english() -> None:
    answer = ExtractiveGenerator(n_sentences=1).answer("On which day is the library closed?", [TAX, LIBRARY])
    assert answer.text == "The library is closed on Tuesdays [2]."


@pytest.mark.parametrize(
    ("question", "language"),
    [("हवाईजहाजको टिकट कति पर्छ?", "ne"), ("Who painted the Mona Lisa?", "en")],
)
def test_it_refuses_what_nothing_supports(question: str, language: Any) -> None:
    answer = ExtractiveGenerator().answer(question, [TAX, LIBRARY])
    assert (answer.text, answer.refused, answer.citations) == (REFUSALS[language], True, ())
    assert is_refusal(answer.text)
    assert ExtractiveGenerator().answer(question, []).refused


def test_a_row_is_said_with_its_columns_and_headings_and_questions_answer_nothing() -> None:
    passage = Passage(
        "## बजेटको बाँडफाँट\n\n| क्षेत्र | चालु | जम्मा |\n| --- | --- | --- |\n| शिक्षा | ९०० | १,०५० |\n"
        "| स्वास्थ्य | ८५० | ९५० |\n\n## पासवर्ड बिर्सिएँ, के गर्ने?\n\nनयाँ पासवर्ड वडाबाट लिनुहोस्।\n"
    )
    extractive = ExtractiveGenerator(n_sentences=1)
    row = extractive.answer("स्वास्थ्य क्षेत्रको जम्मा बजेट कति हो?", [passage]).text
    assert row == "क्षेत्र: स्वास्थ्य; चालु: ८५०; जम्मा: ९५० [1]।"
    assert faithfulness(row, [passage.text]) == 1.0
    assert faithfulness("क्षेत्र: स्वास्थ्य; चालु: ९००; जम्मा: ९५० [1]।", [passage.text]) == 0.0
    assert extractive.answer("पासवर्ड बिर्सिएँ, के गर्ने?", [passage]).text == "नयाँ पासवर्ड वडाबाट लिनुहोस् [1]।"


def test_what_it_says_is_supported_by_what_it_cites() -> None:
    answer = ExtractiveGenerator(n_sentences=3).answer(
        "राजस्व शाखा कुन कोठामा छ र छुट कति पाइन्छ?", [TAX, LIBRARY]
    )
    texts = [TAX.text, LIBRARY.text]
    for claim in claims_of(answer.text):
        found = support(claim, texts)
        assert found is not None
        assert (found.passage,) == claim.citations


def test_how_many_sentences_it_says_is_part_of_its_recipe() -> None:
    assert ExtractiveGenerator().recipe != ExtractiveGenerator(n_sentences=1).recipe


@pytest.mark.parametrize(
    "text",
    ["", " ", "माफ गर्नुहोस्, यसबारे जानकारी छैन।", "The sources do not answer this question.", "I don't know."],
)
def test_a_refusal_is_recognised(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "छुट पाइँदैन [1]।",
        "There is no information barrier law in Nepal.",
        "कर तिर्ने व्यक्तिको जानकारी छैन भने शाखाले खोज्छ [2]।",
        "पुस्तकालय बन्द छैन।",
    ],
)
def test_a_denial_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)
