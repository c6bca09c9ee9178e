"""Addresses and keys as people give them, made fit for requests."""

from __future__ import annotations

from urllib.parse import urlsplit

from rag_platform.errors import CallerError
from rag_platform.privacy import THIS_MACHINE, shown_address

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
        parts = urlsplit(written)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        has_password = "@" in parts.netloc
    except ValueError:
        fits, has_password = False, "@" in written
    if has_password:
        raise CallerError("the address holds a name or a password; leave them out, and give the key as key=")
    if not fits:
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
