"""Filters as people write them, and how they are understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.errors import CallerError, RagError, UnknownName
from rag_platform.index.filters import check
from rag_platform.retrieval.filters import parse_filters
from rag_platform.types import Condition


@pytest.mark.parametrize(
    ("written", "condition"),
    [
        ("year=2081", Condition("year", "=", (2081,))),
        (" year = २०८१ ", Condition("year", "=", (2081,))),
        ("year!=2081|2082", Condition("year", "!=", (2081, 2082))),
        ("year>2080", Condition("year", ">", (2080,))),
        ("publisher=नेपाल कानून आयोग", Condition("publisher", "=", ("नेपाल कानून आयोग",))),
        (r"title=क\|ख|ग", Condition("title", "=", ("क|ख", "ग"))),
        ("title=a=b", Condition("title", "=", ("a=b",))),
        ("title=!x", Condition("title", "=", ("!x",))),
        ("ministry=शिक्षा मन्त्रालय", Condition("ministry", "=", ("शिक्षा",))),
        ("ministry=Ministry of Health", Condition("ministry", "=", ("Health",))),
        ("fiscal_year=२०८०।०८१", Condition("fiscal_year", "=", ("2080/81",))),
        ("section=दफा ९ क", Condition("section", "=", ("9क",))),
        ("sections!=12a", Condition("sections", "!=", ("12A",))),
        ("published=2081-04-15", Condition("published", "=", (20240730,))),
        ("published=2024-07-30", Condition("published", "=", (20240730,))),
        ("published=साउन १५, २०८१", Condition("published", "=", (20240730,))),
        ("published>=2080-04-01", Condition("published", ">=", (20230717,))),
        ("published>=2080-04", Condition("published", ">=", (20230717,))),
        ("published<2080-04", Condition("published", "<", (20230717,))),
        ("published<=2080-04", Condition("published", "<=", (20230817,))),
        ("published>2080-04", Condition("published", ">", (20230817,))),
        ("published>=2030", Condition("published", ">=", (20300101,))),
        ("published>=2030 BS", Condition("published", ">=", (19730413,))),
        ("published>=२०३०", Condition("published", ">=", (19730413,))),
        ("dates=2081-01-01|2081-01-02", Condition("dates", "=", (20240413, 20240414))),
        ("language=ne|mixed", Condition("language", "=", ("ne", "mixed"))),
        ("kind=table", Condition("kind", "=", ("table",))),
        ("path=भाग ३ > दफा ९", Condition("path", "=", ("भाग ३ > दफा ९",))),
        ("x_ward=७", Condition("x_ward", "=", ("७", 7))),
        ("x_ward=सात", Condition("x_ward", "=", ("सात",))),
        ("x_ward>=7", Condition("x_ward", ">=", (7,))),
    ],
)
def test_one_filter_is_one_condition(written: str, condition: Condition) -> None:
    assert parse_filters([written]).conditions == (condition,)


def test_the_same_field_twice_means_either_and_other_fields_both() -> None:
    found = parse_filters(["year=2081", "language=ne", "year=2082|2083", "year>2000", "year<2100"])
    assert found.conditions == (
        Condition("year", "=", (2081, 2082, 2083)),
        Condition("language", "=", ("ne",)),
        Condition("year", ">", (2000,)),
        Condition("year", "<", (2100,)),
    )
    assert found.understood == ("year = 2081 | 2082 | 2083", "language = ne", "year > 2000", "year < 2100")


def test_a_month_is_each_of_its_days() -> None:
    (condition,) = parse_filters(["published=2081-02"]).conditions
    assert (condition.values[0], condition.values[-1], len(condition.values)) == (20240514, 20240614, 32)
    (condition,) = parse_filters(["published!=2081|2082-01"]).conditions
    assert len(condition.values) == 366 + 31


def test_what_was_understood_shows_both_calendars() -> None:
    assert parse_filters(["published>=2024-04"]).understood == ("published >= 2024-04-01 (BS 2080-12-19)",)
    assert parse_filters(["published=2081-02"]).understood == (
        "published = 2024-05-14 (BS 2081-02-01) to 2024-06-14 (BS 2081-02-32)",
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("yaer=2081", r"unknown filter field 'yaer'. Did you mean 'year'\?.*fiscal_year.*x_<own name>"),
        ("ward=7", r"unknown filter field 'ward'"),
        ("year", r"the filter 'year' is none; write field, operator and value, as year=2081"),
        ("", r"the filter '' is none"),
        ("=2081", r"is none"),
        ("year=", r"the filter 'year=' lacks a value; name one after '='"),
        ("year=2081|", r"lacks a value"),
        ("year=81", r"'81' is no value for 'year'; write a Bikram Sambat year such as 2081"),
        ("year=2024 AD", r"'2024 AD' is no value for 'year'.*published, which takes AD"),
        ("year>=2081|2082", r"compares with several values by size; name one"),
        ("fiscal_year=2080/82", r"'2080/82' is no value for 'fiscal_year'; write 2080/81"),
        ("fiscal_year>=2080/81", r"compares words by size; use = or !="),
        ("publisher<क", r"compares words by size; use = or !="),
        ("language>ne", r"compares words by size"),
        ("section=नौ", r"'नौ' is no value for 'section'; write 9 or 9क"),
        ("published=2081-02-33", r"'2081-02-33' is no date for 'published'; write 2081-04-15.*1975 to 2084"),
        ("published>=2090", r"'2090' is no date.*known from 1975 to 2084"),
        ("published=हिजो", r"'हिजो' is no date"),
        ("published=2060|2061|2062|2063|2064|2065|2066|2067|2068|2069|2070", r"names 4018 days.*published>="),
        ("language=np", r"unknown language 'np'. Did you mean 'ne'"),
        ("kind=tables", r"unknown kind 'tables'. Did you mean 'table'"),
        ("x_ward>=सात", r"'x_ward' >= 'सात' compares a word by size; use a whole number"),
    ],
)
def test_a_filter_that_means_nothing_says_why(written: str, message: str) -> None:
    with pytest.raises(CallerError, match=message):
        parse_filters([written])


def test_an_unknown_field_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        parse_filters(["published_on=2081"])


def test_too_many_filters_are_refused() -> None:
    with pytest.raises(CallerError, match="101 filters are given, allowed are 100"):
        parse_filters(["year=2081"] * 101)


@given(st.lists(st.text(alphabet="yearpublishedx_w=!<>|2081०१-/दफा \\", max_size=30), max_size=3))
def test_whatever_is_written_is_a_condition_that_means_something_or_an_error_of_ours(
    written: list[str],
) -> None:
    try:
        found = parse_filters(written)
    except RagError:
        return
    check(found.conditions)
    assert len(found.conditions) == len(found.understood)
