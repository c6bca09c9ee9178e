"""The sources of an answer as lines of text, for chat front ends that show nothing else."""

from __future__ import annotations

import re

from rag_platform.answering.prompts import spoken
from rag_platform.answering.reply import Reply
from rag_platform.text.dates import devanagari_digits

__all__ = ["footnotes", "without_footnotes"]

_RULE = "\n\n---\n\n"
_NOTES = re.compile(r"\s*\n---\n\n(?:- \[\d+\] .*(?:\n|\Z))+\Z")
_MARKUP = re.compile(r"([\\`*\[\]<>!|])")


def footnotes(reply: Reply) -> str:
    """Return what goes below an answer: each cited source with its pages, in the answer's language.

    Empty where nothing is cited. File names are text, whatever Markdown would make of them.
    """
    pages: dict[int, dict[int, None]] = {}
    sources: dict[int, str] = {}
    for one in sorted(reply.citations, key=lambda citation: citation.marker):
        sources[one.marker] = one.source
        pages.setdefault(one.marker, {})[one.page] = None
    lines = [
        f"- [{marker}] {_plain(source)}, {_pages(reply, pages[marker])}" for marker, source in sources.items()
    ]
    return _RULE + "\n".join(lines) if lines else ""


def without_footnotes(answer: str) -> str:
    r"""Return an answer as it was before its sources were put below it.

    >>> without_footnotes("कर असारमा [1]।\n\n---\n\n- [1] सूचना.txt, पृष्ठ १")
    'कर असारमा [1]।'
    """
    return _NOTES.sub("", answer)


def _pages(reply: Reply, pages: dict[int, None]) -> str:
    numbers = ", ".join(map(str, sorted(pages)))
    if spoken(reply.question) == "ne":
        return f"पृष्ठ {devanagari_digits(numbers)}"
    return f"{'pages' if len(pages) > 1 else 'page'} {numbers}"


def _plain(source: str) -> str:
    r"""Return a file name without meaning to Markdown.

    >>> print(_plain("![x](http://example.org/कर).pdf"))
    \!\[x\](http://example.org/कर).pdf
    """
    return _MARKUP.sub(r"\\\1", source)
