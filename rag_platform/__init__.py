"""rag-platform: Nepali documents in, searchable and cited collections out.

The library knows neither Dagster nor FastAPI; heavy imports happen inside the class that needs them.
"""

from rag_platform.errors import RagError
from rag_platform.types import Chunk, Document, Failure, Hit, Page

__all__ = ["Chunk", "Document", "Failure", "Hit", "Page", "RagError"]
__version__ = "0.1.0"
