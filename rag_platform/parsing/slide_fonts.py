"""The fonts of a slide's runs: their own, or what shape, layout, master and theme say of their level.

Nothing is walked and nothing written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag_platform.parsing.legacy_runs import LegacyRuns

if TYPE_CHECKING:
    from lxml.etree import _Element as Element
    from pptx.slide import Slide

__all__ = ["SlideFonts"]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_TITLES = frozenset({"title", "ctrTitle"})
_BODIES = frozenset({"body", "subTitle", "obj", "tbl", "chart", "dgm", "media", "clipArt", "pic"})


class SlideFonts:
    """Finds the font of a run on one slide.

    Args:
        slide: The slide.
        runs: Where runs in legacy fonts are marked.
    """

    def __init__(self, slide: Slide, runs: LegacyRuns) -> None:
        self.runs = runs
        layout = slide.slide_layout
        master = layout.slide_master
        self._outer = [layout._element, master._element]
        self._styles = master._element.find(_P + "txStyles")
        self._theme = _theme_fonts(master)
        self._known: dict[tuple[Element | None, int], str] = {}

    def marked(self, run: Element, level: int, shape: Element | None) -> str:
        """Return the text of a run, marked where it is set in a legacy font."""
        text = "".join(piece.text or "" for piece in run.findall(_A + "t"))
        own = _latin(run.find(_A + "rPr"))
        if not own:
            if (shape, level) not in self._known:
                found = self._inherited(shape, level)
                self._known[shape, level] = next((font for font in found if font), "+mn-lt")
            own = self._known[shape, level]
        return self.runs.mark(text, self._theme.get(own, own))

    def _inherited(self, shape: Element | None, level: int) -> Iterator[str]:
        """Yield what is said of a level, the nearest first."""
        if shape is None:
            return
        yield _of_level(shape.find(f"{_P}txBody/{_A}lstStyle"), level)
        holder = _holder(shape)
        if holder is None:
            yield _of_level(self._style("otherStyle"), level)
            return
        kind = str(holder.get("type") or "obj")
        for outer in self._outer:
            for other in outer.iter(_P + "sp"):
                if _matches(_holder(other), holder):
                    yield _of_level(other.find(f"{_P}txBody/{_A}lstStyle"), level)
        name = "titleStyle" if kind in _TITLES else "bodyStyle" if kind in _BODIES else "otherStyle"
        yield _of_level(self._style(name), level)

    def _style(self, name: str) -> Element | None:
        return None if self._styles is None else self._styles.find(_P + name)


def _holder(shape: Element) -> Element | None:
    found: Element | None = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return found


def _matches(other: Element | None, holder: Element) -> bool:
    if other is None:
        return False
    kinds = [str(one.get("type") or "obj") for one in (other, holder)]
    if holder.get("idx") and other.get("idx") == holder.get("idx"):
        return True
    return kinds[0] == kinds[1] or set(kinds) <= _TITLES or (kinds[0] == "body" and kinds[1] in _BODIES)


def _latin(properties: Element | None) -> str:
    latin = properties.find(_A + "latin") if properties is not None else None
    return "" if latin is None else str(latin.get("typeface") or "")


def _of_level(styles: Element | None, level: int) -> str:
    if styles is None:
        return ""
    return _latin(styles.find(f"{_A}lvl{level + 1}pPr/{_A}defRPr"))


def _theme_fonts(master: object) -> dict[str, str]:
    """Return the fonts that a master's theme gives to the names of roles."""
    from pptx.opc.constants import RELATIONSHIP_TYPE
    from pptx.oxml import parse_xml

    fonts = {}
    for rel in master.part.rels.values():  # type: ignore[attr-defined]
        if rel.reltype == RELATIONSHIP_TYPE.THEME and not rel.is_external:
            root = parse_xml(rel.target_part.blob)
            for role, name in (("+mj-lt", "majorFont"), ("+mn-lt", "minorFont")):
                for node in root.iter(_A + name):
                    fonts[role] = _latin(node)
    return fonts
