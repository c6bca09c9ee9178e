"""Moments as programs read them: ISO 8601 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

__all__ = ["utc"]


def utc(seconds: float, to: Literal["minutes", "seconds", "milliseconds"] = "seconds") -> str:
    """Return a moment, given in seconds since 1970.

    >>> utc(1_775_000_000.5), utc(1_775_000_000.5, "milliseconds"), utc(0, "minutes")
    ('2026-03-31T23:33:20Z', '2026-03-31T23:33:20.500Z', '1970-01-01T00:00Z')
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=to).replace("+00:00", "Z")
