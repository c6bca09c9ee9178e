"""Pages over HTTP: the picture with a passage marked, its boxes, and who gets neither."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from http_service import served, wire
from PIL import Image

from rag_platform.keys import Keys
from rag_platform.platform import RagPlatform
from rag_platform.types import document_id
from serving.app import create_app

LIBRARY_ACT = Path("eval_datasets/nepali_starter/library_act/documents/पुस्तकालय-ऐन-२०८०.pdf")
ACT, TEXT = document_id("nepali_docs", LIBRARY_ACT.name), document_id("nepali_docs", "धारा.txt")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str]]:
    system = wire(tmp_path_factory.mktemp("rendering"), RAG_API_KEYS="required")
    rag = RagPlatform(system=system)
    rag.ingest(LIBRARY_ACT)
    rag.add_text("धारा शनिबार मर्मत हुन्छ।", name="धारा.txt")
    keys = Keys(system.home)
    other = keys.add("other", ["read"], collections=["water"])
    with served(create_app(system=system)) as client:
        client.headers["authorization"] = f"Bearer {keys.add('office', ['read'])}"
        yield client, other


@pytest.fixture
def client(service: tuple[httpx.Client, str]) -> httpx.Client:
    return service[0]


def test_a_page_is_drawn_once_and_then_known_by_its_tag(client: httpx.Client) -> None:
    address = f"/v1/documents/{ACT}/pages/1/image"
    first = client.get(address, params={"width": 300})
    assert (first.status_code, first.headers["content-type"]) == (200, "image/webp")
    assert Image.open(io.BytesIO(first.content)).size[0] == 300
    assert first.headers["x-marked"] == "false"
    assert first.headers["cross-origin-resource-policy"] == "same-site"
    tag = first.headers["etag"]
    again = client.get(address, params={"width": 300}, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    marked = client.get(address, params={"width": 300, "start": 0, "end": 10}, headers={"if-none-match": tag})
    assert (marked.status_code, marked.headers["x-marked"]) == (200, "true")


def test_boxes_say_where_a_passage_stands(client: httpx.Client) -> None:
    found = client.get(f"/v1/documents/{ACT}/pages/1/boxes", params={"start": 0, "end": 10}).json()
    assert {key: found[key] for key in ("document_id", "page", "pages", "place")} == {
        "document_id": ACT,
        "page": 1,
        "pages": 3,
        "place": "here",
    }
    assert all(0 <= box["x0"] < box["x1"] <= 1 and 0 <= box["y0"] < box["y1"] <= 1 for box in found["boxes"])
    elsewhere = client.get(f"/v1/documents/{ACT}/pages/2/boxes", params={"start": 0, "end": 10}).json()
    assert (elsewhere["place"], elsewhere["boxes"]) == ("elsewhere", [])


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (f"{ACT}/pages/9/image", 404, "unknown_name"),
        (f"{ACT}/pages/0/image", 404, "unknown_name"),
        ("00000000-0000-4000-8000-000000000000/pages/1/image", 404, "unknown_name"),
        (f"{TEXT}/pages/1/image", 422, "unsupported_format"),
        (f"{ACT}/pages/1/image?width=100000", 422, "invalid_request"),
        (f"{ACT}/pages/1/image?start=5", 400, "http_error"),
        (f"{ACT}/pages/1/image?start=5&end=5", 400, "http_error"),
        (f"{ACT}/pages/1/boxes?start=0&end=99999999", 400, "bad_request"),
        (f"{ACT}/pages/x/image", 422, "invalid_request"),
    ],
)
def test_what_cannot_be_shown_is_an_error(client: httpx.Client, path: str, status: int, code: str) -> None:
    answer = client.get(f"/v1/documents/{path}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_pages_of_other_collections_are_not_there(service: tuple[httpx.Client, str]) -> None:
    client, other = service
    for name in ("image", "boxes?start=0&end=10"):
        address = f"/v1/documents/{ACT}/pages/1/{name}"
        assert client.get(address, headers={"authorization": f"Bearer {other}"}).status_code == 404
        assert client.get(address, headers={"authorization": ""}).status_code == 401
