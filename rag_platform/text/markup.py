"""Text that comes from documents as part of HTML, Markdown and LaTeX: shown as it is, never obeyed.

What a page or table holds is decided where it is written.
"""

from __future__ import annotations

import html
import unicodedata

__all__ = ["excerpt", "html_text", "latex_text", "markdown_text", "plain"]

_CONTROLS = ("Cc", "Cs")
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks that turn the direction of a line; U+202E makes exe.pdf of fdp.exe."""
_JOINERS = "\u094d\u200c\u200d"
"""Virama, ZWNJ and ZWJ: what follows belongs to the same syllable."""
_MARKDOWN = "\\`*_[]<>|#~$&"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def plain(value: object) -> str:
    r"""Return a value as text, without what controls how a line is drawn.

    >>> plain("सूचना\u202efdp.exe")
    'सूचना�fdp.exe'
    """
    return "".join(
        "\ufffd" if c in _DIRECTIONS or (unicodedata.category(c) in _CONTROLS and c not in "\n\t") else c
        for c in str(value)
    )


def html_text(value: object) -> str:
    """Return a value as text of a page or of a quoted attribute.

    >>> html_text('<b class="क">')
    '&lt;b class=&quot;क&quot;&gt;'
    """
    return html.escape(plain(value)).replace("\n", "<br>")


def markdown_text(value: object) -> str:
    r"""Return a value as text of one line or table cell.

    >>> markdown_text("a|b_c")
    'a\\|b\\_c'
    """
    return "".join(f"\\{c}" if c in _MARKDOWN else c for c in " ".join(plain(value).split()))


def latex_text(value: object) -> str:
    r"""Return a value as text of one line.

    >>> latex_text("5 % of a_b")
    '5 \\% of a\\_b'
    """
    return "".join(_LATEX.get(c, c) for c in " ".join(plain(value).split()))


def excerpt(text: str, length: int) -> str:
    """Return the beginning of a text on one line, never cut inside a syllable.

    >>> excerpt("नेपालको राजधानी", 5)
    'नेपाल…'
    >>> excerpt("राज्य", 4)
    'रा…'
    """
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    while length and (unicodedata.category(line[length])[0] in "MC" or line[length - 1] in _JOINERS):
        length -= 1
    return line[:length] + "…"
