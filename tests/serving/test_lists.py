"""Lists in parts and entity tags, over HTTP; and conversations, which are their owners' alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_service import served, wire
from support import TEXTS, drop, ingest

from rag_platform.embedding.calibration import SHIPPED, file_name, load_calibration, save_calibration
from rag_platform.errors import CallerError
from rag_platform.keys import Keys
from rag_platform.system import System
from serving.app import create_app
from serving.paging import Part

TAX = "सम्पत्ति कर कहिलेसम्म तिर्ने?"
LONG = "\n\n".join(f"दफा {number}। " + "यो दफामा लेखिएको कुरा सबैले मान्नुपर्छ। " * 12 for number in range(1, 13))


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    system = wire(tmp_path_factory.mktemp("lists"))
    for name in ("laws", "acts", "zones"):
        system.catalog.create_collection(name)
    drop(system, {**TEXTS, "लामो.txt": LONG})
    ingest(system)
    return system


@pytest.fixture(scope="module")
def client(system: System) -> Iterator[httpx.Client]:
    with served(create_app(system=system)) as client:
        yield client


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, httpx.Client]]:
    """A service that asks for keys, as its callers see it."""
    system = wire(tmp_path_factory.mktemp("keyed"), RAG_API_KEYS="required", RAG_REQUESTS_PER_MINUTE=0)
    system.catalog.create_collection("laws")
    (system.inbox.root / "laws").mkdir()
    (system.inbox.root / "laws" / "ऐन.txt").write_text("मौलिक हक सबै नागरिकलाई समान हुन्छ।", "utf-8")
    drop(system, TEXTS)
    ingest(system)
    keys = Keys(system.home)
    made = {"सीता": keys.add("सीता", ["read"]), "हरि": keys.add("हरि", ["read"], collections=["laws"])}
    with served(create_app(system=system)) as client:
        callers = {
            name: httpx.Client(
                base_url=client.base_url,
                headers={"Authorization": f"Bearer {key}"},
                trust_env=False,
                timeout=60,
            )
            for name, key in made.items()
        }
        yield callers
        for caller in callers.values():
            caller.close()


def parts(client: httpx.Client, path: str, field: str, limit: int) -> list[list[dict[str, Any]]]:
    """Return a list as it is read in parts."""
    found, params = [], {"limit": str(limit)}
    while True:
        body = client.get(path, params=params).json()
        found.append(body[field])
        if body["next_cursor"] is None:
            return found
        params = {"limit": str(limit), "cursor": body["next_cursor"]}


@pytest.mark.parametrize(
    ("path", "field", "limit"),
    [
        ("/v1/documents", "documents", 2),
        ("/v1/collections", "collections", 3),
        ("/api/v1/collections", "collections", 1),
    ],
)
def test_parts_are_the_whole(client: httpx.Client, path: str, field: str, limit: int) -> None:
    whole = client.get(path).json()
    assert whole["next_cursor"] is None
    found = parts(client, path, field, limit)
    assert [one for part in found for one in part] == whole[field]
    assert {len(part) for part in found[:-1]} == {limit}


def test_the_default_collection_is_first_and_the_others_follow_by_name(client: httpx.Client) -> None:
    found = parts(client, "/v1/collections", "collections", 1)
    assert [part[0]["name"] for part in found] == ["nepali_docs", "acts", "laws", "zones"]


def test_documents_that_come_and_go_shift_nothing(client: httpx.Client) -> None:
    def send(*names: str) -> None:
        files = [("files", (f"{name}.txt", f"{name} को सूचना।".encode())) for name in names]
        sent = client.post("/v1/documents", files=files, data={"collection": "zones", "wait": "true"})
        assert sent.status_code == 200

    send("ख", "ग", "ङ")
    first = client.get("/v1/documents", params={"collection": "zones", "limit": 2}).json()
    send("क", "घ")
    client.delete(f"/v1/documents/{first['documents'][0]['document_id']}")
    params = {"collection": "zones", "cursor": first["next_cursor"]}
    second = client.get("/v1/documents", params=params).json()
    assert [one["source"] for one in first["documents"]] == ["ख.txt", "ग.txt"]
    assert [one["source"] for one in second["documents"]] == ["घ.txt", "ङ.txt"]


def test_pages_and_passages_of_a_long_document(client: httpx.Client, system: System) -> None:
    entry = system.catalog.entry("nepali_docs", "लामो.txt")
    whole = client.get(f"/v1/documents/{entry.document_id}").json()
    assert len(whole["chunks"]) > 4
    for field, limit in (("chunks", 2), ("pages", 1)):
        path = f"/v1/documents/{entry.document_id}/{field}"
        assert [one for part in parts(client, path, field, limit) for one in part] == whole[field]
        assert client.get(path).json()["content_sha256"] == whole["content_sha256"]


def test_a_cursor_of_another_version_of_the_document_is_refused(client: httpx.Client) -> None:
    body = {"name": "बदलिने", "text": LONG, "collection": "acts", "wait": True}
    (made,) = client.post("/v1/text", json=body).json()["documents"]
    path = f"/v1/documents/{made['document_id']}/chunks"
    cursor = client.get(path, params={"limit": 1}).json()["next_cursor"]
    client.post("/v1/text", json={**body, "text": f"नयाँ।\n\n{LONG}"})
    answer = client.get(path, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert "begin anew" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"limit": 0}, 422),
        ({"limit": 1001}, 422),
        ({"cursor": "नेपाली"}, 400),
        ({"cursor": "WyJ4Il0"}, 400),
        ({"cursor": "%%%"}, 400),
        ({"cursor": "x" * 8_001}, 422),
    ],
)
def test_what_is_no_part_is_refused(client: httpx.Client, params: dict[str, Any], status: int) -> None:
    for path in ("/v1/documents", "/v1/collections", "/v1/conversations"):
        answer = client.get(path, params=params)
        assert answer.status_code == status
        assert set(answer.json()) == {"detail", "code", "request_id"}


def test_a_cursor_is_of_one_list_and_its_key_of_one_kind(client: httpx.Client) -> None:
    cursor = client.get("/v1/documents", params={"limit": 1}).json()["next_cursor"]
    other = client.get("/v1/documents", params={"cursor": cursor, "collection": "nepali_docs"})
    assert other.status_code == 400
    of_text = Part(1, None, "list", key=(str,)).cursor("१")
    with pytest.raises(CallerError, match="not of this list"):
        Part(1, of_text, "list", key=(int,))
    with pytest.raises(CallerError, match="not of this list"):
        Part(1, of_text, "list", key=(str, str))


@pytest.mark.parametrize(
    "path", ["/v1/collections", "/v1/collections/nepali_docs", "/v1/documents", "/v1/documents?limit=2"]
)
def test_who_has_a_list_already_is_told_so(client: httpx.Client, path: str) -> None:
    first = client.get(path)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    again = client.get(path, headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert "x-request-id" in again.headers
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_search_by_its_address_is_unchanged_until_a_new_generation(
    client: httpx.Client, system: System
) -> None:
    params: dict[str, Any] = {"q": TAX, "k": 2, "collection": "nepali_docs", "filter": "source=कर सूचना.txt"}
    first = client.get("/v1/search", params=params)
    posted = client.post("/v1/search", json={"query": TAX, "k": 2, "filters": ["source=कर सूचना.txt"]}).json()
    assert first.json() == posted
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get("/v1/search", params=params, headers=known).status_code == 304
    assert client.get("/v1/search", params={**params, "k": 1}, headers=known).status_code == 200
    path = system.home / "calibrations" / file_name("hashing")
    save_calibration(load_calibration(SHIPPED / path.name, 512), path)
    recalibrated = client.get("/v1/search", params=params, headers=known)
    assert (recalibrated.status_code, recalibrated.headers["etag"] != first.headers["etag"]) == (200, True)
    path.unlink()
    assert client.get("/v1/search", params=params, headers=known).status_code == 304
    drop(system, {"नयाँ.txt": "पानीको महसुल हरेक महिना बुझाउनुहोला।"})
    ingest(system)
    changed = client.get("/v1/search", params=params, headers=known)
    assert (changed.status_code, changed.json()["generation"]) == (200, first.json()["generation"] + 1)


@pytest.mark.parametrize(
    ("params", "status", "said"),
    [
        ({}, 422, "query.q"),
        ({"q": " "}, 422, "blank"),
        ({"q": TAX, "k": 0}, 422, "query.k"),
        ({"q": TAX, "collection": "lawz"}, 404, "lawz"),
        ({"q": TAX, "filter": "year"}, 400, "year"),
        ({"q": TAX, "document": "नभएको.txt"}, 404, "नभएको.txt"),
    ],
)
def test_an_address_that_cannot_be_searched_says_why(
    client: httpx.Client, params: dict[str, Any], status: int, said: str
) -> None:
    answer = client.get("/v1/search", params=params, headers={"If-None-Match": "*"})
    assert answer.status_code == status
    assert said in answer.json()["detail"]


def test_a_batch_answers_each_search_or_says_why_not(client: httpx.Client) -> None:
    searches: list[dict[str, Any]] = [
        {"query": TAX, "k": 1},
        {"query": "boil water", "mode": "lexical", "explain": True},
        {"query": " "},
        {"query": TAX, "collection": "lawz"},
        {"query": TAX, "filters": ["year"]},
        {"query": TAX, "top": 3},
        {"query": "kar kahile tirne?", "documents": ["कर सूचना.txt"]},
    ]
    results = client.post("/v1/search/batch", json={"searches": searches}).json()["results"]
    assert [one["status"] for one in results] == [200, 200, 422, 404, 400, 422, 200]
    alone = client.post("/v1/search", json=searches[0]).json()
    assert results[0]["answer"] == alone
    assert [one["answer"]["hits"][0]["source"] for one in results if one["answer"]] == [
        "कर सूचना.txt",
        "health.txt",
        "कर सूचना.txt",
    ]
    assert results[1]["answer"]["explanation"]["terms"]
    assert "body.searches.5.top" in results[5]["error"]["detail"]
    assert {one["error"]["code"] for one in results if one["error"]} == {
        "invalid_request",
        "unknown_name",
        "bad_request",
    }


@pytest.mark.parametrize("searches", [[], [{"query": "कर"}] * 65, "कर", ["कर"]])
def test_a_batch_is_bounded(client: httpx.Client, searches: object) -> None:
    answer = client.post("/v1/search/batch", json={"searches": searches})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_a_conversation_is_its_owners_alone(keyed: dict[str, httpx.Client]) -> None:
    sita, hari = keyed["सीता"], keyed["हरि"]
    key = sita.post("/v1/ask", json={"question": TAX}).json()["conversation_id"]
    assert sita.get(f"/v1/conversations/{key}").json()["title"] == TAX
    assert [one["conversation_id"] for one in sita.get("/v1/conversations").json()["conversations"]] == [key]
    assert hari.get("/v1/conversations").json()["conversations"] == []
    for path in ("/v1/conversations", "/api/v1/conversations"):
        assert hari.get(f"{path}/{key}").status_code == 404
        assert hari.delete(f"{path}/{key}").status_code == 404
    own = hari.post("/v1/ask", json={"question": "त्यसको जरिवाना?", "conversation_id": key}).json()
    assert "सम्पत्ति" not in own["standalone"]  # another conversation of the same name
    assert sita.get(f"/v1/conversations/{key}").json()["n_questions"] == 1
    assert sita.delete(f"/api/v1/conversations/{key}").status_code == 204
    assert hari.get(f"/v1/conversations/{key}").json()["n_questions"] == 1


def test_conversations_are_listed_in_parts_as_they_stood(keyed: dict[str, httpx.Client]) -> None:
    sita = keyed["सीता"]
    ids = [f"conversation-{number}" for number in range(4)]
    for key in ids:
        sita.post("/v1/ask", json={"question": TAX, "conversation_id": key})
        time.sleep(0.002)
    first = sita.get("/v1/conversations", params={"limit": 2}).json()
    sita.post("/v1/ask", json={"question": "अझै?", "conversation_id": ids[0]})
    second = sita.get("/api/v1/conversations", params={"cursor": first["next_cursor"]}).json()
    seen = [one["conversation_id"] for one in (*first["conversations"], *second["conversations"])]
    assert [key for key in seen if key in ids] == ids[::-1]
    assert second["next_cursor"] is None


def test_a_key_for_one_collection_sees_that_alone(keyed: dict[str, httpx.Client]) -> None:
    hari = keyed["हरि"]
    assert [one["source"] for one in hari.get("/v1/documents", params={"limit": 5}).json()["documents"]] == [
        "ऐन.txt"
    ]
    assert [one["name"] for one in hari.get("/v1/collections").json()["collections"]] == ["laws"]
    assert [one["id"] for one in hari.get("/v1/models").json()["data"]] == ["rag", "rag/laws", "rag:prompt"]
    searches = [{"query": "मौलिक हक", "collection": name} for name in ("laws", "nepali_docs")]
    results = hari.post("/v1/search/batch", json={"searches": searches}).json()["results"]
    assert [(one["status"], (one["error"] or {}).get("code")) for one in results] == [
        (200, None),
        (403, "forbidden"),
    ]
    assert hari.get("/v1/search", params={"q": "मौलिक हक"}).json()["collection"] == "laws"
    known = {"If-None-Match": "*"}
    assert (
        hari.get("/v1/search", params={"q": "x", "collection": "nepali_docs"}, headers=known).status_code
        == 403
    )
    foreign = keyed["सीता"].get("/v1/documents", params={"collection": "nepali_docs"}).json()["documents"][0]
    for part in ("pages", "chunks"):
        assert hari.get(f"/v1/documents/{foreign['document_id']}/{part}").status_code == 404
    chat = {"model": "rag/nepali_docs", "messages": [{"role": "user", "content": TAX}]}
    refused = hari.post("/v1/chat/completions", json=chat)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
    nobody = httpx.post(f"{hari.base_url}/v1/chat/completions", json=chat, trust_env=False)
    assert (nobody.status_code, nobody.json()["error"]["type"]) == (401, "authentication_error")


def test_without_keys_conversations_are_listed_on_this_machine_alone(tmp_path: Path) -> None:
    system = wire(tmp_path, RAG_HOST="0.0.0.0", RAG_OPEN_TO_ALL="true", RAG_API_KEYS="off")
    with served(create_app(system=system)) as client:
        answer = client.get("/api/v1/conversations")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
