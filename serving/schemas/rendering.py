"""Where a span of a document's text stands on a page."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from rag_platform.rendering import PageBoxes, Place

__all__ = ["BoxAnswer", "BoxesAnswer"]


class BoxAnswer(BaseModel):
    """A rectangle, in shares of the page's width and height from its top left corner."""

    x0: float
    y0: float
    x1: float
    y1: float


class BoxesAnswer(BaseModel):
    """The boxes of a span on one page."""

    document_id: str
    page: int
    pages: int = Field(description="of the document")
    place: Place = Field(description="whether the passage stands here; unsure where boxes might be wrong")
    boxes: list[BoxAnswer] = Field(description="one a line; none unless the place is here")

    @classmethod
    def of(cls, found: PageBoxes, document_id: str, page: int, pages: int) -> Self:
        """Return the JSON form."""
        boxes = [BoxAnswer(x0=x0, y0=y0, x1=x1, y1=y1) for x0, y0, x1, y1 in found.boxes]
        return cls(document_id=document_id, page=page, pages=pages, place=found.place, boxes=boxes)
