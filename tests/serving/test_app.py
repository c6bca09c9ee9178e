"""The HTTP service as its users see it: a real server on a free port, asked through httpx."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from http_service import ingested, served, wait, wire
from support import TEXTS, drop, ingest

from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.errors import (
    Busy,
    InvalidSetting,
    NotPublished,
    ParseError,
    RagError,
    UnknownName,
    UpstreamError,
)
from rag_platform.settings import Settings
from serving.app import create_app
from serving.errors import status_of


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    system = ingested(tmp_path_factory.mktemp("serving"))
    system.catalog.create_collection("laws")
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        yield client


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(create_app(system=wire(tmp_path_factory.mktemp("empty")))) as client:
        yield client


def test_search_answers_with_source_pages_and_span(client: httpx.Client) -> None:
    answer = client.post("/v1/search", json={"query": "सम्पत्ति कर कहिलेसम्म तिर्ने?"})
    assert answer.status_code == 200
    body = answer.json()
    assert {k: body[k] for k in ("query", "collection", "embedding_model", "generation", "mode")} == {
        "query": "सम्पत्ति कर कहिलेसम्म तिर्ने?",
        "collection": "nepali_docs",
        "embedding_model": "hashing",
        "generation": 1,
        "mode": "hybrid",
    }
    best = body["hits"][0]
    text = TEXTS["कर सूचना.txt"]
    assert (best["rank"], best["source"]) == (1, "कर सूचना.txt")
    assert (best["page_first"], best["page_last"]) == (1, 1)
    assert text[best["start"] : best["end"]] == best["text"]
    assert [hit["rank"] for hit in body["hits"]] == list(range(1, len(body["hits"]) + 1))
    scores = [hit["score"] for hit in body["hits"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_modes_and_cut_off(client: httpx.Client, mode: str) -> None:
    body = {"query": "boil water", "k": 1, "candidates": 2, "mode": mode, "weights": [1, 0.5]}
    answer = client.post("/v1/search", json=body).json()
    assert answer["mode"] == mode
    assert [hit["source"] for hit in answer["hits"]] == ["health.txt"]


def test_what_stands_around_a_hit_and_why_it_was_found(client: httpx.Client) -> None:
    body = {
        "query": "kar kahile tirne?",
        "collections": ["nepali_docs"],
        "fusion": "rrf",
        "neighbours": 1,
        "around": "page",
        "per_document": 1,
        "per_page": 1,
        "distinct": True,
        "threshold": 0.0,
        "reranker": "none",
        "explain": True,
        "keywords": 3,
    }
    answer = client.post("/v1/search", json=body).json()
    sources = [hit["source"] for hit in answer["hits"]]
    assert len(set(sources)) == len(sources)
    assert answer["generations"] == {"nepali_docs": 1}
    assert answer["explanation"]["fusion"] == "rrf"
    assert answer["explanation"]["language"] == "romanized"
    assert answer["notes"] == []
    assert all(1 <= len(hit["keywords"]) <= 3 for hit in answer["hits"])
    assert all(hit["context"] == [] or hit["context"][0]["source"] == hit["source"] for hit in answer["hits"])
    plain = client.post("/v1/search", json={"query": "पानी"}).json()
    assert plain["explanation"] is None


@pytest.mark.parametrize(
    ("changed", "status", "detail"),
    [
        ({"collection": "laws", "collections": ["laws"]}, 422, "give one of them"),
        ({"reranker": "BAAI/bge-reranker-v2-m3"}, 404, "reranker of this service"),
        ({"fusion": "magic"}, 422, "body.fusion"),
        ({"around": "chapter"}, 422, "body.around"),
        ({"neighbours": 21}, 422, "body.neighbours"),
        ({"collections": ["nepali_docs", "lawz"]}, 404, "lawz"),
    ],
)
def test_options_that_cannot_be_had_are_refused(
    client: httpx.Client, changed: dict[str, object], status: int, detail: str
) -> None:
    answer = client.post("/v1/search", json={"query": "पानी", **changed})
    assert answer.status_code == status
    assert detail in answer.json()["detail"]


def test_kinds_choose_what_is_searched(client: httpx.Client) -> None:
    hits = client.post("/v1/search", json={"query": "भर्ना", "kinds": ["text"]}).json()["hits"]
    assert (hits[0]["kind"], hits[0]["path"], hits[0]["header"]) == ("text", "भर्ना", "")
    assert client.post("/v1/search", json={"query": "भर्ना", "kinds": ["table"]}).json()["hits"] == []


def test_documents_choose_what_is_searched(client: httpx.Client) -> None:
    listed = client.get("/v1/documents").json()["documents"]
    key = next(one["document_id"] for one in listed if one["source"] == "इतिहास.html")
    body = {"query": "पानी", "documents": ["health.txt", key]}
    hits = client.post("/v1/search", json=body).json()["hits"]
    assert {hit["source"] for hit in hits} == {"health.txt", "इतिहास.html"}
    missing = client.post("/v1/search", json={"query": "पानी", "documents": ["helth.txt"]})
    assert (missing.status_code, "health.txt" in missing.json()["detail"]) == (404, True)
    assert client.post("/v1/search", json={"query": "पानी", "documents": []}).status_code == 422


def test_filters_choose_what_is_searched_and_are_told_as_understood(client: httpx.Client) -> None:
    body = {"query": "पानी", "filters": ["source=health.txt", "published!=2081-04-15"]}
    answer = client.post("/v1/search", json=body).json()
    assert [hit["source"] for hit in answer["hits"]] == ["health.txt"]
    assert answer["hits"][0]["fields"] == {}
    assert answer["filters"] == ["source = health.txt", "published != 2024-07-30 (BS 2081-04-15)"]
    assert client.post("/v1/search", json={"query": "पानी", "filters": ["year>=2000"]}).json()["hits"] == []


@pytest.mark.parametrize(
    ("filters", "status", "detail"),
    [
        (["yaer=2081"], 404, "unknown filter field 'yaer'. Did you mean 'year'?"),
        (["year=AD"], 400, "'AD' is no value for 'year'"),
        (["published=2081-02-33"], 400, "'2081-02-33' is no date for 'published'"),
        ([2081], 422, "body.filters.0"),
        ("year=2081", 422, "body.filters"),
        ({"year": 2081}, 422, "body.filters"),
        (["year=2081"] * 101, 422, "body.filters"),
    ],
)
def test_filters_that_mean_nothing_are_refused(
    client: httpx.Client, filters: object, status: int, detail: str
) -> None:
    answer = client.post("/v1/search", json={"query": "x", "filters": filters})
    assert answer.status_code == status
    assert detail in answer.json()["detail"]


def test_the_model_may_be_named_in_any_case(client: httpx.Client) -> None:
    answer = client.post("/v1/search", json={"query": "पानी", "embedding_model": "Hashing"})
    assert (answer.status_code, answer.json()["embedding_model"]) == (200, "hashing")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body.query"),
        ({"query": " \n"}, "body.query"),
        ({"query": 5}, "body.query"),
        ({"query": "क" * 5000}, "body.query"),
        ({"query": "\ud800"}, "body.query"),
        ({"query": "x", "k": "5"}, "body.k"),
        ({"query": "x", "k": 0}, "body.k"),
        ({"query": "x", "k": True}, "body.k"),
        ({"query": "x", "mode": "magic"}, "body.mode"),
        ({"query": "x", "weights": [0.7]}, "body.weights"),
        ({"query": "x", "weights": [0, 0]}, "body"),
        ({"query": "x", "weights": [-1, 1]}, "body.weights.0"),
        ({"query": "x", "top_k": 5}, "body.top_k"),
        ([], "body"),
    ],
)
def test_a_bad_request_names_the_field(client: httpx.Client, body: object, field: str) -> None:
    answer = client.post(
        "/v1/search", content=json.dumps(body).encode(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert set(answer.json()) == {"detail", "code", "request_id"}
    assert answer.json()["code"] == "invalid_request"
    assert answer.json()["detail"].startswith(f"{field}: ")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"query": "x", "weights": [NaN, 1]}'])
def test_what_is_no_json_is_refused(client: httpx.Client, content: bytes) -> None:
    answer = client.post("/v1/search", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) in [(422, "invalid_request"), (400, "http_error")]
    assert set(answer.json()) == {"detail", "code", "request_id"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"query": "x", "collection": "nepali_doc"}, "nepali_docs"),
        ({"query": "x", "embedding_model": "BAAI/bge-m3"}, "hashing"),
        ({"query": "x", "embedding_model": "bge-m4"}, "BAAI/bge-m3"),
    ],
)
def test_what_is_not_published_is_404_and_the_nearest_is_named(
    client: httpx.Client, body: dict[str, str], named: str
) -> None:
    answer = client.post("/v1/search", json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_name")
    assert named in answer.json()["detail"]


def test_unknown_paths_and_methods_have_the_same_form(client: httpx.Client) -> None:
    missing, wrong = client.get("/v2/search"), client.get("/v1/ask")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"
    assert set(missing.json()) == set(wrong.json()) == {"detail", "code", "request_id"}


def test_collections_lists_published_and_empty_ones(client: httpx.Client) -> None:
    first, second = client.get("/v1/collections").json()["collections"]
    (generation,) = first["generations"]
    alias = generation.pop("alias")
    assert first["name"] == "nepali_docs"
    assert "nepali_docs" in alias
    assert generation == {
        "embedding_model": "hashing",
        "generation": 1,
        "points": len(TEXTS),
        "documents": len(TEXTS),
        "dim": 512,
    }
    assert second == {"name": "laws", "documents": 0, "generations": []}


def test_health_and_readiness(client: httpx.Client) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
    assert client.get("/readyz").json() == {
        "status": "ready",
        "collection": "nepali_docs",
        "embedding_model": "hashing",
        "generation": 1,
        "points": len(TEXTS),
    }


def test_agents_are_answered_at_mcp(client: httpx.Client) -> None:
    said = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "परीक्षक", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": said}
    headers = {"accept": "application/json, text/event-stream"}
    answer = client.post("/mcp", json=body, headers=headers)
    assert answer.status_code == 200
    assert "rag-platform" in answer.text


def test_no_page_of_the_service_fetches_from_elsewhere(client: httpx.Client) -> None:
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404
    assert "/v1/search" in client.get("/openapi.json").json()["paths"]


def test_nothing_published_is_503_and_says_what_is_missing(empty: httpx.Client) -> None:
    assert empty.get("/healthz").status_code == 200
    wait(lambda: "loading" not in empty.get("/readyz").text)
    ready = empty.get("/readyz")
    assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
    (missing,) = ready.json()["missing"]
    assert "'nepali_docs' has no generation of hashing" in missing
    answer = empty.post("/v1/search", json={"query": "पानी"})
    assert (answer.status_code, answer.json()["code"]) == (503, "not_published")
    assert empty.get("/v1/collections").json() == {
        "collections": [{"name": "nepali_docs", "documents": 0, "generations": []}],
        "next_cursor": None,
    }


def test_a_model_that_cannot_be_loaded_is_told_by_readyz(tmp_path: Path) -> None:
    app = create_app(system=wire(tmp_path, EMBEDDING_MODEL="BAAI/bge-m3"))
    with served(app) as client:
        wait(lambda: "loading" not in client.get("/readyz").text, limit_s=60)
        missing = client.get("/readyz").json()["missing"]
    assert len(missing) == 2
    assert "BAAI/bge-m3" in missing[0]


def test_a_new_generation_is_followed_without_dropping_a_request(tmp_path: Path) -> None:
    system = ingested(tmp_path)
    seen: list[tuple[int, int, str]] = []
    stop = threading.Event()

    def ask(base_url: str) -> None:
        with httpx.Client(base_url=base_url, timeout=30, trust_env=False) as own:
            while not stop.is_set():
                answer = own.post("/v1/search", json={"query": "उम्लेको पानी", "k": 1})
                body = answer.json()
                seen.append((answer.status_code, body.get("generation", 0), body["hits"][0]["source"]))

    with served(create_app(Settings.load(None, RAG_HOME=tmp_path, EMBEDDING_MODEL="hashing"))) as client:
        threads = [threading.Thread(target=ask, args=(str(client.base_url),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for version in range(3):
            drop(system, {"पानी.txt": f"उम्लेको पानी पिउनुहोस्। संस्करण {version}।"})
            ingest(system)
        wait(lambda: any(generation == 4 for _, generation, _ in list(seen)))
        stop.set()
        for thread in threads:
            thread.join()
    assert {status for status, _, _ in seen} == {200}
    generations = [generation for _, generation, _ in seen]
    assert {1, 4} <= set(generations)
    assert {source for _, generation, source in seen if generation > 1} == {"पानी.txt"}


def test_slow_searches_do_not_block_the_event_loop(tmp_path: Path) -> None:
    system = ingested(tmp_path)
    calibrated = system.encoder("hashing")
    assert isinstance(calibrated, CalibratedEncoder)
    encoder = calibrated.inner
    encode, running = encoder.encode, threading.Event()

    def slow(texts: list[str], prompt: str) -> object:
        if texts != ["नेपाल"]:  # the warm-up
            running.set()
            time.sleep(1.5)
        return encode(texts, prompt)  # type: ignore[arg-type]

    encoder.encode = slow  # type: ignore[method-assign, assignment]
    with served(create_app(system=system)) as client:
        thread = threading.Thread(target=lambda: client.post("/v1/search", json={"query": "अर्को प्रश्न"}))
        thread.start()
        assert running.wait(10)
        begin = time.monotonic()
        assert httpx.get(f"{client.base_url}/healthz", trust_env=False).status_code == 200
        assert time.monotonic() - begin < 1
        thread.join()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnknownName("collection", "x", []), 404),
        (InvalidSetting("x"), 400),
        (ParseError("x"), 422),
        (UpstreamError("x"), 502),
        (NotPublished("x"), 503),
        (Busy("x"), 503),
    ],
)
def test_each_kind_of_error_has_its_status(error: RagError, status: int) -> None:
    assert status_of(error) == status


def test_a_programmer_error_is_a_plain_500(tmp_path: Path) -> None:
    system = wire(tmp_path)
    app = create_app(system=system)
    with served(app) as client:
        app.state.service.platform = None
        answer = client.get("/v1/collections")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "NoneType" not in answer.text
