"""What browsers fetch beside the page: styles, scripts, fonts; read once, under one address.

The address holds a hash of every file, so that browsers may keep them for good and never mix two versions.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

__all__ = ["File", "address", "files", "scripts", "version"]

_FOLDER = Path(__file__).with_name("static")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent; ``packed`` is its gzip form, empty where that saves nothing."""

    content: bytes
    media_type: str
    packed: bytes = b""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file."""
        content = path.read_bytes()
        packed = gzip.compress(content, mtime=0)
        return cls(content, _TYPES[path.suffix], packed if len(packed) < 0.9 * len(content) else b"")


@cache
def files() -> Mapping[str, File]:
    """Return every file by its name; there are no others."""
    found = sorted(path for path in _FOLDER.iterdir() if path.suffix in _TYPES)
    return {path.name: File.read(path) for path in found}


@cache
def version() -> str:
    """Return what changes with any of the files."""
    digest = hashlib.sha256()
    for name, file in files().items():
        digest.update(name.encode() + b"\0" + file.content)
    return digest.hexdigest()[:16]


def address(name: str) -> str:
    """Return where a file is to be fetched."""
    return f"/assets/{version()}/{name}"


def scripts() -> list[str]:
    """Return where the scripts are to be fetched, so that a browser need not find one through another."""
    return [address(name) for name in files() if name.endswith(".js")]
