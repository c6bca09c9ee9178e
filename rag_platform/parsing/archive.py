"""Opening ZIP containers safely: damaged ones and bombs are refused before any library sees them."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from pathlib import Path

from rag_platform.errors import ParseError

__all__ = ["DAMAGE", "open_archive"]

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)
"""What ``zipfile`` raises when a container or a member is damaged, under a password or packed strangely."""

MAX_ENTRIES = 20_000
MAX_BYTES = 1 << 30
"""Limit of what one container may unpack to: real documents with many pictures stay well below."""
MAX_RATIO = 200
RATIO_COUNTS_FROM = 64 << 20
"""Small files of repetitive XML pack better than any bomb, so the ratio only counts above this size."""


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open the ZIP file ``path`` for reading.

    Raises:
        ParseError: It is damaged, truncated, or unpacks to more than any document needs.
    """
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the disk
        raise ParseError(
            f"the file is a damaged or truncated ZIP container ({error}); get it again"
        ) from error
    entries, size = archive.infolist(), path.stat().st_size
    if any(entry.header_offset + entry.compress_size > size for entry in entries):
        archive.close()
        raise ParseError(
            "the file is a damaged or truncated ZIP container (a member ends after it); get it again"
        )
    unpacked = sum(entry.file_size for entry in entries)
    packed = max(1, sum(entry.compress_size for entry in entries))
    bomb = _is_bomb(unpacked, packed) or any(_is_bomb(e.file_size, e.compress_size) for e in entries)
    if len(entries) > MAX_ENTRIES or unpacked > MAX_BYTES or bomb:
        archive.close()
        raise ParseError(
            f"the container unpacks to {unpacked} bytes in {len(entries)} entries from {packed} bytes; "
            "refused as a decompression bomb"
        )
    return archive


def _is_bomb(unpacked: int, packed: int) -> bool:
    return unpacked > RATIO_COUNTS_FROM and unpacked > MAX_RATIO * max(1, packed)
