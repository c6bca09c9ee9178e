"""Glyph to text by a font's own tables: its ``cmap``, and its ``GSUB`` rules run backwards.

A producer that loses the text of a conjunct still embeds the rule that made its glyph from letters. Strings
are visual (see ``script``). Knows no PDF.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from rag_platform.parsing.fontmap.contexts import called, exchanges
from rag_platform.parsing.fontmap.script import HALANT, RA, RAKAR, REPH, is_devanagari

__all__ = ["FontTables", "character_map", "glyph_number", "invert", "named", "shapes_devanagari"]

_SCRIPTS = frozenset({"deva", "dev2", "dev3"})
_RA_FORMS = frozenset({"blwf", "vatu", "rkrf", "pstf", "pref"})
_DECORATIVE = frozenset(
    {"aalt", "salt", "swsh", "titl", "frac", "numr", "dnom", "sups", "subs", "ordn", "zero"}
)
"""Features that draw one character as another one's neighbour: tried last."""
_SINGLE, _MULTIPLE, _ALTERNATE, _LIGATURE, _CONTEXT, _CHAIN, _EXTENSION, _REVERSE = range(1, 9)
_LAST_RANK = 3
_STEMMED = frozenset("खगघचजझञणतथधनपफबभमयलवशषस")
"""Letters whose half form drops a stem, in every font; of round letters, fonts show the halant at will."""
_RRA = "\u0931"
_EYELASH = RA + HALANT + "\u200d"


@dataclass(frozen=True, slots=True)
class FontTables:
    """What a font says of its glyphs.

    Attributes:
        texts: Visual string by glyph number.
        halant_forms: Glyphs that show their halant: the sign itself and letters drawn with it.
        half_letters: Consonants that would be half forms before another: a halant shown there was asked for.
    """

    texts: Mapping[int, str]
    halant_forms: frozenset[int] = frozenset()
    half_letters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Rule:
    tags: frozenset[str]
    inputs: tuple[int, ...]
    output: int
    nested: bool
    exchanged: bool = False


def named(font: Any) -> Any:  # noqa: ANN401 - fontTools ships no types
    """Name the glyphs of a ``TTFont`` by their numbers, so that its ``post`` table is never read.

    Subset fonts carry ``post`` tables that are cut off or double names.
    """
    font.setGlyphOrder([f"g{number}" for number in range(font["maxp"].numGlyphs)])
    return font


def glyph_number(name: str) -> int:
    """Return the number in a name given by ``named``."""
    return int(name[1:])


def shapes_devanagari(font: Any) -> bool:  # noqa: ANN401
    """Say whether a ``TTFont`` has substitution rules for Devanagari."""
    if "GSUB" not in font or font["GSUB"].table.ScriptList is None:
        return False
    return any(record.ScriptTag in _SCRIPTS for record in font["GSUB"].table.ScriptList.ScriptRecord)


def character_map(font: Any) -> dict[int, str]:  # noqa: ANN401
    """Return the character of each glyph that the Unicode ``cmap`` reaches directly."""
    found: dict[int, str] = {}
    if "cmap" not in font:
        return found
    for table in font["cmap"].tables:
        if not table.isUnicode():
            continue
        for code, name in table.cmap.items():
            glyph, character = glyph_number(name), chr(code)
            if glyph and (glyph not in found or _plainness(character) < _plainness(found[glyph])):
                found[glyph] = character
    return found


def _plainness(character: str) -> tuple[int, int]:
    """Order the characters that share a glyph: the one that people write first."""
    rank = 0 if " " <= character <= "~" else 1 if is_devanagari(character) else 2
    if unicodedata.category(character) in {"Cf", "Co", "Cc", "Zs"} and character != " ":
        rank = 3
    return rank, ord(character)


def invert(font: Any) -> FontTables:  # noqa: ANN401
    """Run a font's substitution rules backwards from its character map.

    Args:
        font: A ``TTFont`` whose glyphs are ``named``.
    """
    seeds = character_map(font)
    texts = dict(seeds)
    rules = list(_certain(_rules(font)))
    shown = {glyph for glyph, text in seeds.items() if text == HALANT}
    for rank in range(_LAST_RANK + 1):
        _close(texts, [rule for rule in rules if _rank(rule) <= rank])
    texts.update({glyph: "" for glyph in texts.keys() - seeds.keys() if _blank(font, f"g{glyph}")})
    return FontTables(texts, frozenset(shown.union(_shown(rules, texts))), frozenset(_halves(rules, texts)))


def _rank(rule: _Rule) -> int:
    """Order rules by how surely they keep the meaning.

    A ligature means its letters. A replacement of one glyph that only contexts call may be one half of an
    exchange of two glyphs: of those, only what nothing else explains is believed.
    """
    if rule.tags and not rule.tags - _DECORATIVE:
        return _LAST_RANK
    if len(rule.inputs) > 1:
        return 0
    return 2 if rule.nested else 1


def _close(texts: dict[int, str], rules: Iterable[_Rule]) -> None:
    """Apply rules whose inputs are known until nothing new is found; what is known first stays."""
    waiting = [rule for rule in rules if rule.output not in texts]
    grown = True
    while grown:
        grown, left = False, []
        for rule in waiting:
            if rule.output in texts:
                continue
            if all(glyph in texts for glyph in rule.inputs):
                texts[rule.output] = _made([texts[glyph] for glyph in rule.inputs], rule.tags)
                grown = True
            else:
                left.append(rule)
        waiting = left


def _made(inputs: list[str], tags: frozenset[str]) -> str:
    """Return the visual string of what a rule makes of its inputs."""
    letters = [text for text in inputs if text not in {"\u200d", "\u200c"}]
    if letters == [_RRA, HALANT] and "half" in tags:
        return _EYELASH  # how some fonts draw ra + halant + joiner
    if letters == [RA, HALANT]:
        if "rphf" in tags:
            return REPH
        if tags & _RA_FORMS:
            return RAKAR
        if "half" in tags or "\u200d" in inputs:
            return _EYELASH
    if len(letters) > 2 and letters[-2:] == [RA, HALANT] and tags & _RA_FORMS:
        return "".join(letters[:-2]) + RAKAR  # the order of the first Devanagari shapers
    return "".join(letters).replace(HALANT + RAKAR, RAKAR + HALANT) or "".join(inputs)


def _shown(rules: Iterable[_Rule], texts: Mapping[int, str]) -> Iterator[int]:
    for rule in rules:
        if "haln" in rule.tags and texts.get(rule.output, "").endswith(HALANT):
            yield rule.output


def _halves(rules: Iterable[_Rule], texts: Mapping[int, str]) -> Iterator[str]:
    for rule in rules:
        text = texts.get(rule.output, "")
        if "half" in rule.tags and len(text) > 1 and text[-1] == HALANT and text[-2] in _STEMMED:
            yield text[-2]


def _rules(font: Any) -> Iterator[_Rule]:  # noqa: ANN401
    """Yield the substitutions of every lookup, first to last, with the features that reach it."""
    if "GSUB" not in font or font["GSUB"].table.LookupList is None:
        return
    table = font["GSUB"].table
    lookups = table.LookupList.Lookup
    tags, direct = _tags(table, lookups)
    for index, lookup in enumerate(lookups):
        for subtable in map(_unwrapped, lookup.SubTable):
            for inputs, output in _substitutions(subtable):
                numbers = tuple(glyph_number(name) for name in inputs)
                yield _Rule(frozenset(tags[index]), numbers, glyph_number(output), index not in direct)
    yield from _exchanges(font, lookups, tags)


def _certain(rules: Iterable[_Rule]) -> Iterator[_Rule]:
    """Leave out replacements that are one half of an exchange."""
    listed = list(rules)
    halves = {(rule.inputs[0], rule.output) for rule in listed if rule.exchanged}
    yield from (
        rule for rule in listed if len(rule.inputs) > 1 or (rule.inputs[0], rule.output) not in halves
    )


def _exchanges(font: Any, lookups: list[Any], tags: list[set[str]]) -> Iterator[_Rule]:  # noqa: ANN401
    """Yield as rules the glyphs that take over the meaning of one that vanishes."""

    @cache
    def mapping(lookup: int) -> dict[str, list[str]]:
        made: dict[str, list[str]] = {}
        for subtable in map(_unwrapped, lookups[lookup].SubTable) if lookup < len(lookups) else ():
            if subtable.LookupType == _SINGLE:
                made.update({source: [output] for source, output in subtable.mapping.items()})
            elif subtable.LookupType == _MULTIPLE:
                made.update(subtable.mapping)
        return made

    for index, lookup in enumerate(lookups):
        for subtable in map(_unwrapped, lookup.SubTable):
            found = exchanges(
                subtable, lambda number, glyph: mapping(number).get(glyph), partial(_blank, font)
            )
            for source, vanished, output in found:
                inputs = (glyph_number(source), glyph_number(vanished))
                yield _Rule(frozenset(tags[index]), inputs, glyph_number(output), False, exchanged=True)


def _tags(table: Any, lookups: list[Any]) -> tuple[list[set[str]], set[int]]:  # noqa: ANN401
    """Return the tags of each lookup, handed down to those that contexts call, and which have their own."""
    tags: list[set[str]] = [set() for _ in lookups]
    for record in table.FeatureList.FeatureRecord if table.FeatureList else ():
        for index in record.Feature.LookupListIndex:
            if index < len(tags):
                tags[index].add(record.FeatureTag)
    direct = {index for index, own in enumerate(tags) if own}
    calls = [
        {number for part in lookup.SubTable for number in called(_unwrapped(part))} for lookup in lookups
    ]
    for _ in range(3):  # contexts call contexts, but never deeply
        for index, reached in enumerate(calls):
            for other in reached:
                if other < len(tags):
                    tags[other] |= tags[index]
    return tags, direct


def _unwrapped(subtable: Any) -> Any:  # noqa: ANN401
    return subtable.ExtSubTable if subtable.LookupType == _EXTENSION else subtable


def _blank(font: Any, glyph: str) -> bool:  # noqa: ANN401
    return "glyf" in font and bool(font["glyf"][glyph].numberOfContours == 0)


def _substitutions(subtable: Any) -> Iterator[tuple[tuple[str, ...], str]]:  # noqa: ANN401
    kind = subtable.LookupType
    if kind == _SINGLE:
        for source, output in subtable.mapping.items():
            yield (source,), output
    elif kind == _ALTERNATE:
        for source, outputs in subtable.alternates.items():
            for output in outputs:
                yield (source,), output
    elif kind == _LIGATURE:
        for first, ligatures in subtable.ligatures.items():
            for ligature in ligatures:
                yield (first, *ligature.Component), ligature.LigGlyph
    elif kind == _MULTIPLE:
        for source, outputs in subtable.mapping.items():
            if len(outputs) == 1:
                yield (source,), outputs[0]
    elif kind == _REVERSE:
        yield from (
            ((source,), output)
            for source, output in zip(subtable.Coverage.glyphs, subtable.Substitute, strict=False)
        )
