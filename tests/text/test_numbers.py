import pytest

from rag_platform.text.numbers import find_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("१,२३,४५६ र 123,456", ["123456", "123456"]),
        ("८४ करोड ५० लाख रुपैयाँ", ["845000000"]),
        ("१,२०० लाख, अर्थात् १२ करोड", ["120000000", "120000000"]),
        ("एक लाख पच्चीस हजार तीन सय", ["125300"]),
        ("२ सय ५० जना", ["250"]),
        ("१० लाख ५ जना", ["1000000", "5"]),
        ("साढे दुई लाख, डेढ सय", ["250000", "150"]),
        ("छ महिनासम्म; निलम्बन गरेको छ।", ["6"]),
        ("दुईवटा पुस्तक, तीनजना, पैँतिस दिनभित्र, पाँचौं", ["2", "3", "35", "5"]),
        ("thirty-five days, two hundred thousand, 1.5 million", ["35", "200000", "1500000"]),
        ("कक्षा ९ र १०", ["9", "10"]),
        ("साता, नगर", []),
        ("", []),
    ],
)
def test_numbers_are_values(text: str, values: list[str]) -> None:
    assert [str(found.value) for found in find_numbers(text)] == values


def test_a_number_says_where_it_stands_and_whether_it_is_words() -> None:
    text = "जम्मा दुई सय रुपैयाँ र २० पैसा"
    first, second = find_numbers(text)
    assert (text[first.start : first.end], first.is_word) == ("दुई सय", True)
    assert (text[second.start : second.end], second.is_word) == ("२०", False)
