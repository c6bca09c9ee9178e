"""``/metrics`` as Prometheus reads it: counts that are right, and labels that nobody can make more of."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from http_service import ingested, served, wait, wire
from model_server import Fault, Says, speaking
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families
from support import TEXTS

from rag_platform import __version__
from rag_platform.keys import Keys
from rag_platform.system import System
from rag_platform.watching import Call
from serving.app import create_app
from serving.metrics import Metrics

Sample = tuple[str, frozenset[tuple[str, str]]]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    return ingested(tmp_path_factory.mktemp("metrics"))


@pytest.fixture(scope="module")
def client(system: System) -> Iterator[httpx.Client]:
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        yield client


def counts(client: httpx.Client, **headers: str) -> dict[Sample, float]:
    """Return every sample by its name and labels."""
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(found: dict[Sample, float], name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0.0)


def test_requests_are_counted_by_route_and_status(client: httpx.Client) -> None:
    before = counts(client)
    for body in ({"query": "कर"}, {"query": "पानी"}, {"query": "कर", "collection": "नभएको"}):
        client.post("/v1/search", json=body)
    key = client.get("/v1/documents").json()["documents"][0]["document_id"]
    client.get(f"/v1/documents/{key}")
    after = counts(client)

    def grown(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    searches = {"method": "POST", "route": "/v1/search"}
    assert grown("rag_http_requests_total", **searches, status="200") == 2
    assert grown("rag_http_requests_total", **searches, status="404") == 1
    assert grown("rag_http_errors_total", code="unknown_name") == 1
    assert grown("rag_http_request_seconds_count", **searches) == 3
    assert 0 < grown("rag_http_request_seconds_sum", **searches) < 30
    one = {"method": "GET", "route": "/v1/documents/{document_id}", "status": "200"}
    assert grown("rag_http_requests_total", **one) == 1
    assert not any(key in str(labels) for _, labels in after)
    assert grown("rag_step_seconds_count", step="encoding") == 2
    assert grown("rag_step_seconds_count", step="dense") == 2
    assert value(after, "rag_http_requests_in_flight") == 1  # the one that asks


def test_what_is_served_and_what_it_takes(client: httpx.Client) -> None:
    found = counts(client)
    served_ = {"collection": "nepali_docs", "model": "hashing"}
    assert value(found, "rag_generation", **served_) == 1
    assert value(found, "rag_generation_points", **served_) >= len(TEXTS)
    assert value(found, "rag_index_reachable") == value(found, "rag_ready") == 1
    assert value(found, "rag_build_info", version=__version__) == 1
    assert value(found, "process_resident_memory_bytes") > 10 << 20
    assert value(found, "rag_ingestion_jobs", status="running") == 0


def test_caches_are_counted(client: httpx.Client) -> None:
    before = counts(client)
    for _ in range(3):
        client.post("/v1/search", json={"query": "सम्पत्ति कर कहिलेसम्म तिर्ने?", "k": 2})
    after = counts(client)

    def grown(cache: str, result: str) -> float:
        labels = {"cache": cache, "result": result}
        name = "rag_cache_requests_total"
        return value(after, name, **labels) - value(before, name, **labels)

    assert [grown("results", result) for result in ("miss", "hit", "joined")] == [1, 2, 0]
    assert [grown("vectors", result) for result in ("miss", "hit")] == [1, 0]
    assert value(after, "rag_cache_entries", cache="results") >= 1
    assert value(after, "rag_cache_bytes", cache="results") > 1_000


def test_a_new_generation_and_the_jobs_that_made_it_are_seen(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with served(create_app(system=wire(tmp_path_factory.mktemp("new")))) as client:
        assert value(counts(client), "rag_ready") == 0
        for number, text in enumerate(("धारा मर्मत हुन्छ।", "धारा शनिबार मर्मत हुन्छ।"), start=1):
            body = {"name": "धारा", "text": text, "collection": "nepali_docs", "wait": True}
            assert client.post("/v1/text", json=body).json()["status"] == "done"
            found = counts(client)
            assert value(found, "rag_generation", collection="nepali_docs", model="hashing") == number
            assert value(found, "rag_ingestion_jobs_ended_total", status="done") == number
        assert value(found, "rag_ready") == 1
        assert value(found, "rag_ingestion_jobs_ended_total", status="failed") == 0


def test_callers_cannot_make_series(client: httpx.Client) -> None:
    client.request("GET", "/नभएको")
    client.request("BREW", "/नभएको")
    client.request("GET", "/v1/collections/x")
    before = set(counts(client))
    for n in range(60):
        client.get(f"/made/up/{n}", headers={"x-request-id": f"id-{n}", "user-agent": f"agent {n}"})
        client.request(f"BREW{n}", f"/made/up/{n}")
        client.get(f"/v1/collections/collection-{n}")
        client.get(f"/assets/{n}.css")
        client.get(f"/metrics?name={n}")
    assert len(set(counts(client)) - before) < 20  # those of the first 404 below /assets
    found = counts(client)
    assert value(found, "rag_http_requests_total", method="GET", route="unmatched", status="404") >= 60
    assert not any("made" in str(labels) or "BREW" in str(labels) for _, labels in found)


def test_under_way_is_counted_while_it_is(client: httpx.Client, system: System) -> None:
    hold, begun = threading.Event(), threading.Barrier(4)
    encode = system.searcher.search

    def slow(*args: object, **kwargs: object) -> object:
        begun.wait(20)
        assert hold.wait(20)
        return encode(*args, **kwargs)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setattr(system.searcher, "search", slow)
        asking = [pool.submit(client.post, "/v1/search", json={"query": f"कर {n}"}) for n in range(3)]
        begun.wait(20)
        assert value(counts(client), "rag_http_requests_in_flight") == 4
        hold.set()
        assert [one.result().status_code for one in asking] == [200] * 3
    wait(lambda: value(counts(client), "rag_http_requests_in_flight") == 1)


def test_those_turned_away_are_counted_by_why_and_where(tmp_path_factory: pytest.TempPathFactory) -> None:
    system = wire(tmp_path_factory.mktemp("keys"), RAG_API_KEYS="required", RAG_REQUESTS_PER_MINUTE=2)
    keys = Keys(system.home)
    reader, admin = keys.add("पाठक", ["read"]), keys.add("प्रशासक", ["admin"])
    with served(create_app(system=system)) as client:
        bearer = {"Authorization": f"Bearer {reader}"}
        assert [client.get("/v1/models", headers=bearer).status_code for _ in range(4)] == [
            200,
            200,
            429,
            429,
        ]
        assert client.get("/v1/models").status_code == 401
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers=bearer).status_code == 403
        found = counts(client, Authorization=f"Bearer {admin}")
    assert value(found, "rag_http_errors_total", code="rate_limited") == 2
    assert value(found, "rag_http_errors_total", code="overloaded") == 0
    assert value(found, "rag_http_errors_total", code="unauthenticated") == 2
    assert value(found, "rag_http_errors_total", code="forbidden") == 1
    models = {"method": "GET", "route": "/v1/models"}
    assert value(found, "rag_http_requests_total", **models, status="429") == 2
    assert value(found, "rag_http_requests_total", **models, status="401") == 1


def test_hosted_models_are_counted_by_provider_and_code() -> None:
    counted = Metrics()
    for call in (
        Call("llm", "ollama", 0.3, "200"),
        Call("llm", "ollama", 0.1, "503"),
        Call("embedding", "openai", 0.2, "none"),
    ):
        counted.called(call)
    text, kind = counted.written("")
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }
    assert kind.startswith("text/plain")
    assert found["rag_upstream_requests_total", "200", "llm", "ollama"] == 1
    assert found["rag_upstream_requests_total", "503", "llm", "ollama"] == 1
    assert found["rag_upstream_requests_total", "embedding", "none", "openai"] == 1
    assert found["rag_upstream_seconds_count", "llm", "ollama"] == 2
    assert found["rag_upstream_seconds_sum", "llm", "ollama"] == pytest.approx(0.4)


# LiteLLM keeps clients for the life of the process
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_language_model_is_counted_whoever_waits_for_it(tmp_path: Path) -> None:
    """Whole and streamed, through threads and generators; a refusal by its status."""
    refused = Fault(401, raw=b'{"error": {"message": "no"}}')
    with speaking([Says(("असारसम्म [1]।",)), Says(("असारसम्म [1]।",)), refused]) as server:
        given = {"LLM_PROVIDER": "openai", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-1"}
        system = ingested(tmp_path, **given)
        with served(create_app(system=system)) as client:
            for stream, status in ((False, 200), (True, 200), (False, 502)):
                body = {"question": "सम्पत्ति कर कहिलेसम्म तिर्ने?", "stream": stream, "tools": False}
                assert client.post("/v1/ask", json=body).status_code == status
            found = counts(client)
    model = {"role": "llm", "provider": "openai"}
    assert value(found, "rag_upstream_requests_total", **model, code="200") == 2
    assert value(found, "rag_upstream_requests_total", **model, code="401") == 1
    assert value(found, "rag_upstream_seconds_count", **model) == 3
    assert value(found, "rag_http_errors_total", code="upstream_error") == 1
    assert value(found, "rag_step_seconds_count", step="generation") == 3


def test_two_applications_of_one_process_count_for_themselves(system: System) -> None:
    one, other = create_app(system=system), create_app(system=system)

    def asked(app: FastAPI) -> float:
        return (
            app.state.metrics.registry.get_sample_value(
                "rag_http_requests_total", {"method": "GET", "route": "/healthz", "status": "200"}
            )
            or 0.0
        )

    with served(one) as client:
        client.get("/healthz")
    assert (asked(one), asked(other)) == (1, 0)


def test_openmetrics_is_given_to_who_reads_it(client: httpx.Client) -> None:
    answer = client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    names = {family.name for family in open_families(answer.text)}
    assert {"rag_http_requests", "rag_cache_requests", "rag_generation"} <= names
