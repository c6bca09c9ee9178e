"""Where a service may listen, whether it asks for keys, and which names and pages it answers to."""

from __future__ import annotations

import ipaddress
import re

from rag_platform.errors import InvalidSetting
from rag_platform.keys import Keys
from rag_platform.settings import Settings

__all__ = ["asked_keys", "check_binding", "is_local", "names_of", "origins"]

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_ORIGIN = re.compile(r"https?://[^/?#\s]+")


def is_local(host: str) -> bool:
    """Say whether an address is reached from this machine alone.

    >>> is_local("127.0.0.1"), is_local("::1"), is_local("localhost"), is_local("0.0.0.0"), is_local("")
    (True, True, True, False, False)
    """
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def asked_keys(settings: Settings) -> Keys | None:
    """Return the keys that a service asks for; None where it asks for none.

    By itself (``auto``) it asks for them where others reach it, unless it is open to all.
    """
    is_asked = settings.api_keys == "required" or not (
        settings.api_keys == "off" or settings.open_to_all or is_local(settings.host)
    )
    return Keys(settings.root) if is_asked else None


def check_binding(settings: Settings) -> None:
    """Refuse to listen where nobody could call, or everybody.

    Raises:
        InvalidSetting: Keys are asked for and there is none; or none is asked for where others reach it.
    """
    keys = asked_keys(settings)
    if keys is not None and not keys.usable():
        raise InvalidSetting(
            f"the service at {settings.host!r} asks for a key, and there is none yet: make one with"
            " rag keys add NAME --scope read; or, where only those whom you trust can reach it, set"
            " RAG_OPEN_TO_ALL=true"
        )
    if keys is None and not (settings.open_to_all or is_local(settings.host)):
        raise InvalidSetting(
            f"RAG_API_KEYS=off, and {settings.host!r} may be reached by others, who could read, add and"
            " delete documents: leave the keys on, or, where only those whom you trust can reach it, set"
            " RAG_OPEN_TO_ALL=true"
        )
    origins(settings)


def origins(settings: Settings) -> tuple[str, ...]:
    """Return the pages of other sites that may call.

    Raises:
        InvalidSetting: One is no origin; or any page could use a service that asks for no key.
    """
    for origin in settings.cors_origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise InvalidSetting(
                f"RAG_CORS_ORIGINS names {origin!r}, which is no origin; write it as https://example.org,"
                " without a path"
            )
    if "*" in settings.cors_origins and asked_keys(settings) is None:
        raise InvalidSetting(
            "RAG_CORS_ORIGINS=* would let any page that a browser shows read and delete documents here; name"
            " the pages, or ask for keys with RAG_API_KEYS=required"
        )
    return settings.cors_origins


def names_of(settings: Settings) -> list[str]:
    """Return the names by which a service on this machine is called; others are false DNS of some page."""
    names = [*_LOCAL, *settings.mcp_hosts]
    if not _is_everywhere(settings.host):
        names.append(f"[{settings.host}]" if ":" in settings.host else settings.host)
    return list(dict.fromkeys(names))


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
