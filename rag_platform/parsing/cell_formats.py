"""How a workbook shows a number: dates as ISO, percentages, grouping and decimals by its format code.

Codes that are beyond these (fractions, powers of ten, scaling by thousands) show the number itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from rag_platform.text.dates import devanagari_digits

__all__ = ["BUILT_IN", "displayed"]

BUILT_IN: dict[int, str] = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
    14: "yyyy-mm-dd", 15: "yyyy-mm-dd", 16: "yyyy-mm-dd", 17: "yyyy-mm-dd",
    18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    **dict.fromkeys((*range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys(range(32, 36), "h:mm:ss"),
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0", 42: "#,##0", 43: "#,##0.00", 44: "#,##0.00",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss",
}  # fmt: skip
"""Format codes that files name by number only; the number decides nothing else."""

_TOKEN = re.compile(r'"([^"]*)"|\\(.)|[_*](.)|\[\$([^\]-]*)(?:-([0-9A-Fa-f]+))?\]|\[([^\]]*)\]|(.)', re.S)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[\d.]+)")
_ELAPSED = re.compile(r"h+|m+|s+", re.I)
_DEVANAGARI = 4
"""Numeral system in the highest byte of a locale: ``[$-4000439]``."""
_LAST_DAY = 2_958_466
"""Serial number of the day after 9999-12-31."""
_COMPARE = {
    "<": Decimal.__lt__, "<=": Decimal.__le__, ">": Decimal.__gt__, ">=": Decimal.__ge__,
    "=": Decimal.__eq__, "<>": Decimal.__ne__,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Section:
    """One of the parts of a code that ``;`` sets apart: ``(character, is a literal)`` in order."""

    tokens: tuple[tuple[str, bool], ...]
    condition: tuple[str, Decimal] | None = None
    elapsed: bool = False
    devanagari: bool = False

    @property
    def pattern(self) -> str:
        """The characters that are no literals."""
        return "".join(text for text, literal in self.tokens if not literal)

    @property
    def is_date(self) -> bool:
        return self.elapsed or bool(re.search("[ymdhs]", self.pattern, re.I))


def displayed(value: str, code: str, *, since_1904: bool = False) -> str:
    """Return a stored number as its cell shows it.

    >>> displayed("0.25", "0%"), displayed("45489", "d-mmm-yy"), displayed("1234567.5", "#,##0.00")
    ('25%', '2024-07-16', '1,234,567.50')
    >>> displayed("3700.0", "General"), displayed("2081", "[$-4000439]0")
    ('3700', '२०८१')
    """
    if value.isdecimal() and code in ("", "General"):
        return value
    try:
        number = Decimal(value)
    except ArithmeticError:
        return value
    if not number.is_finite() or abs(number.adjusted()) > 300:
        return value
    section, negative = _section(number, code)
    if section is None:
        return _general(number)
    if section.is_date:
        return _moment(number, section, since_1904) or _general(number)
    text = _filled(abs(number) if negative else number, section.tokens)
    if not text:
        return _general(number)
    return devanagari_digits(text) if section.devanagari else text


def _general(number: Decimal) -> str:
    """Return a number as it is, with the 15 digits that a workbook is sure of."""
    text = f"{Decimal(format(float(number), '.15g')):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _section(number: Decimal, code: str) -> tuple[_Section | None, bool]:
    """Return the section for this number, None for the number itself, and whether the section signs it."""
    if not code or code.lower() in ("general", "@"):
        return None, False
    sections = _sections(code)
    if any(section.condition for section in sections):
        for section in sections:
            if section.condition is None or _COMPARE[section.condition[0]](number, section.condition[1]):
                return section, False
        return None, False
    if number < 0 and len(sections) > 1:
        return sections[1], True
    if number == 0 and len(sections) > 2:
        return sections[2], False
    return sections[0], False


@lru_cache(maxsize=256)
def _sections(code: str) -> tuple[_Section, ...]:
    found: list[_Section] = []
    tokens: list[tuple[str, bool]] = []
    condition, elapsed, devanagari = None, False, False
    for match in _TOKEN.finditer(code + ";"):
        quoted, escaped, _, currency, locale, bracket, plain = match.groups()
        if plain == ";":
            found.append(_Section(tuple(tokens), condition, elapsed, devanagari))
            tokens, condition, elapsed, devanagari = [], None, False, False
        elif plain:
            tokens.append((plain, False))
        elif bracket is not None:
            elapsed = elapsed or bool(_ELAPSED.fullmatch(bracket))
            if compared := _CONDITION.fullmatch(bracket):
                condition = (compared[1], Decimal(compared[2]))
        elif currency is not None:
            tokens += [(c, True) for c in currency]
            devanagari = devanagari or int(locale or "0", 16) >> 24 == _DEVANAGARI
        else:
            tokens += [(c, True) for c in quoted or escaped or ""]
    return tuple(found)


def _filled(number: Decimal, tokens: tuple[tuple[str, bool], ...]) -> str | None:
    """Put the digits of a number into a section; None where the section is beyond this module."""
    places = [at for at, (text, literal) in enumerate(tokens) if not literal and text in "0#?"]
    plain = "".join(text for text, literal in tokens if not literal)
    if not places:
        literal = "".join(text for text, is_literal in tokens if is_literal)
        return literal if number == 0 and literal.strip() else None
    if re.search(r"[^0#?.,%()+\-\s$€£₹]", plain) or plain.count(".") > 1 or re.search(r",(?![0#?])", plain):
        return None
    point = next((at for at, token in enumerate(tokens) if token == (".", False)), places[-1] + 1)
    n_decimals = sum(at > point for at in places)
    shown = abs(number) * 100 ** plain.count("%")
    if shown.adjusted() > 20:
        return None
    digits, _, decimals = f"{shown.quantize(Decimal(1).scaleb(-n_decimals), ROUND_HALF_UP):f}".partition(".")
    before = _integer(digits, tokens[:point], places[0], _grouping(plain))
    after = _decimals(decimals, tokens[point:])
    sign = "-" if number < 0 and re.search("[1-9]", digits + decimals) else ""
    return (sign + before + after).strip()


def _grouping(plain: str) -> int:
    """Return 0 for no separators, 3 for thousands, 2 for thousands and then lakhs and crores."""
    if "," not in plain:
        return 0
    return 2 if re.search(r",[0#?]{2},", plain) else 3


def _integer(digits: str, tokens: tuple[tuple[str, bool], ...], first: int, grouping: int) -> str:
    """Fill places from the right; what is left goes in at the first one."""
    left = list(digits.lstrip("0"))
    out: list[str] = []
    n_placed = 0

    def place(digit: str) -> None:
        nonlocal n_placed
        if grouping and n_placed >= 3 and (n_placed - 3) % grouping == 0:
            out.append(",")
        out.append(digit)
        n_placed += 1

    for at in range(len(tokens) - 1, -1, -1):
        text, literal = tokens[at]
        if literal or text not in "0#?,":
            out.append(text)
        elif text != ",":
            if left:
                place(left.pop())
            elif text == "0":
                place("0")
            while at == first and left:
                place(left.pop())
    if first >= len(tokens):  # no place before the point (".00")
        out += reversed(left)
    return "".join(reversed(out))


def _decimals(digits: str, tokens: tuple[tuple[str, bool], ...]) -> str:
    left = list(digits)
    out = ""
    for text, literal in tokens:
        if literal or text not in "0#?":
            out += text
        elif left:
            digit = left.pop(0)
            if text == "0" or digit != "0" or any(d != "0" for d in left):
                out += digit
    return re.sub(r"\.(?!\d)", "", out, count=1)


def _moment(number: Decimal, section: _Section, since_1904: bool) -> str:
    """Return a date, a time, both, or hours beyond a day in ISO form; nothing where there is no such day."""
    if not 0 <= number < _LAST_DAY:
        return ""
    pattern = section.pattern.lower()
    has_time = section.elapsed or bool(re.search("[hs]", pattern))
    has_date = bool(re.search("[yd]", pattern)) or not has_time
    n_seconds = int((number * 86_400).to_integral_value(ROUND_HALF_UP))
    minutes, seconds = divmod(n_seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f":{minutes:02}" + (f":{seconds:02}" if seconds else "")
    if not has_date:
        return f"{hours if section.elapsed else hours % 24:02}{clock}"
    # Serial 60 is 1900-02-29, which never was: days before it count from a day later.
    epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 31 if number < 60 else 30)
    day = f"{epoch + timedelta(days=hours // 24):%Y-%m-%d}"
    return f"{day} {hours % 24:02}{clock}" if has_time else day
