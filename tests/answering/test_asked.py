"""What a question asks for, and whether a sentence has it, in three ways of asking."""

from __future__ import annotations

import pytest

from rag_platform.answering.asked import asked_kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("कार्यालय कति बजे खुल्छ?", "time of day"),
        ("सम्पत्ति कर कहिले तिर्नुपर्छ?", "date"),
        ("When was the ward office opened?", "date"),
        ("yo ain kahile dekhi lagu bhayo?", "date"),
        ("डिभाइसको मूल्य कति डलर हो?", "dollars"),
        ("गत वर्ष कति प्रतिशत विद्यार्थी उत्तीर्ण भए?", "percentage"),
        ("How far is the school from the bridge?", "length"),
        ("pul kati meter lamo cha?", "length"),
        ("पानी कति डिग्रीमा उम्लन्छ?", "temperature"),
        ("एउटा बोरामा कति किलो चामल हुन्छ?", "weight"),
        ("पुस्तक कति दिन राख्न पाइन्छ?", "span of time"),
        ("How many books may a member borrow?", "number"),
        ("दर्ता शुल्क कति लाग्छ?", "number"),
        ("पुस्तकालयको अध्यक्ष को हो?", None),
        ("कहिलेकाहीँ बत्ती किन जान्छ?", None),
        ("समितिले के निर्णय गर्‍यो?", None),
        ("भूकम्पले घर कतिसम्म बिगार्छ?", None),
        ("When it rains, who opens the gate?", None),
    ],
)
def test_what_is_asked_for(question: str, kind: str | None) -> None:
    found = asked_kind(question)
    assert (found.name if found else None) == kind


@pytest.mark.parametrize(
    ("question", "has", "lacks"),
    [
        ("कति बजे?", "कार्यालय बिहान १० बजे खुल्छ।", "कार्यालय वडाको भवनमा छ।"),
        ("कहिले?", "कर मङ्सिर २० गतेभित्र तिर्नुपर्छ।", "कर राजस्व शाखामा तिर्नुपर्छ।"),
        ("कहिले?", "बैठक शनिबार बस्छ।", "पुस्तकालयमा धेरै पुस्तक छन्।"),
        ("कति?", "सदस्यले तीन वटा पुस्तक लैजान पाउँछ।", "सदस्यले नागरिकताको दस्तुर तिर्छ।"),
        ("कति मिटर?", "पुल ९० मिटर लामो छ।", "पुल ३ करोड रुपैयाँमा बन्यो।"),
        ("how long", "Books are lent for fourteen days.", "Books are lent to 300 members."),
    ],
)
def test_what_has_it(question: str, has: str, lacks: str) -> None:
    kind = asked_kind(question)
    assert kind is not None
    assert (kind.is_in(has), kind.is_in(lacks)) == (True, False)
