"""Bytes to text: BOM, declared encoding, strict UTF-8, then detection; never with "replace".

What stays unreadable is refused: a page of mojibake is worse than an error.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from rag_platform.errors import ParseError

__all__ = ["decode", "html_declared", "looks_binary"]

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"""<meta[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)""", re.I
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffe\uffff]")
# Browsers read these labels as windows-1252: pages that declare Latin-1 hold smart quotes all the same.
_AS_CP1252 = frozenset({"ascii", "iso8859-1", "latin-1"})
_DETECTION_BYTES = 1 << 20
_MAX_CONTROL_SHARE = 0.005
_MAX_MESS = 0.2
_MAX_FOREIGN = 0.35
_NOT_GUESSED = ("utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be")
"""Without BOM and NUL, no text is in these; any bytes make Chinese in them."""


def looks_binary(text: str) -> bool:
    """Say whether decoded characters are those of no text: NUL, or more controls than a slip explains."""
    controls = len(_CONTROL.findall(text))
    return "\0" in text or controls > max(2, _MAX_CONTROL_SHARE * len(text))


def html_declared(raw: bytes) -> str:
    """Return the encoding that an HTML or XML file declares in its first 4 KiB, or nothing.

    >>> html_declared(b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">')
    'windows-1252'
    """
    found = _DECLARED.search(raw[:4096])
    return (found[1] or found[2]).decode("ascii") if found else ""


def decode(raw: bytes, *, declared: str = "") -> str:
    """Return the text of ``raw``, without BOM.

    Args:
        raw: The whole file.
        declared: Encoding that the file itself names; a BOM overrules it, and it is not believed when
            the bytes contradict it.

    Raises:
        ParseError: The bytes are no text in any encoding that can be told.
    """
    text = _by_bom(raw)
    if text is None:
        text = _by_nulls(raw) if b"\0" in raw else _by_codec(raw, declared)
    if text is None:
        text = _by_detection(raw)
    if looks_binary(text):
        raise ParseError("the content is binary, not text; check the file or give its right suffix")
    return text


def _by_bom(raw: bytes) -> str | None:
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            try:
                return raw[len(bom) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise ParseError(
                    f"the byte order mark says {encoding}, but byte {error.start} cannot be read; "
                    "the file is damaged or truncated"
                ) from error
    return None


def _by_codec(raw: bytes, declared: str) -> str | None:
    for encoding in (_codec(declared), "utf-8"):
        if encoding:
            try:
                return raw.decode(encoding)
            except UnicodeDecodeError:
                continue
    return None


def _codec(declared: str) -> str:
    try:
        name = codecs.lookup(declared).name if declared else ""
    except LookupError:
        return ""
    if name.startswith(("utf-16", "utf-32")):  # no BOM and no NUL: the declaration cannot be true
        return "utf-8"
    return "cp1252" if name in _AS_CP1252 else name


def _by_nulls(raw: bytes) -> str:
    """Read UTF-16 without BOM: the NULs of its ASCII characters stand on one side only."""
    even, odd = raw[0::2].count(0), raw[1::2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise ParseError("the content holds NUL bytes and is not UTF-16: binary, not text") from error
    strange = sum(unicodedata.category(c) in ("Cn", "Co") for c in text[:20_000])
    if min(even, odd) > max(even, odd) / 20 or strange > len(text[:20_000]) / 50:
        raise ParseError("the content holds NUL bytes and is not UTF-16: binary, not text")
    return text


def _by_detection(raw: bytes) -> str:
    text = _western(raw)
    if text is not None:
        return text
    from charset_normalizer import from_bytes

    best = from_bytes(raw[:_DETECTION_BYTES], cp_exclusion=list(_NOT_GUESSED)).best()
    if best is None or best.chaos > _MAX_MESS:
        raise ParseError("the text encoding cannot be told; save the file as UTF-8")
    try:
        return raw.decode(best.encoding)
    except UnicodeDecodeError as error:
        raise ParseError(
            f"the text looks like {best.encoding}, but byte {error.start} cannot be read; save it as UTF-8"
        ) from error


def _western(raw: bytes) -> str | None:
    """Read Windows-1252 when what is not ASCII are accented letters in words, quotes and signs.

    Detectors guess badly on the few accents of a short English text, and this is what it nearly always is.
    """
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        return None
    foreign = [match.start() for match in re.finditer("[^\x00-\x7f]", text)]
    letters = [at for at in foreign if text[at].isalpha()]
    if len(foreign) > _MAX_FOREIGN * len(text):
        return None
    doubled = sum(text[at - 1 : at].isalpha() and text[at - 1] > "\x7f" for at in letters)
    return text if doubled <= len(letters) / 4 else None
