"""What an HTML tree needs from around its text: its fonts, and the pictures it holds.

Fonts: ``<font face>``, ``style`` attributes, and simple rules of its style sheets. Only legacy Nepali fonts
matter here, so only what sites of their time wrote is understood: one element, one class or one identifier
a selector. Nothing is fetched.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rag_platform.parsing.embedded import EmbeddedPictures
from rag_platform.parsing.legacy_runs import LegacyRuns

if TYPE_CHECKING:
    from bs4 import PageElement, Tag

__all__ = ["HtmlFonts", "LoadPicture", "picture_within"]

LoadPicture = Callable[[str], bytes | None]

_DATA = re.compile(r"data:image/[\w.+-]+;base64,(.*)", re.I | re.S)
_FAMILY = re.compile(r"font(?:-family)?\s*:\s*([^;}]+)", re.I)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_SHORTHAND = re.compile(r"^.*\d\S*\s+(?=\D)")


class HtmlFonts:
    """Finds the font of a text by what stands around it.

    Args:
        root: The tree whose style sheets count.
        pictures: Reads what is written on pictures.
        load: Returns the file that a picture's source names.

    Attributes:
        layouts: Tables, by ``id``, that were found to hold no data, so that none is tried twice.
    """

    def __init__(self, root: Tag, pictures: EmbeddedPictures, load: LoadPicture) -> None:
        self.runs = LegacyRuns()
        self.pictures, self._load = pictures, load
        self.layouts: set[int] = set()
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

    def picture(self, source: str) -> str:
        """Return what is written on a picture."""
        return self.pictures.text(lambda: self._load(source))

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


def picture_within(source: str) -> bytes | None:
    """Return a picture that stands in the page itself (``data:``); no other is fetched."""
    found = _DATA.match(source)
    if found is None:
        return None
    try:
        return base64.b64decode(unquote(found[1]), validate=False)
    except ValueError:
        return None


def _font(declarations: str) -> str:
    found = _FAMILY.search(declarations)
    return _first(_SHORTHAND.sub("", found[1])) if found else ""


def _first(families: str) -> str:
    return families.split(",")[0].replace("!important", "").strip("'\" \t\n")
