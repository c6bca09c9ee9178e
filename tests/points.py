"""A corpus of chunks with vectors, as the embeddings tables would give them to an index."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from rag_platform.index.edge import EdgeIndex
from rag_platform.protocols import CollectionReader, FloatArray, Index, Manifest, PointBatch
from rag_platform.types import Chunk, Kind, chunk_id, document_id, fingerprint

COLLECTION, MODEL, DIM = "nepali_docs", "intfloat/multilingual-e5-small", 8

Points = dict[str, tuple[Chunk, bytes]]


def vector_of(key: str, dim: int = DIM) -> FloatArray:
    """Return a unit vector that depends on the chunk id only."""
    values = np.random.default_rng(UUID(key).int).normal(size=dim)
    return (values / np.linalg.norm(values)).astype(np.float32)


def chunks_of(source: str, texts: Sequence[str], collection: str = COLLECTION) -> list[Chunk]:
    """Return chunks as they are cut from a document; other texts are another version of it.

    A text that begins with a cell is a chunk of a table, whose header row stands beside it.
    """
    kind: Kind
    document, version = document_id(collection, source), fingerprint(*texts)
    chunks, start = [], 0
    for ordinal, text in enumerate(texts):
        end = start + len(text)
        key = chunk_id(document, version, "recipe", start, end)
        place = (ordinal, text, start, end, ordinal + 1, ordinal + 1, len(text.split()), 0)
        kind, header = ("table", "| सेवा | शुल्क |") if text.startswith("|") else ("text", "")
        chunk = Chunk(
            key, document, collection, source, version, *place, kind=kind, language="ne", header=header
        )
        chunks.append(chunk)
        start = end + 1
    return chunks


class Corpus:
    """The live documents; ``loaded`` lists what an index asked for, in order."""

    def __init__(
        self, texts: Mapping[str, Sequence[str]] | None = None, *, collection: str = COLLECTION
    ) -> None:
        self.collection = collection
        self.chunks: dict[str, list[Chunk]] = {}
        self.loaded: list[str] = []
        for source, some in (texts or {}).items():
            self.put(source, some)

    def put(self, source: str, texts: Sequence[str], **known: Any) -> None:
        """Add or replace a document; ``known`` are fields of all its chunks."""
        chunks = chunks_of(source, texts, self.collection)
        self.chunks[document_id(self.collection, source)] = [
            dataclasses.replace(chunk, **known) for chunk in chunks
        ]

    def remove(self, source: str) -> None:
        del self.chunks[document_id(self.collection, source)]

    @property
    def documents(self) -> dict[str, str]:
        return {key: fingerprint([one.chunk_id for one in chunks]) for key, chunks in self.chunks.items()}

    def load(self, document_ids: Sequence[str]) -> Iterator[PointBatch]:
        self.loaded += document_ids
        for key in document_ids:
            for chunk in self.chunks[key]:
                yield PointBatch([chunk], vector_of(chunk.chunk_id)[None])

    def publish(self, index: Index, *, recipe: str = "r1", rebuild: bool = False) -> Manifest:
        """Publish, and forget what was loaded before."""
        self.loaded = []
        return index.publish(
            self.collection,
            MODEL,
            dim=DIM,
            recipe=recipe,
            documents=self.documents,
            load=self.load,
            rebuild=rebuild,
        )

    @property
    def expected(self) -> dict[str, Chunk]:
        return {one.chunk_id: one for chunks in self.chunks.values() for one in chunks}


def stored(reader: CollectionReader) -> Points:
    """Return ids, payloads and vectors of all points, in the order the reader yields them."""
    return {point.chunk.chunk_id: (point.chunk, point.vector.tobytes()) for point in reader.points()}


def edition(number: int, *, n_documents: int = 120, chunk_length: int = 40) -> Corpus:
    """Return one of many states of a corpus: each edition edits, adds, renames and lacks some documents."""
    corpus = Corpus()
    for n in range(n_documents):
        version = number if n % 5 == number % 5 else 0
        source = f"{n}{'-नयाँ' if n % 7 == number % 7 else ''}.txt"
        if n % 11 != number % 11:
            text = f"दस्तावेज {n} संस्करण {version} ".ljust(chunk_length, "क")
            corpus.put(source, [f"{text} {part}" for part in range(1 + n % 4)])
    return corpus


def marked(number: int) -> Corpus:
    """Return a corpus in which every chunk names the edition, so that a mixed answer shows."""
    corpus = Corpus()
    for n in range(30):
        corpus.put(f"{n}.txt", [f"संस्करण{number} साझा", f"संस्करण{number} साझा {n}"])
    return corpus


def publish_marked(index: Index, until: Callable[[int], bool]) -> int:
    """Publish one marked edition after the other from the second on, and return the last."""
    number = 1
    while not until(number):
        time.sleep(0.2)
        number += 1
        manifest = marked(number).publish(index)
        assert manifest.generation == number
    return number


def open_until_closed(root: str) -> None:
    """Open the published generation again and again until stdin ends; print how often, fail when it fails."""
    index, n_opened = EdgeIndex(Path(root)), 0
    end = threading.Thread(target=sys.stdin.read)
    end.start()
    print("ready", flush=True)
    while end.is_alive():
        reader = index.open(COLLECTION, MODEL)
        editions = {chunk.text.split()[0] for chunk, _ in stored(reader).values()}
        assert editions == {f"संस्करण{reader.manifest.generation}"}
        n_opened += 1
    print(n_opened)
