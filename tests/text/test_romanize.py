from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.analyze import analyze, weighted_terms
from rag_platform.text.romanize import (
    Romanized,
    WordVocabulary,
    phonetic_key,
    reading,
    rough_latin,
    similarity,
    vocabulary_forms,
    word_keys,
)

TEXTS = [
    "नागरिकता लिन जन्मदर्ताको प्रतिलिपि चाहिन्छ।",
    "नागरिकता सम्बन्धी निवेदन वडा कार्यालयमा दिनुहोस्।",
    "विद्यालयमा भर्ना हुन के के कागज चाहिन्छ?",
    "आयकर कसले तिर्छ र कहिले तिर्नुपर्छ भन्ने ऐनमा छ।",
    "पानी सफा छ तर पनि उमालेर खानुहोस्।",
    "धान रोप्ने बेला भयो, दान दिने बेला पनि।",
    "ज्ञान र क्षमता भएका शिक्षक आउँछन्।",
    "कम्पनीको अक्सिजन उद्योग वाशिङ्टनमा छ, होटेलमा एक्सन लिइयो।",
    "उहाँ आउँछ, पाँच जना आए।",
]


@pytest.fixture(scope="module")
def vocabulary() -> WordVocabulary:
    return WordVocabulary.of_texts(TEXTS)


@pytest.mark.parametrize(
    ("word", "latin"),
    [
        ("नेपाल", "nepaal"),
        ("संविधान", "samvidhaan"),
        ("सङ्घ", "sanggha"),
        ("गर्छ", "garchha"),  # after a conjunct the last vowel is spoken
        ("म", "ma"),
        ("दुःख", "duhkh"),
        ("आउँछ", "aaunchh"),
        ("ऋण", "rin"),
        ("गर्‍यो", "garyo"),
        ("क़लम", "kalam"),
        ("বাংলা", "baanlaa"),  # the other Indic blocks are in the same order
        ("తెలుగు", "telugu"),
        ("", ""),
        ("123", ""),
    ],
)
def test_rough_latin_by_rule(word: str, latin: str) -> None:
    assert rough_latin(word) == latin


@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("विद्यालय", ["vidyalaya", "bidyalaya", "bidhyalay", "widyalaya"]),
        ("छ", ["cha", "chha", "xa", "6"]),
        ("हुन्छ", ["huncha", "hunchha", "hunxa", "hun6"]),
        ("गरेको", ["gareko", "garekoo", "gareeko"]),
        ("फूल", ["phul", "ful", "phool", "fool"]),
        ("जिल्ला", ["jilla", "jila", "zilla"]),
        ("शिक्षा", ["shiksha", "siksha", "sikshya"]),
        ("क्षेत्र", ["kshetra", "chhetra", "xetra"]),
        ("ज्ञान", ["gyan", "gyaan", "jnan"]),
        ("आउँछ", ["aauncha", "aaucha", "auchha", "auxa"]),
        ("पाँच", ["paanch", "panch", "pach"]),
        ("कम्पनी", ["company", "kampani", "kampanee"]),
        ("संविधान", ["sambidhan", "samvidhan", "sanbidhan"]),
        ("स्वास्थ्य", ["swasthya", "swastha", "svasthya"]),
        ("भाषा", ["bhasa", "bhasha", "bhaashaa"]),
    ],
)
def test_the_habits_of_typists_lead_to_the_word(word: str, typed: list[str]) -> None:
    vocabulary = WordVocabulary({word: 1})
    for spelling in typed:
        asked = "x" if spelling == "6" else spelling  # a lone 6 is a number
        (token,) = reading(asked, vocabulary).tokens
        assert [c.word for c in token.candidates] == [word], spelling


def test_keys() -> None:
    assert phonetic_key("bidhyalaya") == phonetic_key("vidyalay") == "bdl"
    assert phonetic_key("aama") == phonetic_key("ama") == phonetic_key("umaa") == "am"
    assert phonetic_key("hamro") == "hmr"
    assert phonetic_key("") == ""
    assert word_keys("आउँछ") == ("anc", "ac")
    assert word_keys("१२") == ()


def test_similarity_by_hand() -> None:
    assert similarity("nepal", "nepaal") == 1.0  # aa is a
    # Jaro: 4 and 4 of 4 and 5 letters match; three of the four common letters that begin both count 0.1 more.
    jaro = (4 / 4 + 4 / 5 + 1) / 3
    assert similarity("desk", "desak") == pytest.approx(jaro + 3 * 0.1 * (1 - jaro))
    assert similarity("xyz", "ka") == 0.0


def test_an_h_that_the_word_lacks_costs_more_than_one_left_out() -> None:
    dhan = reading("dhan", WordVocabulary.of_texts(TEXTS)).tokens[0]
    assert [c.word for c in dhan.candidates[:2]] == ["धान", "दान"]
    assert similarity("dan", "dhaan") - similarity("dhan", "daan") == pytest.approx(0.02)


def test_a_question_is_read_by_the_words_of_the_collection(vocabulary: WordVocabulary) -> None:
    read = reading("nagarikta lina ke ke kagaj chahinxa?", vocabulary)
    assert read.text == "नागरिकता लिन के के कागज चाहिन्छ?"
    (best, *_) = read.tokens[0].candidates
    assert (best.word, best.df) == ("नागरिकता", 2)
    assert best.similarity == similarity("nagarikta", "nagarikataa") > 0.95


def test_english_names_numbers_and_devanagari_stay(vocabulary: WordVocabulary) -> None:
    read = reading("passport 2081 को लागि visa nagarikta chahincha?", vocabulary)
    assert read.text == "passport 2081 को लागि visa नागरिकता चाहिन्छ?"
    assert read.terms["passport"] == 1.0
    assert read.terms["2081"] == 1.0
    assert set(analyze("को लागि")) <= read.terms.keys()
    assert read.tokens[0].word is None


def test_an_ending_in_devanagari_may_follow_a_token(vocabulary: WordVocabulary) -> None:
    assert reading("nagariktaको fee", vocabulary).text == "नागरिकताको fee"


def test_english_words_find_their_nepali_spelling(vocabulary: WordVocabulary) -> None:
    read = reading("company oxygen Washington action", vocabulary)
    assert [token.candidates[0].word for token in read.tokens] == ["कम्पनी", "अक्सिजन", "वाशिङ्टन", "एक्सन"]
    assert reading("hotel", vocabulary).text == "होटेल"


def test_a_glued_postposition_is_taken_off_where_the_whole_is_unknown(vocabulary: WordVocabulary) -> None:
    assert reading("bidyalayabata", vocabulary).text == "विद्यालयबाट"
    assert reading("nagariktako", vocabulary).text == "नागरिकताको"
    assert reading("karyalayama", vocabulary).text == "कार्यालयमा"


def test_terms_are_weighted_by_similarity_and_function_words_count_less(vocabulary: WordVocabulary) -> None:
    read = reading("kasle ayakar tirchha", vocabulary)
    tax, who = read.tokens[1], read.tokens[0]
    (stem,) = analyze("आयकर")
    assert read.terms[stem] == pytest.approx(tax.candidates[0].similarity ** 3)
    (stem,) = analyze("कसले")
    assert read.terms[stem] == pytest.approx(0.3 * who.candidates[0].similarity ** 3)


def test_at_most_four_stems_a_token() -> None:
    words = ["कर", "कार", "कुर", "केर", "कोर", "किर"]
    read = reading("kar", WordVocabulary(dict.fromkeys(words, 1)))
    assert len(read.tokens[0].options) == 4
    assert len(read.tokens[0].candidates) == 6


def test_the_ideal_takes_the_best_option_of_each_token() -> None:
    read = reading("kar", WordVocabulary({"कर": 5, "कुर": 1}))
    best, other = read.tokens[0].options
    assert best == pytest.approx(weighted_terms("कर"))
    assert sum(best.values()) > sum(other.values())
    assert read.ideal(lambda term: 2.0) == pytest.approx(2.0 * sum(best.values()))


def test_the_ideal_counts_words_without_candidates_numbers_and_devanagari() -> None:
    read = reading("visa 2081 को", WordVocabulary({}))
    assert read.others == pytest.approx({"2081": 1.0, **weighted_terms("को")})
    assert read.ideal(lambda term: 2.0) == pytest.approx(2.0 * (1 + 1 + 1.3))
    assert reading("kun", WordVocabulary({})).ideal(lambda term: 1.0) == pytest.approx(0.3)
    assert reading("?", WordVocabulary({})).ideal(lambda term: 1.0) == 0.0


def test_equal_spellings_are_ranked_by_frequency() -> None:
    words = {"पनि": 1, "पानी": 9}
    assert [c.word for c in reading("pani", WordVocabulary(words)).tokens[0].candidates] == ["पानी", "पनि"]


def test_a_vocabulary_holds_words_with_and_without_their_postpositions() -> None:
    assert vocabulary_forms("विद्यालयहरूको GDP २०८१।") == {"विद्यालयहरूको", "विद्यालयहरू", "विद्यालय"}
    assert vocabulary_forms("!") == set()


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz 0126?नेपाल", max_size=40))
def test_every_question_can_be_read(text: str) -> None:
    read = reading(text, WordVocabulary({"नेपाल": 2, "आमा": 1, "छ": 1}))
    assert isinstance(read, Romanized)
    assert set(analyze(text)) <= read.terms.keys()
    assert all(weight > 0 and math.isfinite(weight) for weight in read.terms.values())
    assert all(0 <= c.similarity <= 1 for token in read.tokens for c in token.candidates)


@given(st.text(alphabet="कखगघचछजझटडतदनपफबमयरलवशषसहािीुूेैोौ्ंँः", min_size=1, max_size=12))
def test_a_word_spelled_by_rule_is_found_under_its_key(word: str) -> None:
    latin = rough_latin(word)
    if latin:
        assert phonetic_key(latin) in word_keys(word)
        assert similarity(latin, latin) == 1.0


def test_postpositions_on_their_own_are_read_as_such() -> None:
    read = reading("pustakalaya bata kitab", WordVocabulary({"पुस्तकालय": 3, "वटा": 2, "किताब": 1}))
    assert read.text == "पुस्तकालय बाट किताब"
