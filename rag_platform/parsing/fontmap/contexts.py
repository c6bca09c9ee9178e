"""Exchanges in the contextual rules of a font: one glyph takes over what another one, that vanishes, meant.

Noto draws a short i and the bindu two letters later as one glyph before the letters, and a blank one after
them. Only such pairs are found here; what a context leaves whole needs no context to be understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["called", "exchanges"]

_CONTEXT, _CHAIN = 5, 6
_MOST_MEMBERS = 400

Positions = list[list[str]]
Records = list[tuple[int, int]]


def called(subtable: Any) -> Iterator[int]:  # noqa: ANN401 - fontTools ships no types
    """Yield the lookups that a contextual subtable applies."""
    for _, records in _rules(subtable):
        yield from (lookup for _, lookup in records)


def exchanges(
    subtable: Any,  # noqa: ANN401
    outputs: Callable[[int, str], Sequence[str] | None],
    blank: Callable[[str], bool],
) -> Iterator[tuple[str, str, str]]:
    """Yield glyphs that change in a rule that also makes another glyph vanish.

    Args:
        subtable: Of a contextual lookup.
        outputs: What a lookup makes of one glyph; None where it leaves it alone.
        blank: Whether a glyph draws nothing.

    Yields:
        The glyph that changes, the one that vanishes, and what the first becomes.
    """
    for positions, records in _rules(subtable):
        if len(records) < 2:
            continue
        vanished = list(_vanishing(positions, records, outputs, blank))
        if len(vanished) != 1:
            continue
        (place, glyph) = vanished[0]
        for index, lookup in records:
            if index == place or index >= len(positions):
                continue
            for source in positions[index][:_MOST_MEMBERS]:
                made = outputs(lookup, source)
                if made is not None and len(made) == 1 and made[0] != source:
                    yield source, glyph, made[0]


def _vanishing(
    positions: Positions,
    records: Records,
    outputs: Callable[[int, str], Sequence[str] | None],
    blank: Callable[[str], bool],
) -> Iterator[tuple[int, str]]:
    for index, lookup in records:
        if index >= len(positions) or not positions[index]:
            continue
        glyph = positions[index][0]
        made = outputs(lookup, glyph)
        if made is not None and not blank(glyph) and all(blank(other) for other in made):
            yield index, glyph


def _rules(subtable: Any) -> Iterator[tuple[Positions, Records]]:  # noqa: ANN401
    """Yield each rule of a contextual subtable: the glyphs that may stand at each place, and its lookups."""
    if subtable.LookupType not in {_CONTEXT, _CHAIN}:
        return
    subtable.ensureDecompiled()
    if subtable.Format == 3:
        coverages = subtable.InputCoverage if subtable.LookupType == _CHAIN else subtable.Coverage
        yield [list(coverage.glyphs) for coverage in coverages], _records(subtable)
    elif subtable.Format == 1:
        yield from _by_glyph(subtable)
    elif subtable.Format == 2:
        yield from _by_class(subtable)


def _by_glyph(subtable: Any) -> Iterator[tuple[Positions, Records]]:  # noqa: ANN401
    chain = subtable.LookupType == _CHAIN
    sets = subtable.ChainSubRuleSet if chain else subtable.SubRuleSet
    for first, rules in zip(subtable.Coverage.glyphs, sets, strict=False):
        for rule in (rules.ChainSubRule if chain else rules.SubRule) if rules is not None else ():
            yield [[first], *([glyph] for glyph in rule.Input)], _records(rule)


def _by_class(subtable: Any) -> Iterator[tuple[Positions, Records]]:  # noqa: ANN401
    chain = subtable.LookupType == _CHAIN
    classes: dict[int, list[str]] = {}
    for glyph, number in (subtable.InputClassDef if chain else subtable.ClassDef).classDefs.items():
        classes.setdefault(number, []).append(glyph)
    covered = set(subtable.Coverage.glyphs)
    for number, rules in enumerate(subtable.ChainSubClassSet if chain else subtable.SubClassSet):
        first = [glyph for glyph in classes.get(number, ()) if glyph in covered]
        for rule in (rules.ChainSubClassRule if chain else rules.SubClassRule) if rules is not None else ():
            rest = [classes.get(other, []) for other in (rule.Input if chain else rule.Class)]
            yield [first, *rest], _records(rule)


def _records(rule: Any) -> Records:  # noqa: ANN401
    return [(record.SequenceIndex, record.LookupListIndex) for record in rule.SubstLookupRecord or ()]
