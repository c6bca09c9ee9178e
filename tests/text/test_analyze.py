from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.analyze import ALL, RECIPE, analyze, bare_forms, terms, weighted_terms
from rag_platform.text.normalize import search_key
from rag_platform.types import AnalyzerOptions


@pytest.mark.parametrize(
    "forms",
    [
        ["संविधान", "संविधानले", "संविधानको", "संविधानमा", "संविधानसम्बन्धी"],
        ["बजेट", "बजेटमा", "बजेटको", "बजेटबाट"],
        ["सरकार", "सरकारले", "सरकारलाई", "सरकारसँग", "सरकारबाट"],
        ["विद्यालय", "विद्यालयहरू", "विद्यालयहरूमा", "विद्यालयहरुको"],
        ["विद्यार्थी", "विद्यार्थीहरूलाई"],
        ["बीमा", "बीमाको", "बीमामा"],  # the ending मा of बीमा is none
        ["साथी", "साथीले"],
        ["सङ्घ", "संघ", "संघको", "सङ्घमा"],
        ["गाउँ", "गाउं", "गाउँमा"],
        ["schools", "School"],
        # Short and long vowels, sibilants, ब and व, न and ण; doubled letters, a last halant.
        ["नागरिक", "नागरीक", "नागरिकको"],
        ["शहर", "सहर", "षहर"],
        ["विकास", "बिकास", "वीकास"],
        ["गणतन्त्र", "गनतन्त्र", "गणतंत्र"],
        ["महत्त्व", "महत्व"],
        ["कार्यालय", "कार्य्यालय", "कार्यालयमा"],
        ["महान्", "महान"],
        # Hindi.
        ["किताब", "किताबें", "किताबों", "किताबी"],
        ["लड़के", "लड़कों"],
        ["শহর", "সহর", "শহৰ"],
    ],
)
def test_forms_of_a_word_share_one_term(forms: list[str]) -> None:
    terms = {tuple(analyze(form)) for form in forms}
    assert len(terms) == 1
    assert len(terms.pop()) == 1


def test_different_words_stay_apart() -> None:
    words = ["शिक्षा", "शाखा", "कि", "का", "के", "बीमा", "सीमा", "संविधान", "विधान", "m²", "m2"]
    assert len({tuple(analyze(word)) for word in words}) == len(words)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("नियमावली प्रतिशत गाउँपालिका", 3),  # vowel signs cut no word
        ("हरू को मा", 3),  # nothing but endings: still findable
        ("।? - | \n", 0),
        ("", 0),
    ],
)
def test_the_number_of_terms(text: str, terms: int) -> None:
    assert len(analyze(text)) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("१,२३,४५६", ["123456"]),
        ("12,345,678.90", ["12345678", "90"]),
        ("१,२,३", ["1", "2", "3"]),
        ("२०८१/८२", ["2081", "82"]),
        ("२०८१को", ["2081", "को"]),
        ("GDPको 5Gमा officesमा", ["gdp", "को", "5g", "मा", "offic", "मा"]),
        ("H2O COVID-19", ["h2o", "covid", "19"]),
        ("₹१२ ½", ["12", "½"]),
    ],
)
def test_numbers(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("सूचनाले", ["सुचन", "~सुचन", "~ुचना"]),  # of the stem, which keeps its last vowel
        ("को", ["को", "~को"]),
        ("tax", ["tax", "~tax"]),
        ("২০ শুল্ক", ["20", "সুল্ক", "~সুল্", "~ুল্ক"]),
        ("२०८१/8", ["2081", "8"]),  # numbers have no pieces
        ("", []),
    ],
)
def test_pieces_follow_their_word(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("राष्ट्रभाषा", "भाषा"),
        ("पुस्तकालयात", "पुस्तकालय"),  # Marathi
        ("শুল্কের", "শুল্ক"),
        ("పన్నులు", "పన్ను"),
    ],
)
def test_words_without_a_common_stem_share_pieces(one: str, other: str) -> None:
    assert analyze(one) != analyze(other)
    shared = set(terms(one)) & set(terms(other))
    assert shared
    assert all(piece.startswith("~") for piece in shared)


def test_a_question_weighs_pieces_less_than_words() -> None:
    assert weighted_terms("कर कर tax") == pytest.approx({"कर": 2.0, "~कर": 0.6, "tax": 1.0, "~tax": 0.3})


def test_bare_forms() -> None:
    assert bare_forms("कर्मचारीहरूबाट") == ["कर्मचारीहरूबाट", "कर्मचारीहरू", "कर्मचारी"]
    assert bare_forms("साथीसँग") == ["साथीसँग", "साथी"]
    assert bare_forms("को") == ["को"]
    assert bare_forms("শহর") == ["শহর"]


@given(st.text() | st.text(alphabet="कलमनेपािेर्ँंः़्\u200d\u200cहरू०१,ABs ।", max_size=40))
def test_terms_depend_on_the_search_key_alone_and_are_never_empty(text: str) -> None:
    found = analyze(text)
    assert found == analyze(search_key(text))
    assert all(found)
    assert [term for term in terms(text) if not term.startswith("~")] == found


def test_threads_get_what_one_thread_gets() -> None:
    texts = [f"सरकार{n}ले विद्यालयहरूमा शब्द{n}हरूको schools number{n}s" for n in range(2000)]
    with ThreadPoolExecutor(8) as pool:
        in_threads = list(pool.map(analyze, texts))
    assert in_threads == [analyze(text) for text in texts]


def test_the_recipe_has_a_version() -> None:
    assert RECIPE.startswith("analyze-2:")


def without(*parts: str) -> AnalyzerOptions:
    return replace(ALL, **dict.fromkeys(parts, False))


@pytest.mark.parametrize(
    ("left_out", "text", "expected"),
    [
        ((), "सूचनाले ३० हजार", ["सुचन", "30", "हजार"]),
        (("fold",), "सूचनाले ३० हजार", ["सुचन", "३०", "हजार"]),
        (("fold", "stem"), "क़लम गर्\u200dयो", ["क\u093cलम", "गर\u094d\u200dयो"]),  # joiners cut no word
        (("fold",), "GDPको Water", ["GDP", "को", "Water"]),
        (("stem",), "सूचनाले ३० हजार", ["सुचनाले", "30", "हजार"]),
        (("stem",), "Boiled waters", ["boiled", "waters"]),
        (("spelling",), "सूचनाले शहर", ["सूचन", "शहर"]),
        (("stem", "spelling"), "सूचनाले शहर", ["सूचनाले", "शहर"]),
        (("fold", "stem", "spelling"), "सङ्घले शहरमा २०८१", ["सङ्घले", "शहरमा", "२०८१"]),
    ],
)
def test_each_part_can_be_left_out(left_out: tuple[str, ...], text: str, expected: list[str]) -> None:
    assert analyze(text, without(*left_out)) == expected


def test_without_pieces_a_passage_has_its_words_alone() -> None:
    assert terms("सूचनाले १०", without("pieces")) == ["सुचन", "10"]
    assert terms("सूचनाले १०", without("stem")) == ["सुचनाले", "~सुचन", "~ुचना", "~चनाल", "~नाले", "10"]
    assert weighted_terms("नाम नाम", without("pieces")) == {"नाम": 2.0}


@given(
    st.text("कखगशसीिूु\u200d\u093c १२ABab,", max_size=30), st.sets(st.sampled_from(["fold", "stem", "pieces"]))
)
def test_question_and_passage_meet_whatever_is_left_out(text: str, left_out: set[str]) -> None:
    options = without(*left_out)
    assert set(weighted_terms(text, options)) == set(terms(text, options))
    assert set(analyze(text, options)) <= set(terms(text, options))
