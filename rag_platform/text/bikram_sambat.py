"""The Bikram Sambat calendar: lengths of its months, and the way to Gregorian days and back.

The lengths follow no rule, the almanac committee decides them year by year, so they are data. Dates in texts
are found in ``dates``.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import date, timedelta
from functools import cache
from itertools import accumulate
from typing import NamedTuple

__all__ = ["FIRST_YEAR", "LAST_YEAR", "Sambat", "month_days"]

_EPOCH = date(1918, 4, 13)
"""1 Baisakh of the first year below."""

_BEYOND_28 = """
    1975 334432212122  1976 343432221123  1977 243432221213  1978 334333212122  1979 334432212122
    1980 343432221123  1981 333433122122  1982 334333212122  1983 334432212122  1984 343432221123
    1985 333433122122  1986 334333212122  1987 343432212122  1988 343432221123  1989 333433122122
    1990 334333212122  1991 343432221122  1992 343432221213  1993 334333212122  1994 334333212122
    1995 343432221122  1996 343432221213  1997 334333212122  1998 334333212122  1999 343432221123
    2000 243432221213  2001 334333212122  2002 334432212122  2003 343432221123  2004 243432221213
    2005 334333212122  2006 334432212122  2007 343432221123  2008 333433122113  2009 334333212122
    2010 334432212122  2011 343432221123  2012 333433122122  2013 334333212122  2014 334432212122
    2015 343432221123  2016 333433122122  2017 334333212122  2018 343432212122  2019 343432221213
    2020 333433212122  2021 334333212122  2022 343432221122  2023 343432221213  2024 333433212122
    2025 334333212122  2026 343432221123  2027 243432221213  2028 334333212122  2029 334342212122
    2030 343432221123  2031 243432221213  2032 334333212122  2033 334432212122  2034 343432221123
    2035 243433122113  2036 334333212122  2037 334432212122  2038 343432221123  2039 333433122122
    2040 334333212122  2041 334432212122  2042 343432221123  2043 333433122122  2044 334333212122
    2045 343432212122  2046 343432221123  2047 333433212122  2048 334333212122  2049 343432221122
    2050 343432221213  2051 333433212122  2052 334333212122  2053 343432221122  2054 343432221213
    2055 334333212122  2056 334342212122  2057 343432221123  2058 243432221213  2059 334333212122
    2060 334432212122  2061 343432221123  2062 333433121213  2063 334333212122  2064 334432212122
    2065 343432221123  2066 333433122113  2067 334333212122  2068 334432212122  2069 343432221123
    2070 333433122122  2071 334333212122  2072 343432212122  2073 343432221123  2074 333433212122
    2075 334333212122  2076 343432221122  2077 343432221213  2078 333433212122  2079 334333212122
    2080 343432221122  2081 343432221213  2082 334333212122  2083 334333212122  2084 334332221222
"""
"""Year, then for each month its days beyond 28. The years in which independent tables agree; of later ones
there are only forecasts, which contradict each other and hold years of 364 days."""


def _parsed() -> dict[int, tuple[int, ...]]:
    words = iter(_BEYOND_28.split())
    return {int(year): tuple(28 + int(digit) for digit in next(words)) for year in words}


_MONTHS = _parsed()
FIRST_YEAR, LAST_YEAR = min(_MONTHS), max(_MONTHS)


def month_days(year: int, month: int) -> int:
    """Return the days of a month, 0 where the calendar has none of that number or year.

    >>> month_days(2081, 1), month_days(2081, 2), month_days(2081, 13)
    (31, 32, 0)
    """
    return _MONTHS[year][month - 1] if year in _MONTHS and 1 <= month <= 12 else 0


class Sambat(NamedTuple):
    """A day of the Bikram Sambat calendar; months and days from 1."""

    year: int
    month: int
    day: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}-{self.day:02}"

    @property
    def is_valid(self) -> bool:
        """Whether the calendar has this day."""
        return 1 <= self.day <= month_days(self.year, self.month)

    def gregorian(self) -> date:
        """Return the same day of the Gregorian calendar.

        Raises:
            ValueError: The calendar has no such day, or its year is not in the table.

        >>> Sambat(2081, 1, 1).gregorian()
        datetime.date(2024, 4, 13)
        """
        if not self.is_valid:
            raise ValueError(f"{self} is no day of the Bikram Sambat calendar, {FIRST_YEAR} to {LAST_YEAR}")
        days = sum(_MONTHS[self.year][: self.month - 1]) + self.day - 1
        return _new_years()[self.year - FIRST_YEAR] + timedelta(days)

    @classmethod
    def of(cls, day: date) -> Sambat | None:
        """Return the Bikram Sambat day of a Gregorian one, None outside the table.

        >>> Sambat.of(date(2024, 4, 13))
        Sambat(year=2081, month=1, day=1)
        """
        at = bisect_right(_new_years(), day) - 1
        if not 0 <= at < len(_MONTHS):
            return None
        year, left = FIRST_YEAR + at, (day - _new_years()[at]).days
        for month, length in enumerate(_MONTHS[year], start=1):
            if left < length:
                return cls(year, month, left + 1)
            left -= length
        raise AssertionError(f"{day} lies between two years of the calendar")


@cache
def _new_years() -> list[date]:
    """Return 1 Baisakh of every year in the table, and of the year after the last."""
    years = accumulate((sum(lengths) for lengths in _MONTHS.values()), initial=0)
    return [_EPOCH + timedelta(days) for days in years]
