"""When the documents do not answer: what the evidence is, and which of it decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from answering_texts import hits

from rag_platform.answering.ranked import Ranked, Sentence
from rag_platform.answering.refusal import MODELS, CalibratedGate, Evidence, answers_alone, evidence
from rag_platform.index.lexical import query_terms
from rag_platform.retrieval.explain import Explanation
from rag_platform.retrieval.search import SearchResult
from rag_platform.types import Hit

GATE = CalibratedGate()
WORDS = Ranked(())
"""Sentences that were not compared by meaning: words and scores decide."""
FEE = "मोटरसाइकल दर्ता शुल्क कति लाग्छ?"
BOTH = {"dense": 0.6, "dense_rank": 1.0, "lexical": 9.0, "lexical_rank": 1.0}


def searched(
    question: str, n: int = 5, *, margin: float = 0.2, scores: Mapping[str, float] = BOTH, **told: object
) -> SearchResult:
    """Return the first pages of our texts as if they had been found, with scores that fall by a margin."""
    found: list[Hit] = []
    for at, hit in enumerate(hits()[:n]):
        part = margin * at / max(1, n - 1)
        own = dict(scores) if at == 0 else {"dense": scores.get("dense", 0.0) - part, "dense_rank": at + 1.0}
        found.append(replace(hit, score=0.5 - part, scores=own))
    told = {
        "fusion": "calibrated",
        "terms": {term: (w, 1) for term, w in query_terms(question).items()},
    } | told
    explanation = Explanation(question, "ne", **told)  # type: ignore[arg-type]
    return SearchResult(question, tuple(found), {"क": 1}, "m", "hybrid", explanation)


def test_the_evidence_of_an_answer() -> None:
    found = evidence(FEE, searched(FEE))
    assert (found.view, found.passage, found.sentence, found.agreed) == ("scored", 1.0, 1.0, 1.0)
    assert found.margin == pytest.approx(0.2)
    assert found.spread == pytest.approx(0.2)


def test_words_in_several_sentences_are_no_sentence() -> None:
    """मोटरसाइकल and शुल्क are in one sentence, प्रमाणपत्र in another: two thirds and one third of the words."""
    found = evidence("मोटरसाइकल शुल्क प्रमाणपत्र", searched("मोटरसाइकल शुल्क प्रमाणपत्र"))
    assert found.passage == pytest.approx(1.0)
    assert found.sentence == pytest.approx(2 / 3)


def test_a_rare_word_weighs_more() -> None:
    question = "मोटरसाइकल हवाईजहाज"
    (bike,), (plane,) = query_words("मोटरसाइकल"), query_words("हवाईजहाज")
    common = searched(question, terms={bike: (1.0, 1_000), plane: (1.0, 0)})
    rare = searched(question, terms={bike: (1.0, 0), plane: (1.0, 1_000)})
    assert evidence(question, common).passage < 0.2 < 0.8 < evidence(question, rare).passage


def query_words(word: str) -> list[str]:
    return [term for term, weight in query_terms(word).items() if weight == 1.0]


def test_an_answer_is_more_probable_than_a_near_miss_and_that_than_nothing() -> None:
    near = "मोटरसाइकल आयात प्रतिबन्ध कहिले हट्यो?"
    far = "मंगल ग्रहमा कति चन्द्रमा छन्?"
    apart = {"dense": 0.6, "dense_rank": 1.0}
    probabilities = [
        GATE.probability(FEE, searched(FEE)),
        GATE.probability(near, searched(near, margin=0.1)),
        GATE.probability(far, searched(far, margin=0.02, scores=apart)),
    ]
    assert probabilities == sorted(probabilities, reverse=True)
    assert [
        GATE.refuses(q, r, WORDS) for q, r in ((FEE, searched(FEE)), (far, searched(far, margin=0.02)))
    ] == [
        False,
        True,
    ]


def test_the_cosine_alone_decides_nothing() -> None:
    near, far = ({**BOTH, "dense": dense} for dense in (0.99, 0.01))
    assert GATE.probability(FEE, searched(FEE, scores=near)) == pytest.approx(
        GATE.probability(FEE, searched(FEE, scores=far))
    )


def test_who_reads_refuses_less() -> None:
    question = "मोटरसाइकल आयात प्रतिबन्ध कहिले हट्यो?"
    result = searched(question, margin=0.1)
    assert GATE.refuses(question, result, WORDS) is True
    assert GATE.refuses(question, result, is_read=True) is False


@pytest.mark.parametrize("told", [{"fusion": "rrf"}, {"reranker": "BAAI/bge-reranker-v2-m3"}])
def test_scores_of_another_kind_are_left_aside(told: Any) -> None:
    assert evidence(FEE, searched(FEE, **told)).view == "worded"
    assert evidence(FEE, searched(FEE, n=2)).view == "worded"
    assert GATE.refuses(FEE, searched(FEE, n=1), WORDS) is False


def test_another_script_is_told_by_scores_alone() -> None:
    question = "How much is the registration of a motorcycle?"
    clear, unclear = searched(question, margin=0.3), searched(question, margin=0.01)
    assert evidence(question, clear).view == "foreign"
    assert GATE.refuses(question, clear, WORDS) is False
    assert GATE.refuses(question, unclear, WORDS) is True
    assert GATE.refuses(question, searched(question, n=2), WORDS) is None


def test_the_meaning_of_the_best_sentence_decides_whatever_its_script() -> None:
    question = "How much is the registration of a motorcycle?"
    result = searched(question, margin=0.1, match=0.5)
    best = Sentence("मोटरसाइकलको दर्ता शुल्क ५०० रुपैयाँ लाग्छ।", 1, 0, 0.0, 0.7)
    near, far = Ranked((best,), is_near=True, best=0.7), Ranked((best,), is_near=True, best=0.1)
    found = evidence(question, result, near)
    assert (found.view, found.best, found.foreign) == ("near", 0.7, True)
    assert not evidence("motorcycle darta garna kati shulka lagcha?", result, near).foreign
    assert found.margin == pytest.approx(0.1 / 0.5)
    assert [GATE.refuses(question, result, one) for one in (near, far)] == [False, True]
    assert evidence(question, searched(question, fusion="rrf"), near).view == "near_unscored"
    assert GATE.refuses(question, searched(question, n=1), near) is False


def test_a_sentence_without_the_number_that_is_asked_for_is_a_tenth_as_probable() -> None:
    result = searched(FEE, match=0.5)
    has = Ranked((), is_near=True, best=0.7)
    lacks = replace(has, lacks_kind=True)
    assert GATE.probability(FEE, result, lacks) == pytest.approx(0.1 * GATE.probability(FEE, result, has))
    assert [GATE.refuses(FEE, result, one) for one in (has, lacks)] == [False, True]
    assert not GATE.refuses(FEE, result, lacks, is_read=True)  # who reads may find it elsewhere


def test_a_question_without_a_word_of_its_passage_is_read() -> None:
    """By words it is hopeless; by meaning it is not, though without a model it is refused."""
    question = "चक्का गुडाउन खल्ती कति रित्तिन्छ?"
    result = searched(question, margin=0.02, match=0.7, scores={"dense": 0.6, "dense_rank": 1.0})
    assert GATE.refuses(question, result, is_read=True)
    found = Ranked((), is_near=True, best=0.45)
    assert GATE.refuses(question, result, found)
    assert not GATE.refuses(question, result, found, is_read=True)


def test_without_a_search_the_sentences_decide() -> None:
    best = Sentence("मोटरसाइकलको दर्ता शुल्क ५०० रुपैयाँ लाग्छ।", 1, 0, 1.0, 0.7)
    assert answers_alone(FEE, Ranked((best,), is_near=True, best=0.7))
    assert not answers_alone(FEE, Ranked((best,), is_near=True, best=0.3))
    assert not answers_alone(FEE, Ranked((), is_near=True, best=0.7))


def test_nothing_found_is_refused() -> None:
    result = replace(searched(FEE), hits=())
    assert (GATE.refuses(FEE, result, is_read=True), GATE.probability(FEE, result)) == (True, 0.0)


def test_the_weights_are_of_what_the_evidence_holds() -> None:
    for model in MODELS.values():
        assert set(model.weights) <= set(Evidence.__dataclass_fields__)
        assert 0 < model.read < model.refused < 1
    logit = -2.96 + 1.92 * 1 + 0.87 * 0.5 + 12.71 * 0.1 + 1.35 * 0
    found = Evidence("scored", passage=1.0, sentence=0.5, margin=0.1)
    assert MODELS["scored"].probability(found) == pytest.approx(1 / (1 + 2.718281828**-logit))
