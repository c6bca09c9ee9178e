"""Acts and sections named in running text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.references import act_title, find_acts, find_sections, section_number, value_key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("दफा ९ बमोजिम", ["9"]),
        ("दफा ९को अधीनमा", ["9"]),
        ("दफा ९क बमोजिम", ["9क"]),
        ("दफा ९क. को", ["9क"]),
        ("दफा ५, ६ र ७ बमोजिम", ["5", "6", "7"]),
        ("दफा ५ वा ६क", ["5", "6क"]),
        ("दफा-१२", ["12"]),
        ("धारा १६ देखि ४६ सम्म", ["16", "46"]),
        ("नियम ३ बमोजिमको सेवा", ["3"]),
        ("Section 9 and 10A of the Act, Article 126, rule 7", ["9", "10A", "126", "7"]),
        ("दफा ५ र ३ जना सदस्य", ["5"]),
        ("दफा ५ को उपदफा (२) र उपदफा ३", ["5"]),
        ("दफा २०८१/०४/१५", []),
        ("दफा ९.२", []),
        ("दफा १२३४", []),
        ("अनियम ५, उपनियम २, intersection 4", []),
        ("यस दफामा ९ जना", []),
    ],
)
def test_sections(text: str, expected: list[str]) -> None:
    assert list(find_sections(text)) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [("9", "9"), ("९", "9"), ("९क", "9क"), ("दफा ९ क", "9क"), ("12a", "12A"), ("section 12A", "12A")],
)
def test_a_section_number_has_one_form(text: str, number: str) -> None:
    assert section_number(text) == number


@pytest.mark.parametrize("text", ["", "नौ", "९कख", "दफा", "9-10", "12345"])
def test_what_is_no_section_number(text: str) -> None:
    assert section_number(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("श्रम ऐन, २०७४", ["श्रम ऐन, २०७४"]),
        ("श्रम ऐन २०७४ को दफा ९", ["श्रम ऐन, २०७४"]),
        ("नेपाल सरकारले बीमा ऐन, २०७९ बमोजिम", ["बीमा ऐन, २०७९"]),
        ("“मुलुकी देवानी संहिता, २०७४” भन्ने", ["मुलुकी देवानी संहिता, २०७४"]),
        ("लागू औषध (नियन्त्रण) ऐन, २०३३ अनुसार", ["लागू औषध (नियन्त्रण) ऐन, २०३३"]),
        ("(१) भूमि तथा नापी ऐन, २०५५", ["भूमि तथा नापी ऐन, २०५५"]),
        (
            "श्रम ऐन, २०७४ र औद्योगिक व्यवसाय ऐन, २०७६ तथा श्रम नियमावली, २०७५",
            ["श्रम ऐन, २०७४", "औद्योगिक व्यवसाय ऐन, २०७६", "श्रम नियमावली, २०७५"],
        ),
        ("नेपालको संविधानको धारा १७", ["नेपालको संविधान"]),
        ("नेपालको संविधान बमोजिम", ["नेपालको संविधान"]),
        (
            "under the Labour Act, 2017 and the Right to Information Act, 2064",
            ["Labour Act, 2017", "Right to Information Act, 2064"],
        ),
        ("यस ऐन बमोजिम", []),
        ("यो ऐन, २०७४", []),
        ("ऐन, २०७४/०५/१९", []),
        ("An act of 2017", []),
    ],
)
def test_acts(text: str, expected: list[str]) -> None:
    assert list(find_acts(text)) == expected


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("श्रम ऐन, २०७४", "श्रम ऐन, २०७४"),
        ("# श्रम ऐन २०७४", "श्रम ऐन, २०७४"),
        ("व्यक्तिको गोपनीयता सम्बन्धी ऐन, २०७५", "व्यक्तिको गोपनीयता सम्बन्धी ऐन, २०७५"),
        ("भूमि सम्बन्धी (आठौं संशोधन) ऐन, २०७६", "भूमि सम्बन्धी (आठौं संशोधन) ऐन, २०७६"),
        ("The Labour Act, 2017 (2074)", "Labour Act, 2017"),
        ("नेपालको संविधान", "नेपालको संविधान"),
        ("श्रम ऐन, २०७४ को दफा ९", None),
        ("भूमि सम्बन्धी ऐन, २०२१ लाई संशोधन गर्न बनेको ऐन", None),
        ("सूचना", None),
    ],
)
def test_a_line_that_is_the_title_of_an_act(line: str, title: str | None) -> None:
    assert act_title(line) == title


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("श्रम ऐन, २०७४", "श्रम ऐन 2074"),
        ("संघीय मामिला मन्त्रालय", "सङ्घीय  मामिला मन्त्रालय"),
        ("“शिक्षा”", "शिक्षा"),
        ("Ministry of Health", "ministry of health"),
    ],
)
def test_words_that_look_alike_are_one_key(one: str, other: str) -> None:
    assert value_key(one) == value_key(other)


@given(st.text(alphabet="दफा नियम ऐन,२०७४९क(“र।\n Act,1", max_size=60))
def test_no_text_breaks_the_finders(text: str) -> None:
    assert all(section_number(number) == number for number in find_sections(text))
    assert all(act.strip() == act != "" for act in find_acts(text))
    assert value_key(value_key(text)) == value_key(text)
