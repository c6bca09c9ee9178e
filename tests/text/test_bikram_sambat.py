"""The calendar against independent tables, day by day, and against days that everybody knows."""

from __future__ import annotations

from datetime import date, timedelta

import bikram_sambat.conversion
import bsad_converter
import nepali_datetime
import pytest

from rag_platform.text.bikram_sambat import FIRST_YEAR, LAST_YEAR, Sambat, month_days

YEARS = range(FIRST_YEAR, LAST_YEAR + 1)


def days_of(year: int) -> list[Sambat]:
    return [
        Sambat(year, month, day) for month in range(1, 13) for day in range(1, month_days(year, month) + 1)
    ]


def test_the_range_is_110_years() -> None:
    assert (FIRST_YEAR, LAST_YEAR) == (1975, 2084)
    assert {sum(month_days(year, month) for month in range(1, 13)) for year in YEARS} == {365, 366}


def test_every_day_is_that_of_an_independent_table() -> None:
    for year in YEARS:
        for month in range(1, 13):
            theirs = nepali_datetime.date(year, month, 1).to_datetime_date()
            for day in range(1, month_days(year, month) + 1):
                assert Sambat(year, month, day).gregorian() == theirs + timedelta(days=day - 1)


@pytest.mark.parametrize("year", YEARS)
def test_every_month_begins_as_in_a_second_table(year: int) -> None:
    """Past the years that are decreed tables differ; of 2084 the second one is another package's."""
    for month in range(1, 13):
        if year <= 2083:
            theirs = bikram_sambat.conversion.bs_to_ad(year, month, 1)
        else:
            theirs = bsad_converter.bs_to_ad(year, month, 1)
        assert Sambat(year, month, 1).gregorian() == theirs


def test_the_way_back_is_the_way_there() -> None:
    day = date(1918, 4, 13)
    for year in YEARS:
        for sambat in days_of(year):
            assert (sambat.gregorian(), Sambat.of(day)) == (day, sambat)
            day += timedelta(days=1)
    assert day == date(2028, 4, 13)


@pytest.mark.parametrize(
    ("sambat", "day"),
    [
        ((2072, 6, 3), date(2015, 9, 20)),  # the constitution
        ((2072, 1, 12), date(2015, 4, 25)),  # the Gorkha earthquake
        ((2063, 1, 11), date(2006, 4, 24)),  # loktantra day
        ((2046, 12, 26), date(1990, 4, 8)),  # the end of the Panchayat ban on parties
        ((1990, 10, 2), date(1934, 1, 15)),  # the great earthquake of '90
        ((2007, 11, 7), date(1951, 2, 18)),  # democracy day
        ((2081, 1, 1), date(2024, 4, 13)),
        ((2082, 1, 1), date(2025, 4, 14)),
        ((2083, 1, 1), date(2026, 4, 14)),
    ],
)
def test_days_that_everybody_knows(sambat: tuple[int, int, int], day: date) -> None:
    assert Sambat(*sambat).gregorian() == day
    assert Sambat.of(day) == Sambat(*sambat)


@pytest.mark.parametrize(
    "bad", [(2081, 1, 32), (2081, 2, 33), (2081, 13, 1), (2081, 1, 0), (2085, 1, 1), (1974, 1, 1)]
)
def test_days_that_do_not_exist_are_refused(bad: tuple[int, int, int]) -> None:
    assert not Sambat(*bad).is_valid
    with pytest.raises(ValueError, match=rf"{bad[0]}-.*1975 to 2084"):
        Sambat(*bad).gregorian()


def test_a_month_of_32_days_has_a_32nd_day() -> None:
    assert Sambat(2081, 2, 32).gregorian() == date(2024, 6, 14)
    assert Sambat(2081, 3, 1).gregorian() == date(2024, 6, 15)


def test_days_outside_the_table_have_no_sambat() -> None:
    assert Sambat.of(date(1918, 4, 12)) is None
    assert Sambat.of(date(2028, 4, 13)) is None
    assert str(Sambat.of(date(2028, 4, 12))) == "2084-12-30"
