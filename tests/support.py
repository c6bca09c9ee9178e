"""What several test modules share: text of our own, and the main job by the library alone."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from rag_platform import pipeline
from rag_platform.protocols import CollectionReader
from rag_platform.system import System

TEXTS: Mapping[str, str] = {
    "कर सूचना.txt": (
        "सुनकोशी नगरपालिकाको सूचना। सम्पत्ति कर असार मसान्तभित्र तिर्नुहोला। ढिलो तिर्नेलाई दश प्रतिशत जरिवाना लाग्नेछ।"
    ),
    "विद्यालय/भर्ना.md": "# भर्ना\n\nनयाँ भर्ना वैशाख १५ गतेबाट सुरु हुन्छ। जन्मदर्ता प्रमाणपत्र ल्याउनुहोस्।\n",
    "health.txt": "Boil water for one minute before drinking it. Wash your hands with soap.",
    "इतिहास.html": (
        "<!doctype html><html lang=ne><meta charset=utf-8><title>इतिहास</title>"
        "<p>कीर्तिपुरको बाघ भैरव मन्दिर सोह्रौं शताब्दीमा बनेको मानिन्छ।</p></html>"
    ),
}


def drop(system: System, texts: Mapping[str, str]) -> None:
    """Write texts into the inbox."""
    for source, text in texts.items():
        path = system.inbox.path(system.inbox.root_collection, source)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def ingest(system: System, *, owner: str = "test") -> dict[str, pipeline.StageReport]:
    """Bring everything that lies in the inbox to a published collection, by the library alone."""
    model = system.settings.embedding_model
    for _ in range(2):
        listing = system.inbox.scan(system.catalog.collections())
        system.catalog.observe(listing, now=time.time(), quiet_s=0)
    system.catalog.claim(owner, alive=lambda _: False)
    reports = {}
    todo = pipeline.plan(system, [model], owner=owner)
    for stage in (pipeline.raw_documents, pipeline.pages, pipeline.chunks):
        reports[stage.__name__] = stage(system, todo.documents)
    todo = pipeline.plan(system, [model], owner=owner)
    for name, partitions in todo.embed.items():
        reports["embeddings"] = pipeline.embeddings(system, partitions, name)
    pipeline.publish(system, model)
    system.catalog.finish(owner)
    return reports


def point_set(reader: CollectionReader) -> list[tuple[object, ...]]:
    """Return ids, payloads and vectors of a generation: what "the same points" means."""
    return [(point.chunk, np.round(point.vector, 5).tolist()) for point in reader.points()]
