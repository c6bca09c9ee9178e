"""What a Word document's styles say: hiding, headings, numbering, fonts, through their chain of parents.

Nothing is walked and nothing written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_platform.parsing.legacy_runs import LegacyRuns
from rag_platform.parsing.numbering import whole_number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["WordStyles", "is_on"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_VAL = _W + "val"
_HEADING = re.compile(r"heading ([1-9])")


def is_on(parent: Element, tag: str) -> bool | None:
    """Return a toggle property: None where it is not stated."""
    child = parent.find(_W + tag) if parent is not None else None
    return None if child is None else str(child.get(_VAL) or "1") not in ("0", "false", "off")


def _outline_level(properties: Element) -> int | None:
    """Return the stated outline level, counted from 1; 0 for body text, None where nothing is stated."""
    stated_level = properties.find(_W + "outlineLvl") if properties is not None else None
    value = "" if stated_level is None else str(stated_level.get(_VAL))
    return None if not value.isdigit() else (int(value) + 1) % 10


@dataclass
class WordStyles:
    """What styles say about hiding, headings, numbering and fonts, through their chain of parents.

    Args:
        root: The root of ``styles.xml``, or None.
        theme: The root of the theme, whose fonts styles name by their role, or None.
    """

    root: Element
    theme: Element | None = None
    runs: LegacyRuns = field(default_factory=LegacyRuns)
    _by_id: dict[str, Element] = field(default_factory=dict)
    _default: str = ""
    _fonts: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for style in self.root.findall(_W + "style") if self.root is not None else []:
            self._by_id[str(style.get(_W + "styleId"))] = style
            if style.get(_W + "type") == "paragraph" and style.get(_W + "default") in ("1", "true"):
                self._default = str(style.get(_W + "styleId"))

    def _chain(self, style_id: str) -> Iterator[Element]:
        seen: set[str] = set()
        while style_id in self._by_id and style_id not in seen:
            seen.add(style_id)
            style = self._by_id[style_id]
            yield style
            based_on = style.find(_W + "basedOn")
            style_id = "" if based_on is None else str(based_on.get(_VAL))

    def hides(self, style_id: str) -> bool:
        """Say whether text of a style is hidden."""
        for style in self._chain(style_id):
            hidden = is_on(style.find(_W + "rPr"), "vanish")
            if hidden is not None:
                return hidden
        return False

    def font(self, run: Element, character_style: str, paragraph_style: str) -> str:
        """Return the font of a run's letters: its own, its styles', or the document's default."""
        own = self._stated_font(run)
        if own:
            return own
        if (character_style, paragraph_style) not in self._fonts:
            self._fonts[character_style, paragraph_style] = self._inherited_font(
                character_style, paragraph_style
            )
        return self._fonts[character_style, paragraph_style]

    def _inherited_font(self, character_style: str, paragraph_style: str) -> str:
        for style_id in (character_style, paragraph_style or self._default):
            for style in self._chain(style_id):
                if font := self._stated_font(style.find(_W + "rPr")):
                    return font
        default = self.root.find(f"{_W}docDefaults/{_W}rPrDefault/{_W}rPr") if self.root is not None else None
        return self._stated_font(default)

    def _stated_font(self, properties: Element) -> str:
        fonts = properties.find(_W + "rFonts") if properties is not None else None
        if fonts is None:
            return ""
        role = fonts.get(_W + "asciiTheme") or fonts.get(_W + "hAnsiTheme")
        if role and self.theme is not None:
            kind = "major" if str(role).startswith("major") else "minor"
            latin = next(iter(self.theme.iter(f"{_A}{kind}Font")), None)
            named = latin.find(_A + "latin") if latin is not None else None
            if named is not None:
                return str(named.get("typeface") or "")
        return str(fonts.get(_W + "ascii") or fonts.get(_W + "hAnsi") or "")

    def breaks_before(self, style_id: str) -> bool:
        """Say whether a paragraph of a style begins a page."""
        for style in self._chain(style_id):
            breaks = is_on(style.find(_W + "pPr"), "pageBreakBefore")
            if breaks is not None:
                return breaks
        return False

    def heading_level(self, properties: Element, style_id: str) -> int:
        """Return a heading's level: its own outline level, its style's, or by its style's name; else 0."""
        own = _outline_level(properties)
        if own is not None:
            return own
        for style in self._chain(style_id):
            level = _outline_level(style.find(_W + "pPr"))
            if level is not None:
                return level
            named = style.find(_W + "name")
            name = "" if named is None else str(named.get(_VAL)).lower()
            if found := _HEADING.fullmatch(name):
                return int(found[1])
            if name == "title":
                return 1
        return 0

    def numbering(self) -> dict[str, tuple[str, int]]:
        """Return the list and its level of each style that numbers its paragraphs."""
        found = {}
        for style_id in self._by_id:
            for style in self._chain(style_id):
                number = style.find(f"{_W}pPr/{_W}numPr")
                if number is not None:
                    identifier, level = number.find(_W + "numId"), number.find(_W + "ilvl")
                    if identifier is not None:
                        depth = 0 if level is None else whole_number(level.get(_VAL))
                        found[style_id] = (str(identifier.get(_VAL)), depth)
                    break
        return found
