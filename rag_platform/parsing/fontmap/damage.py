"""What the libraries raise on damaged files: MuPDF for pages and objects, fontTools for font programs.

fontTools checks little: a table that is cut off raises whatever its reader stumbles over.
"""

from __future__ import annotations

import struct

__all__ = ["font_errors", "pdf_errors"]


def pdf_errors() -> tuple[type[Exception], ...]:
    """Return the errors of MuPDF."""
    import pymupdf

    return (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError)


def font_errors() -> tuple[type[Exception], ...]:
    """Return the errors of fontTools."""
    from fontTools.ttLib import TTLibError

    return (
        TTLibError,
        struct.error,
        ArithmeticError,
        AssertionError,
        AttributeError,
        EOFError,
        LookupError,
        NotImplementedError,
        TypeError,
        ValueError,
    )
