"""The bridge to the tables of legacy fonts: which converter a font of a PDF needs, if any.

The tables themselves, and the evidence of text, are in ``rag_platform.text.legacy_fonts``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

__all__ = ["Converter", "Legacy", "legacy_converter"]

Converter = Callable[[str], str]
"""Key codes of a legacy font to Unicode."""

Legacy = Callable[[str, str], Converter | None]
"""What a font writes in a document, and its name, to its converter; None where its text is no legacy text."""

_TYPED = 0.6
_MIN_SAMPLE = 40
_PLAIN_DIGITS = "himali_tt"


def legacy_converter(sample: str, font_name: str) -> Converter | None:
    """Return the converter of a font: by its name, or else by much evidence of its text."""
    from rag_platform.text import legacy_fonts

    named = legacy_fonts.family(font_name)
    if named is not None and "himal" in named and not any(map(str.isalpha, sample)):
        return partial(legacy_fonts.to_unicode, family=_PLAIN_DIGITS)  # page and clause numbers only
    found = legacy_fonts.resolve(font_name, sample)
    if found is None and len(sample) >= _MIN_SAMPLE and legacy_fonts.looks_legacy(sample) > _TYPED:
        found = legacy_fonts.detect_family(sample)
    return None if found is None else partial(legacy_fonts.to_unicode, family=found)
