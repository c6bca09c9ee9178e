"""rag-platform: Nepali documents in, searchable and cited collections out.

The library knows neither Dagster nor FastAPI; heavy imports happen inside the class that needs them. The two
facades and their clients are imported when they are first named, so that importing the package stays quick.
"""

from typing import TYPE_CHECKING

from rag_platform.errors import RagError
from rag_platform.types import Chunk, Document, Failure, Hit, Page

if TYPE_CHECKING:
    from rag_platform.client import AsyncRagClient, RagClient
    from rag_platform.platform import RagPlatform
    from rag_platform.platform_async import AsyncRagPlatform

__all__ = [
    "AsyncRagClient",
    "AsyncRagPlatform",
    "Chunk",
    "Document",
    "Failure",
    "Hit",
    "Page",
    "RagClient",
    "RagError",
    "RagPlatform",
]
__version__ = "0.1.0"

_FACADES = {
    "AsyncRagClient": "client",
    "AsyncRagPlatform": "platform_async",
    "RagClient": "client",
    "RagPlatform": "platform",
}


def __getattr__(name: str) -> object:
    """Import a facade that is named for the first time."""
    if name not in _FACADES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"{__name__}.{_FACADES[name]}"), name)
    return found
