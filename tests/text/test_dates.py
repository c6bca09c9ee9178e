"""Days, years and fiscal years in running text; expected days looked up in a printed calendar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.text.bikram_sambat import Sambat
from rag_platform.text.dates import (
    find_dates,
    find_fiscal_years,
    find_years,
    read_fiscal_year,
    read_period,
)


def days(text: str) -> list[str]:
    return [found.day.isoformat() for found in find_dates(text)]


@pytest.mark.parametrize(
    "text",
    [
        "२०८१/०४/१५",
        "२०८१-४-१५",
        "2081.04.15",
        "२०८१।४।१५",
        "२०८१ । ०४ । १५ गते",
        "मिति: 2081/4/15 मा",
        "मितिः२०८१/०४/१५",
        "मिति२०८१/०४/१५",
        "वि.सं. २०८१/०४/१५",
        "वि.सं. २०८१ साउन १५",
        "२०८१ साल साउन १५ गते",
        "२०८१ सालको श्रावण महिनाको १५ गते",
        "२०८१ श्रावण १५ गतेदेखि",
        "साउन १५ गते, २०८१",
        "साउन १५, २०८१ मा",
        "१५ साउन २०८१",
        "१५ गते साउन, २०८१",
        "15 Shrawan 2081",
        "Saun 15, 2081 B.S.",
        "2081/04/15 (B.S.)",
        "15/04/2081",
        "July 30, 2024",
        "30 July 2024",
        "30th of July, 2024",
        "Jul. 30, 2024",
        "2024-07-30",
        "2024-07-30T09:15:00Z",
        "30/07/2024",
        "३० जुलाई २०२४",
        "सन् २०२४ जुलाइ ३०",
        "ई.सं. २०२४/०७/३०",
        "२०२४/०७/३० ई.सं.",
        "२०२४।७।३० (ई.सं.)",
    ],
)
def test_one_day_in_many_spellings(text: str) -> None:
    assert days(text) == ["2024-07-30"], text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("२०८१ वैशाख १", "2024-04-13"),
        ("२०८१ बैशाख १", "2024-04-13"),
        ("२०८१ जेष्ठ १", "2024-05-14"),
        ("२०८१ असार १", "2024-06-15"),
        ("२०८१ आषाढ १", "2024-06-15"),
        ("२०८१ भाद्र १", "2024-08-17"),
        ("२०८१ आश्विन १", "2024-09-17"),
        ("२०८१ कात्तिक १", "2024-10-17"),
        ("२०८१ मङ्सिर १", "2024-11-16"),
        ("२०८१ पुस १", "2024-12-16"),
        ("२०८१ माघ १", "2025-01-14"),
        ("२०८१ फाल्गुन १", "2025-02-13"),
        ("२०८१ चैत्र १", "2025-03-14"),
        ("12 Baishakh 2072", "2015-04-25"),
        ("१० जून २०२३", "2023-06-10"),
        ("९ सेप्टेम्बर २०२०", "2020-09-09"),
        ("२०७२ साल असोज ३ गते", "2015-09-20"),
    ],
)
def test_months_by_their_names(text: str, expected: str) -> None:
    assert days(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "१/२/३",
        "२०८०/८१",
        "२०८०/०८१",
        "२०८१/०१/३२",  # Baisakh 2081 has 31 days
        "२०८१/०२/३३",
        "२०८१/१३/०१",
        "2024-02-30",
        "03/04/2024",  # March or April
        "३/४/२०८१",
        "२०८१/०४-१५",
        "12081/04/15",
        "२०८१/०४/१५/३",
        "2.2081.04.15",
        "२०८१.०४.१५.२",
        "२०९०/०१/०१",  # no calendar of that year yet
        "१९५०/०१/२६",  # before the table, and not said to be Gregorian
        "सन् २०२४ साउन १५",  # a contradiction
        "वि.सं. २०८१ July 30",
        "साउन १५ गते",
        "२०८१ साउन",
        "०८१-WO-०६९६",
        "फोन ०१-४२०००१२, २०८१",
        "धारा ९.२०८१.४",
    ],
)
def test_what_is_no_sure_date_is_none(text: str) -> None:
    assert days(text) == []


def test_a_32nd_day_exists_where_the_month_has_one() -> None:
    assert days("२०८१/०२/३२") == ["2024-06-14"]
    assert days("२०८१ जेठ ३२ गते") == ["2024-06-14"]


def test_devanagari_digits_mean_bikram_sambat_and_ascii_ones_what_is_nearer() -> None:
    assert [(f.era, f.day.isoformat()) for f in find_dates("२०२४/०४/१५ र 2024/04/15 र 2044/04/15")] == [
        ("BS", "1967-07-30"),
        ("AD", "2024-04-15"),
        ("BS", "1987-07-31"),
    ]


def test_a_found_date_says_where_it_stands() -> None:
    text = "बैठक मिति २०८१/०४/१५ गते बस्यो।"
    (found,) = find_dates(text)
    assert text[found.start : found.end] == "२०८१/०४/१५ गते"
    assert found.sambat == Sambat(2081, 4, 15)


def test_several_dates_in_a_sentence() -> None:
    text = "ऐन २०७४।५।१९ मा प्रमाणीकरण भई २०७५।११।१९ र 2076/10/28 मा संशोधन भयो।"
    assert days(text) == ["2017-09-04", "2019-03-03", "2020-02-11"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("आ.व. २०८०/८१ को बजेट", ["2080/81"]),
        ("आर्थिक वर्ष २०८०।८१", ["2080/81"]),
        ("आर्थिक वर्ष २०८०/०८१ मा", ["2080/81"]),
        ("आव ०८०/८१", ["2080/81"]),
        ("आ.व.२०८०-८१", ["2080/81"]),
        ("FY 2080/81", ["2080/81"]),
        ("fiscal year 2080/2081", ["2080/81"]),
        ("FY 2023/24", ["2080/81"]),
        ("२०८०/८१ र २०८१/८२", ["2080/81", "2081/82"]),
        ("आ.व. २०६९/७० देखि २०७०/७१", ["2069/70", "2070/71"]),
        ("आ.व. २०९९/००", ["2099/00"]),
        ("आ.व. २०१०/११", ["2010/11"]),
        ("२०१०/११", []),  # Falgun 2010, or the fiscal year?
        ("२०८०-८१", []),  # a range of years
        ("०८०/८१", []),
        ("2023/24", []),
        ("२०८०/८२", []),
        ("२०८१/०४/१५", []),
        ("आ.व. २०८०/८१/३", []),
    ],
)
def test_fiscal_years(text: str, expected: list[str]) -> None:
    assert list(find_fiscal_years(text)) == expected


@pytest.mark.parametrize(
    "text", ["2080/81", "२०८०/८१", "२०८०।०८१", "2080-81", "2080/2081", "आ.व. २०८०/८१", "FY 2023/24"]
)
def test_a_fiscal_year_is_read_in_any_form(text: str) -> None:
    assert read_fiscal_year(text) == "2080/81"


@pytest.mark.parametrize("text", ["2080", "2080/82", "२०८०/८१ को", "", "८०/८१"])
def test_what_is_no_fiscal_year_is_not_read(text: str) -> None:
    assert read_fiscal_year(text) is None


def test_years_named_as_such() -> None:
    assert set(
        find_years("२०४६ सालको आन्दोलन, वि.सं. २०६३, सन् २०१५, २०७२ असोज ३, संवत् २०७६ सालको ऐन नं. १५")
    ) == {
        2046,
        2063,
        2072,
        2076,
    }
    assert list(find_years("श्रम ऐन, २०७४ बमोजिम २०२४ जना")) == []


@pytest.mark.parametrize(
    ("text", "first", "last", "era"),
    [
        ("2081", "2024-04-13", "2025-04-13", "BS"),
        ("२०३०", "1973-04-13", "1974-04-13", "BS"),
        ("2030", "2030-01-01", "2030-12-31", "AD"),
        ("2030 BS", "1973-04-13", "1974-04-13", "BS"),
        ("वि.सं. 2030", "1973-04-13", "1974-04-13", "BS"),
        ("2050 AD", "2050-01-01", "2050-12-31", "AD"),
        ("२०२४ ई.सं.", "2024-01-01", "2024-12-31", "AD"),
        ("2080-04", "2023-07-17", "2023-08-17", "BS"),
        ("2024-02", "2024-02-01", "2024-02-29", "AD"),
        ("साउन २०८०", "2023-07-17", "2023-08-17", "BS"),
        ("२०८० साल साउन", "2023-07-17", "2023-08-17", "BS"),
        ("February 2024", "2024-02-01", "2024-02-29", "AD"),
        ("2080-04-01", "2023-07-17", "2023-07-17", "BS"),
        ("2023-07-17", "2023-07-17", "2023-07-17", "AD"),
    ],
)
def test_periods(text: str, first: str, last: str, era: str) -> None:
    period = read_period(text)
    assert period is not None
    assert (period.first.isoformat(), period.last.isoformat(), period.era) == (first, last, era)


@pytest.mark.parametrize(
    "text", ["", "कहिले", "2081-13", "2090", "2081-02-33", "2081-04-15 सम्म", "सन् २०८१ साउन"]
)
def test_what_is_no_period_is_none(text: str) -> None:
    assert read_period(text) is None


@given(st.text(alphabet="०१२८९0128/.-। साउनवैशाख,Aprilआ.व", max_size=60))
def test_no_text_breaks_the_finders(text: str) -> None:
    for found in find_dates(text):
        assert 0 <= found.start < found.end <= len(text)
    assert all(len(year) == 7 for year in find_fiscal_years(text))
    assert all(1900 <= year < 2200 for year in find_years(text))
