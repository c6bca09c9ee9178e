"""The search form: its fields as they stand in an address, and the request that they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from rag_platform.types import ALL_KINDS, Kind
from serving.schemas.search import SearchRequest

__all__ = ["EVERY", "Form"]

_STEP, _MOST = 10, 50
EVERY = "*"
"""All collections that the visitor may search."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a visitor asks; empty fields are left open."""

    q: str = ""
    collection: str = ""
    document: str = ""
    kind: tuple[Kind, ...] = ()
    published_from: str = ""
    published_to: str = ""
    condition: str = ""
    scores: bool = False
    k: int = _STEP

    @classmethod
    def read(cls, given: QueryParams) -> Self:
        """Read an address; what cannot be in a field is left out."""
        k = given.get("k", "")
        return cls(
            q=given.get("q", "").strip(),
            collection=given.get("collection", "").strip(),
            document=given.get("document", "").strip(),
            kind=tuple(kind for kind in ALL_KINDS if kind in given.getlist("kind")),
            published_from=given.get("from", "").strip(),
            published_to=given.get("to", "").strip(),
            condition=given.get("condition", "").strip(),
            scores=given.get("scores") == "1",
            k=max(_STEP, min(_MOST, int(k))) if k.isascii() and k.isdecimal() and len(k) < 5 else _STEP,
        )

    @property
    def n_filters(self) -> int:
        """Fields that narrow the search."""
        narrowing = (
            self.collection,
            self.document,
            self.kind,
            self.published_from,
            self.published_to,
            self.condition,
        )
        return sum(map(bool, narrowing))

    @property
    def filters(self) -> list[str]:
        """What passages must be like, as the service reads it."""
        bounds = (("published>=", self.published_from), ("published<=", self.published_to))
        return [
            *(f"{name}{value}" for name, value in bounds if value),
            *([self.condition] if self.condition else []),
        ]

    @property
    def more(self) -> Self | None:
        """The same search with more passages; None where there are enough."""
        return replace(self, k=self.k + _STEP) if self.k < _MOST else None

    @property
    def unfiltered(self) -> Self:
        """The same search in everything."""
        return type(self)(q=self.q)

    def address(self, **more: str) -> str:
        """Return the page's address with these fields."""
        pairs: list[tuple[str, str]] = [("q", self.q)] if self.q else []
        pairs += [("kind", kind) for kind in self.kind]
        texts: Mapping[str, str] = {
            "collection": self.collection,
            "document": self.document,
            "from": self.published_from,
            "to": self.published_to,
            "condition": self.condition,
            "scores": "1" if self.scores else "",
            "k": str(self.k) if self.k != _STEP else "",
            **more,
        }
        pairs += [(name, text) for name, text in texts.items() if text]
        return f"/?{urlencode(pairs)}" if pairs else "/"

    def request(self, collections: Sequence[str]) -> SearchRequest:
        """Return the search that is meant.

        Args:
            collections: That the visitor may search.
        """
        several = self.collection == EVERY and collections
        wanted = {
            "query": self.q,
            "k": self.k,
            "candidates": max(2 * self.k, 20),
            "collections": list(collections) if several else None,
            "collection": self.collection if self.collection not in ("", EVERY) else None,
            "documents": [self.document] if self.document else None,
            "kinds": list(self.kind) or None,
            "filters": self.filters,
            "explain": True,
        }
        return SearchRequest.model_validate(wanted)
