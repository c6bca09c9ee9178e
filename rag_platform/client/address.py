"""Addresses and keys as people give them, made fit for requests."""

from __future__ import annotations

from urllib.parse import urlsplit

from rag_platform.errors import CallerError
from rag_platform.privacy import THIS_MACHINE, address_parts, shown_address

__all__ = ["checked_key", "repaired"]


def repaired(url: str) -> str:
    """Return the address of a service, as far as its paths.

    Without a scheme it is ``http`` on this machine and ``https`` elsewhere: a key is not sent in the clear
    unless ``http`` is asked for.

    Raises:
        CallerError: It is none, or holds a password.

    >>> repaired("localhost:8080/"), repaired("rag.example.org/docs/v1/")
    ('http://localhost:8080', 'https://rag.example.org/docs')
    """
    written = url.strip()
    try:
        if "://" not in written:
            host = urlsplit(f"//{written}").hostname
            written = f"{'http' if host in THIS_MACHINE else 'https'}://{written}"
    except ValueError:  # told below
        written = f"//{written}"
    parts = address_parts(written)
    if "@" in (written if parts is None else parts.netloc):
        raise CallerError("the address holds a name or a password; leave them out, and give the key as key=")
    if parts is None:
        raise CallerError(f"{shown_address(url)!r} is no address of a service; write http://127.0.0.1:8080")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1').rstrip('/')}"


def checked_key(key: str) -> str:
    """Return a key that a header can hold.

    Raises:
        CallerError: It has other than visible ASCII letters; it is not shown.
    """
    found = key.strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise CallerError("the key has characters that no key has; give it as rag keys add has shown it")
    return found
