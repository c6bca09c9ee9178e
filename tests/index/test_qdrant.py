"""What only the server engine has: names, alias, plain readers, other publishers, an unreachable server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from points import COLLECTION, DIM, MODEL, Corpus, stored, vector_of
from qdrant_client import QdrantClient, models

from rag_platform.errors import NotPublished, UpstreamError
from rag_platform.index import server
from rag_platform.index.lexical import query_terms, weights_of
from rag_platform.index.qdrant import QdrantIndex, alias_name, connect
from rag_platform.protocols import PointBatch
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import Chunk

ALIAS = "nepali_docs__intfloat--multilingual-e5-small"
KEY = "very-secret-key"


@pytest.fixture
def client() -> QdrantClient:
    return QdrantClient(":memory:")


@pytest.fixture
def index(client: QdrantClient, tmp_path: Path) -> QdrantIndex:
    return QdrantIndex(client, tmp_path / "collections")


@pytest.fixture
def corpus() -> Corpus:
    return Corpus({"कर.txt": ["सम्पत्ति कर", "ढिला तिरे जरिवाना"], "भर्ना.txt": ["भर्ना खुल्यो"]})


def collections(client: QdrantClient) -> list[str]:
    return sorted(one.name for one in client.get_collections().collections)


def aliases(client: QdrantClient) -> dict[str, str]:
    return {one.alias_name: one.collection_name for one in client.get_aliases().aliases}


def test_names_alias_and_old_generations(client: QdrantClient, index: QdrantIndex, corpus: Corpus) -> None:
    assert alias_name(COLLECTION, MODEL) == ALIAS
    for number in range(1, 4):
        corpus.put("नयाँ.txt", [f"सूचना {number}"])
        manifest = corpus.publish(index)
        assert (manifest.alias, manifest.address) == (ALIAS, f"{ALIAS}__g{number}")
        assert aliases(client) == {ALIAS: f"{ALIAS}__g{number}"}
    assert collections(client) == [f"{ALIAS}__g2", f"{ALIAS}__g3"]


def test_a_plain_client_reads_the_alias(client: QdrantClient, index: QdrantIndex, corpus: Corpus) -> None:
    """The calls shown in docs/qdrant.md."""
    corpus.publish(index)
    chunk = next(one for one in corpus.expected.values() if one.text == "सम्पत्ति कर")
    dense = client.query_points(ALIAS, query=vector_of(chunk.chunk_id).tolist(), using="dense", limit=1)
    assert dense.points[0].id == chunk.chunk_id
    payload = dense.points[0].payload
    assert payload is not None
    assert list(payload) == [*(field.name for field in fields(Chunk)), "tags"]
    assert payload["source"] == "कर.txt"

    weights = weights_of(query_terms("करको"))
    sparse = models.SparseVector(indices=weights.indices, values=weights.values)
    lexical = client.query_points(ALIAS, query=sparse, using="lexical", limit=5)
    assert [point.id for point in lexical.points] == [chunk.chunk_id]

    only = models.Filter(
        must=[models.FieldCondition(key="source", match=models.MatchValue(value="भर्ना.txt"))]
    )
    records, _ = client.scroll(ALIAS, scroll_filter=only)
    assert [(one.payload or {})["text"] for one in records] == ["भर्ना खुल्यो"]


def test_a_reader_elsewhere_needs_the_server_only(
    client: QdrantClient, index: QdrantIndex, corpus: Corpus, tmp_path: Path
) -> None:
    published = corpus.publish(index)
    elsewhere = QdrantIndex(client, tmp_path / "other machine")
    manifest = elsewhere.current(COLLECTION, MODEL)
    assert manifest is not None
    assert manifest.documents == {}  # only the publisher knows their fingerprints
    for name in ("collection", "model", "generation", "points", "dim", "recipe", "address", "alias"):
        assert getattr(manifest, name) == getattr(published, name)
    assert elsewhere.published() == [manifest]
    assert stored(elsewhere.open(COLLECTION, MODEL)) == stored(index.open(COLLECTION, MODEL))
    assert not (tmp_path / "other machine").exists()


def test_another_publisher_builds_everything(
    client: QdrantClient, index: QdrantIndex, corpus: Corpus, tmp_path: Path
) -> None:
    corpus.publish(index)
    elsewhere = QdrantIndex(client, tmp_path / "other machine")
    corpus.remove("कर.txt")
    assert corpus.publish(elsewhere).generation == 2
    assert corpus.loaded == list(corpus.documents)
    # What the first publisher knows of its own generation says nothing of the other's.
    assert corpus.publish(index).generation == 3
    assert index.open(COLLECTION, MODEL).count() == 1


def test_words_are_counted_where_another_machine_published(
    client: QdrantClient, index: QdrantIndex, corpus: Corpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus.publish(index)
    here = index.open(COLLECTION, MODEL).lexicon
    assert caplog.text == ""
    elsewhere = QdrantIndex(client, tmp_path / "other machine")
    for n in range(3):
        caplog.clear()
        corpus.put("नयाँ.txt", [f"सूचना {n}"])
        corpus.publish(index)
        assert elsewhere.open(COLLECTION, MODEL).lexicon.frequency("सुचन") == 1
        assert "read to count" in caplog.text
    caplog.clear()
    assert elsewhere.open(COLLECTION, MODEL).lexicon.candidates("kr") == here.candidates("kr") == [("कर", 1)]
    assert caplog.text == ""
    assert len(list((tmp_path / "other machine").rglob("*.lexicon"))) == 2


def test_a_damaged_lexicon_is_counted_again(index: QdrantIndex, corpus: Corpus) -> None:
    corpus.publish(index)
    for path in index.root.rglob("words.arrow"):
        path.write_bytes(b"x")
    assert index.open(COLLECTION, MODEL).lexicon.candidates("kr") == [("कर", 1)]
    for path in index.root.rglob("terms.arrow"):
        path.unlink()
    corpus.put("नयाँ.txt", ["कर"])
    corpus.publish(index)
    assert index.open(COLLECTION, MODEL).lexicon.candidates("kr") == [("कर", 2)]
    assert len(list(index.root.rglob("*.lexicon"))) == 2


def test_manifests_of_another_server_are_not_believed(index: QdrantIndex, corpus: Corpus) -> None:
    corpus.publish(index)
    second = QdrantClient(":memory:")
    Corpus().publish(QdrantIndex(second, index.root / "elsewhere"))
    other = QdrantIndex(second, index.root)
    manifest = other.current(COLLECTION, MODEL)
    assert manifest is not None
    assert manifest.documents == {}
    assert corpus.publish(other).points == 3


def test_points_that_went_missing_are_built_anew(
    client: QdrantClient, index: QdrantIndex, corpus: Corpus
) -> None:
    manifest = corpus.publish(index)
    client.delete(manifest.address, points_selector=[next(iter(corpus.expected))])
    assert corpus.publish(index).generation == 2
    assert {point.chunk.chunk_id: point.chunk for point in index.open(COLLECTION, MODEL).points()} == (
        corpus.expected
    )


def test_leftovers_of_a_kill_are_removed(client: QdrantClient, index: QdrantIndex, corpus: Corpus) -> None:
    corpus.publish(index)
    size = {"dense": models.VectorParams(size=DIM, distance=models.Distance.COSINE)}
    for name in (f"{ALIAS}__g2", f"{ALIAS}__g7", f"{ALIAS}__notes", "somebody_elses"):
        client.create_collection(name, vectors_config=size)
    corpus.remove("कर.txt")
    assert corpus.publish(index).generation == 2
    assert collections(client) == [f"{ALIAS}__g1", f"{ALIAS}__g2", f"{ALIAS}__notes", "somebody_elses"]
    assert len(index.published()) == 1


def test_a_removed_generation_is_said_to_be_gone(
    client: QdrantClient, index: QdrantIndex, corpus: Corpus
) -> None:
    manifest = corpus.publish(index)
    reader = index.open(COLLECTION, MODEL)
    client.delete_collection(manifest.address)
    for call in (
        reader.count,
        lambda: reader.lexical(query_terms("कर"), limit=1),
        lambda: reader.dense(np.ones(DIM, np.float32), limit=1),
        lambda: reader.fetch(list(corpus.expected)),
        lambda: list(reader.points()),
    ):
        with pytest.raises(NotPublished, match="any more"):
            call()


class Counting(QdrantClient):
    """Keeps the number of points of each write."""

    n_written: list[int]

    def upsert(self, *given: Any, **more: Any) -> models.UpdateResult:
        self.n_written.append(len(given[1]))
        return super().upsert(*given, **more)


def test_large_vectors_go_in_small_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_REQUEST_FLOATS", 50 * DIM)
    client, corpus = Counting(":memory:"), Corpus({"लामो.txt": [f"खण्ड {n}" for n in range(120)]})
    client.n_written = []
    index = QdrantIndex(client, tmp_path)
    chunks = list(corpus.expected.values())
    whole = PointBatch(chunks, np.stack([vector_of(one.chunk_id) for one in chunks]))
    index.publish(
        COLLECTION, MODEL, dim=DIM, recipe="r", documents=corpus.documents, load=lambda ids: [whole]
    )
    assert client.n_written == [50, 50, 20]
    assert index.open(COLLECTION, MODEL).count() == 120


def test_a_server_that_cannot_be_reached(tmp_path: Path, corpus: Corpus) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://user:{KEY}@127.0.0.1:{port}"
    index = QdrantIndex(connect(url), tmp_path)
    for call in (
        lambda: index.open(COLLECTION, MODEL),
        lambda: index.version(COLLECTION, MODEL),
        lambda: index.published(),
        lambda: corpus.publish(index),
    ):
        with pytest.raises(UpstreamError, match=f"http://127.0.0.1:{port}.*QDRANT_URL") as raised:
            call()
        assert KEY not in str(raised.value)


class Refusing(BaseHTTPRequestHandler):
    """A server that knows no key."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()
        self.wfile.write(b"Must provide an API key or an Authorization bearer token")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def refusing() -> Iterator[str]:
    listening = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}"
    listening.shutdown()
    thread.join()
    listening.server_close()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")  # of a local test server
def test_a_wrong_key(refusing: str, tmp_path: Path) -> None:
    index = QdrantIndex(connect(refusing, KEY), tmp_path)
    with pytest.raises(UpstreamError, match="QDRANT_API_KEY") as raised:
        index.open(COLLECTION, MODEL)
    assert refusing in str(raised.value)
    assert KEY not in str(raised.value)


def test_a_url_that_is_none() -> None:
    with pytest.raises(UpstreamError, match="QDRANT_URL"):
        connect("http://localhost:not-a-port")


def test_a_system_that_is_closed_lets_go_of_the_server(refusing: str, tmp_path: Path) -> None:
    system = System.from_settings(Settings.load(None, RAG_HOME=tmp_path, QDRANT_URL=refusing))
    index = system.index
    with pytest.raises(UpstreamError, match="QDRANT_API_KEY"):
        index.published()
    system.close()
    with pytest.raises(UpstreamError, match="client has been closed"):
        index.published()
