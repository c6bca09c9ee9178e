from __future__ import annotations

import pytest

from rag_platform.audit.sections import Clauses, Gap


def clauses(*chunks: tuple[str, str]) -> Clauses:
    """Add chunks, the last first: they come in no order."""
    found = Clauses()
    for ordinal, (path, text) in reversed([*enumerate(chunks)]):
        found.add(ordinal, path, text)
    return found


def act(*numbers: str) -> list[tuple[str, str]]:
    return [(f"परिच्छेद १ > दफा {number}: नियुक्ति", f"{number}. नियुक्ति: सरकारले गर्नेछ।") for number in numbers]


@pytest.mark.parametrize(
    ("numbers", "gaps"),
    [
        (("१", "२", "३", "४"), []),
        (("१", "२", "५", "६"), [Gap(2, 5, (3, 4))]),
        (("१", "२", "२क", "३"), []),
        (("1", "2", "4"), [Gap(2, 4, (3,))]),
        (("७", "८", "१०", "११", "१३"), [Gap(8, 10, (9,)), Gap(11, 13, (12,))]),
        (("१", "३"), []),
        (("१", "२", "३", "९९"), []),
    ],
)
def test_gaps_between_the_numbers_of_the_paths(numbers: tuple[str, ...], gaps: list[Gap]) -> None:
    assert clauses(*act(*numbers)).gaps() == gaps


def test_a_clause_inside_a_chunk_is_no_gap() -> None:
    first, second, third = act("१", "२", "५")
    second = (second[0], second[1] + "\n**३.** खारेजी: खारेज गरिएको छ।\nदफा ४ बचाउ")
    assert clauses(first, second, third).gaps() == []


def test_a_number_that_a_sentence_mentions_fills_nothing() -> None:
    first, second, third = act("१", "२", "४")
    second = (second[0], second[1] + " त्यसमा दफा ३ बमोजिम हुनेछ।")
    assert clauses(first, second, third).gaps() == [Gap(2, 4, (3,))]


def test_subclauses_and_schedules_do_not_count() -> None:
    chunks = act("१", "२", "३")
    chunks.insert(2, ("परिच्छेद १ > दफा २: नियुक्ति > उपदफा (९)", "(९) अवधि: चार वर्ष।"))
    chunks.append(("अनुसूची १ > दफा ७: ढाँचा", "७. ढाँचा"))
    assert clauses(*chunks).gaps() == []


def test_each_act_of_a_document_has_its_own_numbers() -> None:
    assert clauses(*act("१", "२", "३", "४", "५"), *act("१", "२", "४")).gaps() == [Gap(2, 4, (3,))]
