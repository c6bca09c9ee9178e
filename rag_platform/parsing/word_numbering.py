"""The numbers that Word generates before paragraphs: they are nowhere in the text, yet people cite them.

Reads ``numbering.xml`` and the numbering of styles, counts while the body is walked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_platform.parsing.numbering import in_format, whole_number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["Numbering"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_VAL = _W + "val"


def _value(parent: Element, tag: str, default: str = "") -> str:
    child = parent.find(_W + tag) if parent is not None else None
    return default if child is None else str(child.get(_VAL) or default)


@dataclass(frozen=True, slots=True)
class _Level:
    format: str
    text: str
    start: int
    suffix: str
    restart: int | None
    legal: bool
    style: str


@dataclass
class Numbering:
    """Labels of numbered paragraphs, in document order.

    Args:
        root: The root of ``numbering.xml``, or None when the document numbers nothing.
        style_numbering: Style id to ``(numId, level)`` of styles that number their paragraphs.
    """

    root: Element
    style_numbering: dict[str, tuple[str, int]]
    _levels: dict[str, dict[int, _Level]] = field(default_factory=dict)
    _abstract_of: dict[str, str] = field(default_factory=dict)
    _overrides: dict[str, dict[int, int]] = field(default_factory=dict)
    _counters: dict[str, dict[int, int]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.root is None:
            return
        for abstract in self.root.findall(_W + "abstractNum"):
            levels = {whole_number(lvl.get(_W + "ilvl")): _level(lvl) for lvl in abstract.findall(_W + "lvl")}
            self._levels[str(abstract.get(_W + "abstractNumId"))] = levels
        for num in self.root.findall(_W + "num"):
            number_id = str(num.get(_W + "numId"))
            self._abstract_of[number_id] = _value(num, "abstractNumId")
            starts = {
                whole_number(over.get(_W + "ilvl")): whole_number(_value(over, "startOverride"), 1)
                for over in num.findall(_W + "lvlOverride")
                if over.find(_W + "startOverride") is not None
            }
            self._overrides[number_id] = starts
            self._redefine(num, number_id)
        self._follow_links()

    def _redefine(self, num: Element, number_id: str) -> None:
        """Give a list whose levels are overridden a definition of its own."""
        own = {
            whole_number(over.get(_W + "ilvl")): _level(lvl)
            for over in num.findall(_W + "lvlOverride")
            if (lvl := over.find(_W + "lvl")) is not None
        }
        if own:
            abstract = self._abstract_of[number_id]
            self._abstract_of[number_id] = f"{abstract}/{number_id}"
            self._levels[f"{abstract}/{number_id}"] = {**self._levels.get(abstract, {}), **own}

    def _follow_links(self) -> None:
        """Let definitions that only name a list style take that style's levels."""
        for abstract in self.root.findall(_W + "abstractNum"):
            style = _value(abstract, "numStyleLink")
            number_id, _ = self.style_numbering.get(style, ("", 0))
            source = self._levels.get(self._abstract_of.get(number_id, ""))
            if style and source:
                self._levels[str(abstract.get(_W + "abstractNumId"))] = source

    def label(self, properties: Element, style: str) -> str:
        """Count a paragraph and return its label with the space after it, or nothing.

        Args:
            properties: The paragraph's ``w:pPr``, or None.
            style: Its style id.
        """
        number_id, depth = self._reference(properties, style)
        abstract = self._abstract_of.get(number_id, "")
        levels = self._levels.get(abstract, {})
        if depth not in levels:
            return ""
        counters = self._count(number_id, abstract, depth, levels)
        level = levels[depth]
        if level.format == "bullet":
            return "- "
        if level.format == "none" and "%" not in level.text:
            return f"{level.text} " if level.text else ""

        def shown(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            source = levels.get(at, level)
            return in_format(counters.get(at, source.start), "decimal" if level.legal else source.format)

        label = re.sub(r"%([1-9])", shown, level.text).strip()
        return label if level.suffix == "nothing" or not label else f"{label} "

    def _reference(self, properties: Element, style: str) -> tuple[str, int]:
        direct = properties.find(_W + "numPr") if properties is not None else None
        inherited, depth = self.style_numbering.get(style, ("", 0))
        if direct is not None:
            number_id = _value(direct, "numId", inherited)
            return number_id, whole_number(_value(direct, "ilvl"), depth)
        for at, level in self._levels.get(self._abstract_of.get(inherited, ""), {}).items():
            if level.style == style:
                return inherited, at
        return inherited, depth

    def _count(self, number_id: str, abstract: str, depth: int, levels: dict[int, _Level]) -> dict[int, int]:
        counters = self._counters.setdefault(abstract, {})
        if number_id not in self._seen:
            self._seen.add(number_id)
            for at, start in self._overrides.get(number_id, {}).items():
                counters[at] = start - 1
        counters[depth] = counters.get(depth, levels[depth].start - 1) + 1
        for deeper in [at for at in counters if at > depth]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart != 0:
                del counters[deeper]
        return counters


def _level(lvl: Element) -> _Level:
    restart = lvl.find(_W + "lvlRestart")
    legal = lvl.find(_W + "isLgl")
    return _Level(
        format=_value(lvl, "numFmt", "decimal"),
        text=_value(lvl, "lvlText"),
        start=whole_number(_value(lvl, "start"), 1),
        suffix=_value(lvl, "suff", "tab"),
        restart=None if restart is None else whole_number(str(restart.get(_VAL)), 0),
        legal=legal is not None and str(legal.get(_VAL) or "1") not in ("0", "false"),
        style=_value(lvl, "pStyle"),
    )
