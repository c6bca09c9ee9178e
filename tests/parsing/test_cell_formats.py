from __future__ import annotations

import pytest

from rag_platform.parsing.cell_formats import BUILT_IN, displayed

LAKHS = r"[>=10000000]##\,##\,##\,##0;[>=100000]##\,##\,##0;##,##0"


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        ("3700", "General", "3700"),
        ("3700.0", "", "3700"),
        ("0.1", "@", "0.1"),
        ("3.3000000000000003", "General", "3.3"),
        ("1E+20", "General", "100000000000000000000"),
        ("0.25", "0%", "25%"),
        ("0.125", "0.00%", "12.50%"),
        ("0.125", "0%", "13%"),
        ("1234567.5", "#,##0.00", "1,234,567.50"),
        ("1234567", "#,##,##0", "12,34,567"),
        ("12345678", LAKHS, "1,23,45,678"),
        ("123456", LAKHS, "1,23,456"),
        ("1234", LAKHS, "1,234"),
        ("-1234.5", "#,##0.0", "-1,234.5"),
        ("-5", "#,##0;(#,##0)", "(5)"),
        ("0", '_(* #,##0_);_(* (#,##0);_(* "-"??_);_(@_)', "-"),
        ("1500", '"रु." #,##0', "रु. 1,500"),
        ("1500", "[$रु-461] #,##0.00", "रु 1,500.00"),
        ("7", "000", "007"),
        ("5.5", "0.##", "5.5"),
        ("5", "0.##", "5"),
        ("0.5", ".00", ".50"),
        ("9841234567", "000-0000000", "984-1234567"),
        ("2081", "[$-4000439]0", "२०८१"),
        ("-0.004", "0.00", "0.00"),
    ],
)
def test_numbers_are_shown_as_in_the_cell(value: str, code: str, shown: str) -> None:
    assert displayed(value, code) == shown


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("0.5", "# ?/?"),
        ("12345", "0.00E+00"),
        ("12345", "#,##0,"),
        ("12345", ";;;"),
        ("0.4", "#"),
        ("7", 'General" किलो"'),
        ("-3", "yyyy-mm-dd"),
        ("99999999", "yyyy-mm-dd"),
        ("1.5", "0.0.0"),
        ("5", "[<3]0"),
    ],
)
def test_a_code_beyond_us_shows_the_number_itself(value: str, code: str) -> None:
    assert displayed(value, code) == value


@pytest.mark.parametrize("value", ["", "NaN", "Infinity", "1e400", "अ", "1e-999999999"])
def test_what_is_no_number_stays(value: str) -> None:
    assert displayed(value, "0.00") == value


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        ("45489", "d-mmm-yy", "2024-07-16"),
        ("45489", r"[$-409]d\-mmm\-yyyy;@", "2024-07-16"),
        ("45489", "mmmm", "2024-07-16"),
        ("45489.75", "yyyy-mm-dd hh:mm", "2024-07-16 18:00"),
        ("45489.75", "yyyy-mm-dd", "2024-07-16"),
        ("0.5", "h:mm AM/PM", "12:00"),
        ("0.51", "h:mm:ss", "12:14:24"),
        ("1.5", "[h]:mm", "36:00"),
        ("1.5", "h:mm", "12:00"),
        ("45489.999999999", "yyyy-mm-dd hh:mm", "2024-07-17 00:00"),
        ("1", "yyyy", "1900-01-01"),
        ("59", "yyyy", "1900-02-28"),
        ("61", "yyyy", "1900-03-01"),
    ],
)
def test_dates_and_times_are_iso(value: str, code: str, shown: str) -> None:
    assert displayed(value, code) == shown


def test_the_epoch_of_old_macs() -> None:
    assert displayed("44027", BUILT_IN[14], since_1904=True) == "2024-07-16"
