"""Where a service that asks for no keys may listen."""

from __future__ import annotations

import ipaddress

from rag_platform.errors import InvalidSetting

__all__ = ["check_binding", "is_local"]


def is_local(host: str) -> bool:
    """Say whether an address is reached from this machine alone.

    >>> is_local("127.0.0.1"), is_local("::1"), is_local("localhost"), is_local("0.0.0.0"), is_local("")
    (True, True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_binding(host: str, *, open_to_all: bool) -> None:
    """Refuse an address that others reach, unless that is wanted.

    Raises:
        InvalidSetting: Whoever reaches it could read, add and delete documents.
    """
    if not (open_to_all or is_local(host)):
        raise InvalidSetting(
            f"the service asks for no keys, and {host!r} may be reached by others, who could read, add and"
            " delete documents: serve 127.0.0.1 behind a proxy that asks who they are, or, where only those"
            " whom you trust can reach it, set RAG_OPEN_TO_ALL=true"
        )
