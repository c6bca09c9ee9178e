"""Pairs that were written after the rules, to see what they were not made for."""

import pytest

from rag_platform.answering.support import claims_of, support

WATER = (
    "खानेपानी उपभोक्ता समितिले प्रत्येक घरधुरीबाट मासिक २०० रुपैयाँ शुल्क उठाउने निर्णय गरेको छ। शुल्क "
    "महिना सकिएको सात दिनभित्र नबुझाए धारा काटिनेछ। विपन्न परिवारले शुल्क बुझाउनु पर्दैन। नयाँ धारा "
    "जडानका लागि निवेदन, नागरिकताको प्रतिलिपि र ३,५०० रुपैयाँ धरौटी चाहिन्छ। मुहान संरक्षणका लागि यस "
    "वर्ष ५० वटा बिरुवा रोपियो। समितिको बैठक प्रत्येक महिनाको दोस्रो शनिबार बस्छ। सचिव गोमा श्रेष्ठले "
    "बैठकमा हिसाब पेस गरिन्।"
)
CITIZENSHIP = (
    "नागरिकता लिन १६ वर्ष उमेर पूरा भएको हुनुपर्छ। निवेदनसँग जन्मदर्ता, बाबु वा आमाको नागरिकता र दुई "
    "प्रति फोटो पेस गर्नुपर्छ। निवेदन वडा कार्यालयमा दिइन्छ र प्रमाणपत्र जिल्ला प्रशासन कार्यालयले "
    "दिन्छ। नागरिकताको दस्तुर दस रुपैयाँ हो। प्रतिलिपि लिन तीस रुपैयाँ लाग्छ। शनिबार कार्यालय खुल्दैन। "
    "वैवाहिक अङ्गीकृत नागरिकताका लागि विवाह दर्ता चाहिन्छ।"
)
SCHOOL = (
    "The school reopens on 4 Magh 2082 after a winter break of nineteen days. Students of classes 9 "
    "and 10 must submit one project in each subject. Uniform is not required on Fridays. The bus fee "
    "is Rs 1,200 a month and is paid by the seventh of each month. Parents who cannot attend the "
    "meeting may send a letter. Principal Sunita Karki will speak at the assembly. The library stays "
    "closed during the break."
)

SUPPORTED = [
    (WATER, "प्रत्येक घरधुरीबाट मासिक २०० रुपैयाँ शुल्क उठाइनेछ।"),
    (WATER, "सात दिनभित्र शुल्क नबुझाए धारा काटिन्छ।"),
    (WATER, "विपन्न परिवारले शुल्क बुझाउनुपर्दैन।"),
    (WATER, "नयाँ धारा जडानका लागि ३५०० रुपैयाँ धरौटी चाहिन्छ।"),
    (WATER, "यस वर्ष पचास बिरुवा रोपियो।"),
    (WATER, "समितिको बैठक महिनाको दोस्रो शनिबार बस्छ।"),
    (WATER, "सचिव गोमा श्रेष्ठले हिसाब पेस गरिन्।"),
    (CITIZENSHIP, "नागरिकता लिन १६ वर्ष पूरा हुनुपर्छ।"),
    (CITIZENSHIP, "नागरिकताको दस्तुर १० रुपैयाँ हो।"),
    (CITIZENSHIP, "प्रतिलिपि लिन ३० रुपैयाँ लाग्छ।"),
    (CITIZENSHIP, "शनिबार कार्यालय खुल्दैन।"),
    (CITIZENSHIP, "प्रमाणपत्र जिल्ला प्रशासन कार्यालयले दिन्छ।"),
    (SCHOOL, "The school reopens on 4 Magh 2082."),
    (SCHOOL, "Uniform is not required on Fridays."),
    (SCHOOL, "The bus fee is Rs 1200 per month."),
    (SCHOOL, "Principal Sunita Karki will speak."),
    (SCHOOL, "The winter break is 19 days."),
    (SCHOOL, "The library is closed during the break."),
]
NOT_SUPPORTED = [
    (WATER, "प्रत्येक घरधुरीबाट मासिक ३०० रुपैयाँ शुल्क उठाइनेछ।"),
    (WATER, "सात दिनभित्र शुल्क बुझाए धारा काटिन्छ।"),
    (WATER, "विपन्न परिवारले शुल्क बुझाउनुपर्छ।"),
    (WATER, "नयाँ धारा जडानका लागि २०० रुपैयाँ धरौटी चाहिन्छ।"),
    (WATER, "यस वर्ष पचास बिरुवा रोपिएन।"),
    (WATER, "समितिको बैठक महिनाको पहिलो शनिबार बस्छ।"),
    (WATER, "सचिव रमा श्रेष्ठले हिसाब पेस गरिन्।"),
    (WATER, "धरौटी फिर्ता हुन्छ।"),
    (WATER, "सात महिनाभित्र शुल्क नबुझाए धारा काटिन्छ।"),
    (CITIZENSHIP, "नागरिकता लिन १८ वर्ष पूरा हुनुपर्छ।"),
    (CITIZENSHIP, "नागरिकताको दस्तुर तीस रुपैयाँ हो।"),
    (CITIZENSHIP, "शनिबार कार्यालय खुल्छ।"),
    (CITIZENSHIP, "निवेदन जिल्ला प्रशासन कार्यालयमा दिइन्छ।"),
    (CITIZENSHIP, "प्रमाणपत्र जिल्ला प्रशासन कार्यालयले दिँदैन।"),
    (CITIZENSHIP, "निवेदनसँग पाँच प्रति फोटो पेस गर्नुपर्छ।"),
    (CITIZENSHIP, "राहदानी लिन १६ वर्ष उमेर पूरा भएको हुनुपर्छ।"),
    (SCHOOL, "The school reopens on 14 Magh 2082."),
    (SCHOOL, "Uniform is required on Fridays."),
    (SCHOOL, "The bus fee is Rs 1,500 a month."),
    (SCHOOL, "Principal Anita Karki will speak at the assembly."),
    (SCHOOL, "The library stays open during the break."),
    (SCHOOL, "Parents who can attend the meeting may send a letter."),
    (SCHOOL, "Students of classes 11 and 12 must submit one project in each subject."),
    (SCHOOL, "The bus is free for girls."),
]


@pytest.mark.parametrize(
    ("passage", "claim", "expected"),
    [(*pair, True) for pair in SUPPORTED] + [(*pair, False) for pair in NOT_SUPPORTED],
    ids=range(len(SUPPORTED) + len(NOT_SUPPORTED)),
)
def test_support_of_texts_that_the_rules_were_not_written_on(
    passage: str, claim: str, expected: bool
) -> None:
    (one,) = claims_of(claim)
    found = support(one, [passage])
    assert found is not None
    assert (found.passage == 1) == expected


def test_a_free_paraphrase_is_missed() -> None:
    """The price of strictness: what is said in other words is not recognised."""
    (one,) = claims_of("निवेदन वडा कार्यालयमा दिनुपर्छ।")
    found = support(one, [CITIZENSHIP])
    assert found is not None
    assert found.passage is None
