"""Lists in parts: how many at once, and cursors, which name a place in a list and not a number.

A cursor holds the key of the last item, so whatever comes and goes meanwhile, what was there all the time is
listed once. Callers keep it and give it back; what it looks like may change.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

from rag_platform.errors import CallerError
from rag_platform.types import fingerprint

__all__ = ["Cursor", "Limit", "Part", "cut"]

MAX_LIMIT = 1_000
USUAL_LIMIT = 100
"""Where a cursor comes without a limit."""

Limit = Annotated[
    int | None, Query(ge=1, le=MAX_LIMIT, description="how many at most; without it and cursor, all")
]
Cursor = Annotated[
    str | None, Query(max_length=8_000, description="next_cursor of the answer before; none: from the start")
]
Key = tuple[Any, ...]
"""Of texts and numbers, by which a list is ordered."""
T = TypeVar("T")


class Part:
    """Which part of a list is wanted.

    Args:
        limit: As the request has it.
        cursor: As the request has it.
        of: What makes the list this one: its name, and what it is filtered by.
        key: What the key of an item is made of.

    Raises:
        CallerError: The cursor is of another list, or none of ours.
    """

    def __init__(self, limit: int | None, cursor: str | None, *of: object, key: tuple[type, ...]) -> None:
        self._list, self._key = fingerprint(*of)[:8], key
        self.limit = limit if limit or cursor is None else USUAL_LIMIT
        self.after: Key | None = None if cursor is None else self._read(cursor)

    @property
    def asked(self) -> int:
        """How many to look up: one more than is shown, which tells that there are more; -1: all."""
        return -1 if self.limit is None else self.limit + 1

    def cursor(self, *key: str | int | float) -> str:
        """Return the cursor behind the item of a key."""
        written = json.dumps([self._list, *key], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(written).decode().rstrip("=")

    def _read(self, cursor: str) -> Key:
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            of, *key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
            json.dumps(key, ensure_ascii=False).encode()  # half a surrogate pair is no text
        except (binascii.Error, ValueError, TypeError, RecursionError):
            of, key = "", []
        if of != self._list or [type(one) for one in key] != list(self._key):
            raise CallerError(
                f"the cursor {cursor[:80]!r} is not of this list as it is asked for; take next_cursor of its"
                " own answer, or leave cursor out to begin anew"
            )
        return tuple(key)


def cut(found: Sequence[T], part: Part, key_of: Callable[[T], Key]) -> tuple[Sequence[T], str | None]:
    """Return what is shown of what was looked up, and the cursor of what comes next.

    >>> part = Part(2, None, "letters", key=(str,))
    >>> shown, cursor = cut(["क", "ख", "ग"], part, lambda letter: (letter,))
    >>> shown, Part(2, cursor, "letters", key=(str,)).after
    (['क', 'ख'], ('ख',))
    """
    if part.limit is None or len(found) <= part.limit:
        return found, None
    shown = found[: part.limit]
    return shown, part.cursor(*key_of(shown[-1]))
