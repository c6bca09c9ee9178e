"""The fonts of an HTML tree: ``<font face>``, ``style`` attributes, and simple rules of its style sheets.

Only legacy Nepali fonts matter here, so only what sites of their time wrote is understood: one element,
one class or one identifier a selector. Nothing is fetched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag_platform.parsing.legacy_runs import LegacyRuns

if TYPE_CHECKING:
    from bs4 import PageElement, Tag

__all__ = ["HtmlFonts"]

_FAMILY = re.compile(r"font(?:-family)?\s*:\s*([^;}]+)", re.I)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_SHORTHAND = re.compile(r"^.*\d\S*\s+(?=\D)")


class HtmlFonts:
    """Finds the font of a text by what stands around it.

    Args:
        root: The tree whose style sheets count.
    """

    def __init__(self, root: Tag) -> None:
        self.runs = LegacyRuns()
        self._rules: dict[str, str] = {}
        self._known: dict[int, str] = {}
        for sheet in root.find_all("style"):
            for selectors, body in _RULE.findall(_COMMENT.sub("", sheet.get_text())):
                if font := _font(body):
                    for selector in selectors.split(","):
                        self._rules[selector.strip().lower()] = font

    def marked(self, text: PageElement) -> str:
        """Return a text, marked where it is set in a legacy font."""
        return self.runs.mark(str(text), self._of(text.parent))

    def _of(self, tag: Tag | None) -> str:
        passed: list[int] = []
        font = ""
        while tag is not None:
            if id(tag) in self._known:
                font = self._known[id(tag)]
                break
            passed.append(id(tag))
            font = self._stated(tag)
            if font:
                break
            tag = tag.parent
        self._known.update(dict.fromkeys(passed, font))
        return font

    def _stated(self, tag: Tag) -> str:
        if font := _font(str(tag.get("style") or "")):
            return font
        if face := tag.get("face"):
            return _first(str(face))
        if not self._rules:
            return ""
        name = tag.name.lower()
        classes = [str(one).lower() for one in (tag.get("class") or [])]
        selectors = [f"#{str(tag.get('id') or '').lower()}"]
        selectors += [f"{name}.{one}" for one in classes] + [f".{one}" for one in classes] + [name]
        return next((self._rules[one] for one in selectors if one in self._rules), "")


def _font(declarations: str) -> str:
    found = _FAMILY.search(declarations)
    return _first(_SHORTHAND.sub("", found[1])) if found else ""


def _first(families: str) -> str:
    return families.split(",")[0].replace("!important", "").strip("'\" \t\n")
