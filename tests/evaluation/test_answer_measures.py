import math

import pytest

from rag_platform.answering.facts import agreement
from rag_platform.evaluation.answer_measures import (
    ANSWER_MEASURES,
    answer_scores,
    chrf,
    citation_validity,
    exact,
    faithfulness,
    refusals,
    token_f1,
    unsupported,
)
from rag_platform.types import Answer

PASSAGES = [
    "सम्पत्ति कर २०८२ मङ्सिर २० गतेभित्र बुझाउनुपर्छ। म्याद नाघेपछि १२ प्रतिशत विलम्ब शुल्क थपिन्छ।",
    "पुस्तकालय बिहान ९ बजे खुल्छ। विद्यार्थीले शुल्क तिर्नुपर्दैन।",
]


def test_exact_folds_spelling_and_digits_and_graphemes_forget_spaces() -> None:
    assert exact("मङ्गलबार।", "मंगलबार") == 1.0
    assert exact("१०४", "104") == 1.0
    assert exact("मङ्गलबार", "बुधबार") == 0.0
    assert (exact("प्रति दिन", "प्रतिदिन"), exact("प्रति दिन", "प्रतिदिन", "grapheme")) == (0.0, 1.0)


def test_token_f1_is_a_bag_of_stems() -> None:
    # कोठा, 104 of 2 words here and 3 there (नम्बर is missing; मा is a word of its own)
    assert token_f1("कोठा १०४", "कोठा नम्बर 104") == pytest.approx(2 * 2 / (2 + 3))
    assert token_f1("नगरपालिकाले", "नगरपालिकाको") == 1.0
    assert token_f1("", "") == 1.0
    assert token_f1("", "कर") == 0.0
    assert token_f1("कर कर", "कर") == pytest.approx(2 * 1 / (2 + 1))
    # graphemes: क, र against क, ल
    assert token_f1("कर", "कल", "grapheme") == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("answer", "reference", "value"),  # of sacreBLEU 2.6.0, CHRF().sentence_score / 100
    [
        ("cat", "cats", 0.6886227544910179),
        ("सम्पत्ति कर मङ्सिर २० गते", "सम्पत्ति कर मङ्सिर २५ गतेभित्र", 0.683547678792472),
        ("the fee is ten rupees", "the fee was ten rupees", 0.7026458283745477),
        ("क", "ख", 0.0),
        ("", "x", 0.0),
        ("abc", "abc", 1.0),
    ],
)
def test_chrf_is_that_of_sacrebleu(answer: str, reference: str, value: float) -> None:
    assert chrf(answer, reference) == pytest.approx(value, abs=1e-12)


def test_chrf_agrees_with_sacrebleu_itself() -> None:
    metrics = pytest.importorskip("sacrebleu.metrics", reason="sacrebleu is not installed")
    scorer = metrics.CHRF()
    for answer in PASSAGES:
        for reference in PASSAGES:
            expected = scorer.sentence_score(answer, [reference]).score / 100
            assert chrf(answer, reference) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("१०४", "कोठा नम्बर 104", 1.0),
        ("८४.५ करोड", "८४ करोड ५० लाख", 1.0),
        ("2025-12-06", "२०८२ मङ्सिर २० गते", 1.0),  # 1 Mangsir 2082 is 17 November 2025
        ("मंसिर २०", "२०८२ मङ्सिर २० गते", 1.0),
        ("मंसिर २१", "२०८२ मङ्सिर २० गते", 0.0),
        ("वडा ४", "वडा ४ र ७", 2 * 1 * 0.5 / 1.5),
        ("वडा ४, ५ र ७", "वडा ४ र ७", 2 * 1 * (2 / 3) / (1 + 2 / 3)),
        ("छैन", "चौध दिन", 0.0),
        ("आ.व. २०८२/०८३", "आर्थिक वर्ष २०८२/८३", 1.0),
        ("कर", "कर", None),
    ],
)
def test_numbers_and_dates_agree_across_digits_words_and_calendars(
    answer: str, reference: str, value: float | None
) -> None:
    assert agreement(answer, reference) == (None if value is None else pytest.approx(value))


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    answer = "कर मङ्सिर २० गतेभित्र बुझाउनुपर्छ [1]। विद्यार्थीले शुल्क तिर्नुपर्छ [2]।"
    assert faithfulness(answer, PASSAGES) == pytest.approx(1 / 2)
    ((claim, reason),) = unsupported(answer, PASSAGES)
    assert claim == "विद्यार्थीले शुल्क तिर्नुपर्छ।"
    assert "denied" in reason
    assert faithfulness("The fee is ten rupees.", PASSAGES) is None
    assert faithfulness("", PASSAGES) is None
    assert faithfulness("कर बुझाउनुपर्छ।", []) == 0.0


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("पुस्तकालय बिहान ९ बजे खुल्छ [2]।", 1.0),
        ("पुस्तकालय बिहान ९ बजे खुल्छ [1, २]।", 1.0),
        ("पुस्तकालय बिहान ९ बजे खुल्छ [1]।", 0.0),
        ("पुस्तकालय बिहान ९ बजे खुल्छ [2][5]।", 0.0),
        ("पुस्तकालय बिहान ९ बजे खुल्छ।", 0.0),
        ("पुस्तकालय बिहान ९ बजे खुल्छ [2]। म्याद नाघेपछि १२ प्रतिशत विलम्ब शुल्क थपिन्छ।", 0.5),
        ("", None),
    ],
)
def test_a_citation_is_valid_when_it_exists_and_supports(answer: str, value: float | None) -> None:
    assert citation_validity(answer, PASSAGES) == value


def test_refusals_have_precision_and_recall() -> None:
    found = refusals([True, True, False, False, True], [False, False, False, True, True])
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.answered == pytest.approx(1 / 2)
    assert (found.n_refused, found.n_unanswerable, found.n_answerable) == (3, 3, 2)
    assert refusals([], []).precision == 0.0


def test_all_scores_of_an_answer() -> None:
    answer = Answer("पुस्तकालय बिहान ९ बजे खुल्छ [2]।", citations=(2,))
    found = answer_scores(answer, reference="बिहान ९ बजे", passages=PASSAGES)
    assert tuple(found) == ANSWER_MEASURES
    assert {one.status for one in found.values()} == {"ok"}
    assert (found["exact"].value, found["numbers"].value) == (0.0, 1.0)
    assert found["F1"].value == pytest.approx(2 * 3 / (5 + 3))
    assert (found["faithful"].value, found["citations"].value, found["answered"].value) == (1.0, 1.0, 1.0)
    assert found["refusal"].value == 1.0


def test_a_refusal_scores_nothing_for_free() -> None:
    refused = Answer("दिइएका स्रोतमा यस प्रश्नको जवाफ भेटिएन।", refused=True)
    wrong = answer_scores(refused, reference="बिहान ९ बजे", passages=PASSAGES)
    assert [wrong[name].value for name in ("exact", "F1", "chrF", "numbers", "answered", "refusal")] == [
        0.0
    ] * 6
    assert (wrong["faithful"].status, wrong["faithful"].reason) == ("skipped", "refused")
    assert math.isnan(wrong["faithful"].value)
    right = answer_scores(refused, reference="", passages=PASSAGES, answerable=False)
    assert right["refusal"].value == 1.0
    assert {right[name].status for name in ("exact", "answered", "citations")} == {"skipped"}
    invented = answer_scores(Answer("मङ्गलबार।"), reference="", passages=PASSAGES, answerable=False)
    assert (invented["refusal"].value, invented["faithful"].value) == (0.0, 0.0)
