"""The Nepali word list: what it knows, and how far it tells good text from broken."""

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.words import is_word, known_share, words

GOOD = (
    "नेपालको संविधानको धारा १० बमोजिम कुनै पनि नेपाली नागरिकलाई नागरिकता प्राप्त गर्ने हकबाट वञ्चित गरिने छैन।"
    " गाउँपालिकाको कार्यालयले आर्थिक वर्षको बजेट तथा कार्यक्रम सभामा पेश गर्नेछ। जिल्ला अदालतले फैसला सुनाएपछि"
    " पुनरावेदन गर्न सकिन्छ। स्कूलका विद्यार्थीहरूले बिहान खाजा खाएर खेल्न थाले। वर्षाका कारण सडक अवरुद्ध भएको छ।"
)
# The kinds of damage that text layers of Nepali offices have, each done to the text above by hand.
BROKEN = {
    "letters of one font read by another's map": (
        "नेपालको संिविािको िारा १० बमोजजम कुिै पनि नेपाली िागररकलाई िागररकिा प्राप्ि गिे िकबाट िजचचि गररिे छैि।"
        " गाउँपामलकाको कायावलयले आमथवक िर्वको बजेट िथा कायवक्रम सभामा पेश गिेछ। जजल्ला अदालिले फैसला सुिाएपमछ"
    ),
    "short i before its letter": (
        "िनजले िनयिुक्त गिरएको िमित देिख िहसाब गदार् िजम्मेवारी िलने अिधकारीले िनणर्य िदनेछ र िववरण िलिखत गिर राख्नेछ"
    ),
    "words run together": "योऐनकोनामनेपालसरकारकोआर्थिककार्यविधिरहेकोछ नागरिकहरूलेपाउनेसुविधाकोविवरण",
    "signs cut from their letters": (
        "नेप ाल सरक ार क ो न िर्ण य अन ुसार य ो न ियम ला ग ू ग रिएक ो छ भन ी स ूचन ा प्रक ाशि त भएक ो ह ो"
    ),
}


def test_good_text_is_known():
    assert known_share(GOOD) > 0.95


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_broken_text_is_not(text):
    assert known_share(text) < 0.6


@pytest.mark.parametrize(
    "word",
    [
        "नेपाल",
        "संविधानहरूलाई",
        "कार्यालयबाटै",
        "गर्नेछन्",
        "ऋणीलाई",
        "ऊर्जाको",
        "पुर्\u200dयाएको",
        "श्रीमान्\u200cको",
        "क्रमशः",
        "छः",
        "उनन्पचास",
        "दामासाहीमा",
    ],
)
def test_words_with_their_endings(word):
    assert is_word(word)


@pytest.mark.parametrize(
    "word", ["", "िा", "बमोजजम", "लार्इ", "थुपै्र", "अन्र्तगत", "रावष्टिय", "कायवक्रम", "ििि", "g]kfn", "Nepal", "१२"]
)
def test_what_is_no_word(word):
    assert not is_word(word)


def test_single_letters_and_other_scripts_do_not_count():
    assert words("(क) र ख. Nepal २०८१ नेपाल") == ["नेपाल"]
    assert known_share("(क) र ख. Nepal २०८१") == 0.0
    assert known_share("") == 0.0


def test_the_list_is_compact_and_says_where_it_comes_from():
    data = resources.files("rag_platform.text").joinpath("nepali_words.xz").read_bytes()
    header = data.partition(b"\n\n")[0].decode()
    assert len(data) < 400_000
    assert "nep.traineddata" in header
    assert "Apache License" in header


@given(
    st.text(
        st.characters(min_codepoint=0x900, max_codepoint=0x97F) | st.sampled_from(" \u200c\u200d"),
        max_size=40,
    )
)
def test_any_text_has_a_share(text):
    assert 0.0 <= known_share(text) <= 1.0
