"""Documents over HTTP: handed over, listed, shown, deleted; and what must not get in."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_service import served, wait, wire
from support import TEXTS, ingest

from rag_platform.system import System
from serving.app import create_app
from serving.ingestions import Ingestions

NOTICE = "नुवाकोट नगरपालिकाको सूचना। घर नक्सा पासको निवेदन असोज १५ गतेभित्र दिनुहोला।"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    return wire(tmp_path_factory.mktemp("documents"), RAG_UPLOAD_MB=1)


@pytest.fixture(scope="module")
def client(system: System) -> Iterator[httpx.Client]:
    with served(create_app(system=system)) as client:
        yield client


def send(client: httpx.Client, *files: tuple[str, bytes], path: str = "/v1/documents", **fields: str) -> Any:
    return client.post(path, files=[("files", file) for file in files], data=fields)


def inside(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_an_upload_can_be_searched_when_it_is_waited_for(client: httpx.Client) -> None:
    answer = send(
        client,
        ("घर नक्सा, सूचना (१).txt", NOTICE.encode()),
        metadata='{"publisher": "नुवाकोट नगरपालिका"}',
        wait="true",
    )
    assert answer.status_code == 200
    job = answer.json()
    assert (job["status"], job["kind"], job["error"]) == ("done", "ingest", None)
    (document,) = job["documents"]
    assert document == {
        "collection_name": "nepali_docs",
        "filename": "घर नक्सा, सूचना (१).txt",
        "pages_extracted": 1,
        "chunks_created": 1,
        "chunks_indexed": 1,
        "document_id": document["document_id"],
        "status": "ok",
        "error": None,
        "generation": document["generation"],
    }
    body = {"query": "घर नक्सा पास", "filters": ["publisher=नुवाकोट नगरपालिका"]}
    (hit,) = client.post("/v1/search", json=body).json()["hits"]
    assert hit["source"] == "घर नक्सा, सूचना (१).txt"
    shown = client.get(f"/v1/documents/{document['document_id']}").json()
    assert [page["text"] for page in shown["pages"]] == [NOTICE]
    assert [(chunk["text"], chunk["start"], chunk["end"]) for chunk in shown["chunks"]] == [
        (NOTICE, 0, len(NOTICE))
    ]
    assert shown["chunks"][0]["fields"]["publisher"] == ["नुवाकोट नगरपालिका"]


def test_an_upload_is_a_job_to_poll_otherwise(client: httpx.Client) -> None:
    files = [(f"सूचना {n}.txt", f"वडा नम्बर {n} को कार्यालय बिहान दश बजे खुल्छ।".encode()) for n in (1, 2, 3)]
    answer = send(client, *files)
    assert answer.status_code == 202
    where = answer.headers["location"]
    assert where == f"/v1/jobs/{answer.json()['job_id']}"
    wait(lambda: client.get(where).json()["status"] == "done", limit_s=30)
    done = client.get(where).json()["documents"]
    assert [(one["filename"], one["chunks_indexed"]) for one in done] == [(name, 1) for name, _ in files]
    listed = client.get("/v1/documents", params={"collection": "nepali_docs"}).json()["documents"]
    assert {"सूचना 1.txt", "सूचना 2.txt", "सूचना 3.txt"} <= {one["source"] for one in listed}


def test_the_same_name_again_is_a_new_version(client: httpx.Client) -> None:
    first = send(client, ("शुल्क.txt", "दर्ता शुल्क पाँच सय रुपैयाँ छ।".encode()), wait="1").json()
    second = send(client, ("शुल्क.txt", "दर्ता शुल्क सात सय रुपैयाँ छ।".encode()), wait="1").json()
    again = send(client, ("शुल्क.txt", "दर्ता शुल्क सात सय रुपैयाँ छ।".encode()), wait="1").json()
    ids = {job["documents"][0]["document_id"] for job in (first, second, again)}
    assert len(ids) == 1
    hits = client.post("/v1/search", json={"query": "दर्ता शुल्क", "filters": ["source=शुल्क.txt"]}).json()["hits"]
    assert [hit["text"] for hit in hits] == ["दर्ता शुल्क सात सय रुपैयाँ छ।"]
    forced = send(client, ("शुल्क.txt", "दर्ता शुल्क सात सय रुपैयाँ छ।".encode()), wait="1", force="1").json()
    assert forced["documents"][0]["status"] == "ok"


def test_one_bad_file_stops_no_other(client: httpx.Client) -> None:
    job = send(client, ("बिग्रेको.docx", b"PK\x03\x04 no"), ("ठीक.txt", "ठीक छ।".encode()), wait="true").json()
    bad, good = job["documents"]
    assert (job["status"], good["status"], bad["status"]) == ("done", "ok", "failed")
    assert (bad["error"]["stage"], bad["error"]["code"]) == ("pages", "parse_error")


def test_a_collection_of_its_own_is_made_and_kept_apart(client: httpx.Client) -> None:
    text = "ऐनको दफा ९ बमोजिम निवेदन दिनुपर्छ।"
    job = send(client, ("ऐन.txt", text.encode()), collection="laws", wait="true").json()
    assert job["documents"][0]["collection_name"] == "laws"
    body = {"query": "दफा ९", "collection": "laws"}
    assert [hit["text"] for hit in client.post("/v1/search", json=body).json()["hits"]] == [text]
    assert client.get("/v1/collections/laws").json()["documents"] == 1
    assert client.get("/v1/collections/lawz").status_code == 404


def test_a_deleted_document_leaves_the_collection(client: httpx.Client, system: System) -> None:
    job = send(client, ("पुरानो.txt", "पुरानो सूचना रद्द भयो।".encode()), wait="true").json()
    key = job["documents"][0]["document_id"]
    answer = client.delete(f"/v1/documents/{key}", params={"wait": True})
    assert (answer.status_code, answer.json()["kind"]) == (200, "delete")
    assert [(one["status"], one["chunks_indexed"]) for one in answer.json()["documents"]] == [("deleted", 0)]
    assert not system.inbox.path("nepali_docs", "पुरानो.txt").exists()
    body = {"query": "पुरानो सूचना", "filters": ["source=पुरानो.txt"]}
    assert client.post("/v1/search", json=body).json()["hits"] == []
    assert client.get(f"/v1/documents/{key}").status_code == 404
    assert client.delete(f"/v1/documents/{key}").status_code == 404
    listed = client.get("/v1/documents", params={"deleted": True}).json()["documents"]
    assert key in {one["document_id"] for one in listed if one["status"] == "deleted"}


def test_a_text_that_is_in_no_file(client: httpx.Client) -> None:
    body = {
        "text": "खानेपानीको धारा मर्मत शनिबार हुन्छ।",
        "name": "मर्मत",
        "metadata": {"year": 2081},
        "wait": True,
    }
    (done,) = client.post("/v1/text", json=body).json()["documents"]
    assert (done["filename"], done["chunks_indexed"]) == ("मर्मत.txt", 1)
    found = client.post("/v1/search", json={"query": "धारा मर्मत", "filters": ["year=2081"]}).json()
    assert [hit["source"] for hit in found["hits"]] == ["मर्मत.txt"]
    unnamed = client.post("/v1/text", json={"text": "नाम नभएको पाठ।", "wait": True}).json()["documents"]
    assert unnamed[0]["filename"].startswith("text-")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../../बाहिर.txt", "बाहिर.txt"),
        ("/etc/cron.d/काम.txt", "काम.txt"),
        ("C:\\Users\\राम\\पत्र.txt", "पत्र.txt"),
        ("a|b...c%2e%2e.txt", "a|b...c%2e%2e.txt"),
    ],
)
def test_a_name_is_never_obeyed_as_a_path(
    client: httpx.Client, system: System, given: str, kept: str
) -> None:
    before = inside(system.home.parent)
    job = send(client, (given, "हानि नगर्ने पाठ।".encode()), wait="true").json()
    assert [one["filename"] for one in job["documents"]] == [kept]
    new = inside(system.home.parent) - before
    assert {path for path in new if not path.startswith(f"{system.home.name}/")} == set()
    assert system.inbox.path("nepali_docs", kept).is_file()


def test_a_name_that_is_too_long_keeps_its_beginning_and_suffix(client: httpx.Client) -> None:
    long = "नेपाल सरकार, शिक्षा, विज्ञान तथा प्रविधि मन्त्रालयको सार्वजनिक सूचना " * 4
    (done,) = send(client, (f"{long}.txt", "लामो नाम।".encode()), wait="true").json()["documents"]
    assert done["status"] == "ok"
    assert done["filename"].startswith("नेपाल सरकार, शिक्षा, विज्ञान")
    assert done["filename"].endswith(".txt")
    assert len(done["filename"].encode()) <= 200


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("..", 400),
        (".htaccess", 400),
        ("~$पत्र.docx", 400),
        ("आधा.part", 400),
        ("ऐन.pdf.meta.toml", 400),
        ("_metadata.toml", 400),
    ],
)
def test_names_that_the_inbox_would_not_take_are_refused(
    client: httpx.Client, name: str, status: int
) -> None:
    answer = send(client, (name, b"x"))
    assert (answer.status_code, answer.json()["code"]) == (status, "bad_request")


def test_two_files_of_one_name_are_refused_before_either_is_taken(
    client: httpx.Client, system: System
) -> None:
    answer = send(client, ("दोहोरो.txt", b"1"), ("x/दोहोरो.txt", b"2"))
    assert answer.status_code == 400
    assert "given twice" in answer.json()["detail"]
    assert not system.inbox.path("nepali_docs", "दोहोरो.txt").exists()


def test_a_zip_bomb_is_refused_and_hurts_nobody(client: httpx.Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", b" " * (128 << 20))
    assert len(packed.getvalue()) < 1 << 20
    (done,) = send(client, ("बम.docx", packed.getvalue()), wait="true").json()["documents"]
    assert (done["status"], done["error"]["code"]) == ("failed", "parse_error")
    assert "bomb" in done["error"]["detail"]
    assert client.get("/healthz").status_code == 200


def test_an_upload_over_the_limit_is_refused_by_its_announced_size(
    client: httpx.Client, system: System
) -> None:
    answer = send(client, ("ठूलो.txt", b"x" * (2 << 20)))
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert not system.inbox.path("nepali_docs", "ठूलो.txt").exists()


def test_an_upload_without_a_size_is_cut_off_at_the_limit(client: httpx.Client, system: System) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="x.txt"\r\n\r\n'
        for _ in range(3):
            yield b"x" * (1 << 20)

    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = client.post("/v1/documents", content=pieces(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert not system.inbox.path("nepali_docs", "x.txt").exists()


@pytest.mark.parametrize(
    ("fields", "status", "detail"),
    [
        ({"collection": "No Such Name"}, 400, "is no collection name"),
        ({"metadata": "yaer=2081"}, 422, "Did you mean 'year'"),
        ({"metadata": "{broken"}, 422, "body.metadata"),
        ({"metadata": '{"a":' * 20_000}, 422, "nested too deeply"),
        ({"metadata": "hello"}, 422, "neither name=value"),
        ({"kinds": "text,video"}, 422, "body.kinds"),
        ({"language": "nep;rm -rf /"}, 422, "languages"),
        ({"wait": "perhaps"}, 422, "body.wait"),
        ({"colection": "laws"}, 422, "body.colection"),
    ],
)
def test_a_field_that_means_nothing_is_refused(
    client: httpx.Client, system: System, fields: dict[str, str], status: int, detail: str
) -> None:
    answer = send(client, ("मैदान.txt", b"x"), **fields)
    assert answer.status_code == status
    assert detail in answer.json()["detail"]
    assert not system.inbox.path("nepali_docs", "मैदान.txt").exists()


def test_what_is_no_form_with_files_is_refused(client: httpx.Client) -> None:
    wrong_type = client.post("/v1/documents", json={"files": []})
    no_files = client.post("/v1/documents", data={"wait": "true"}, files={"other": ("x.txt", b"x")})
    no_boundary = client.post("/v1/documents", content=b"x", headers={"content-type": "multipart/form-data"})
    broken = client.post(
        "/v1/documents", content=b"--b\r\nx", headers={"content-type": "multipart/form-data; boundary=b"}
    )
    assert (wrong_type.status_code, wrong_type.json()["code"]) == (415, "unsupported_media_type")
    assert (no_files.status_code, no_boundary.status_code) == (422, 400)
    assert broken.status_code in (400, 422)


@pytest.mark.parametrize("path", ["/v1/documents/..%2f..%2fetc", "/v1/documents/x", "/v1/documents/%00"])
def test_what_is_no_id_is_refused(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code in (404, 422)


@pytest.mark.parametrize("key", ["..%2f..%2fcatalog", "x", "0" * 32])
def test_an_unknown_job_is_404(client: httpx.Client, key: str) -> None:
    assert client.get(f"/v1/jobs/{key}").status_code == 404


def test_a_page_of_another_site_may_not_change_anything(client: httpx.Client) -> None:
    foreign = client.post(
        "/v1/documents", files={"files": ("x.txt", b"x")}, headers={"origin": "https://evil.example"}
    )
    own = client.post(
        "/v1/search", json={"query": "सूचना"}, headers={"origin": str(client.base_url).rstrip("/")}
    )
    assert (foreign.status_code, foreign.json()["code"]) == (403, "forbidden")
    assert own.status_code == 200


def test_every_answer_carries_an_id(client: httpx.Client) -> None:
    made = client.get("/v1/jobs/x")
    assert made.json()["request_id"] == made.headers["x-request-id"]
    given = client.get("/healthz", headers={"x-request-id": "kathmandu-7"})
    assert given.headers["x-request-id"] == "kathmandu-7"
    strange = client.get("/healthz", headers={"x-request-id": 'a b"c'})
    assert strange.headers["x-request-id"] != 'a b"c'
    assert client.get("/v2/x", headers={"x-request-id": "k8"}).json()["request_id"] == "k8"


def test_a_locked_pdf_opens_with_the_password_of_the_upload(client: httpx.Client, system: System) -> None:
    import pymupdf

    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "The water office opens at ten.")
    locked = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="पानी१२", owner_pw="o")
    (closed,) = send(client, ("locked.pdf", locked), wait="true").json()["documents"]
    assert (closed["status"], closed["error"]["code"]) == ("failed", "password_required")
    (opened,) = send(client, ("locked.pdf", locked), wait="true", password="पानी१२").json()["documents"]
    assert (opened["status"], opened["chunks_indexed"]) == ("ok", 1)
    stored = b"".join(path.read_bytes() for path in (system.home / "jobs").iterdir())
    assert "पानी१२".encode() not in stored


def test_what_a_killed_service_left_is_ingested_at_the_next_start(tmp_path: Path) -> None:
    system = wire(tmp_path)
    text = next(iter(TEXTS.values()))
    system.inbox.path("nepali_docs", "बाँकी.txt").write_text(text, "utf-8")
    job = Ingestions(system).submit("ingest", "nepali_docs", ["बाँकी.txt"])  # never started
    (system.home / "jobs" / f"{'0' * 32}.json").write_text('{"job_id": "of another version"}')
    with served(create_app(system=system)) as client:
        assert client.get(f"/v1/jobs/{'0' * 32}").json()["code"] == "damaged_file"
        wait(lambda: client.get(f"/v1/jobs/{job.job_id}").json()["status"] == "done", limit_s=30)
        (done,) = client.get(f"/v1/jobs/{job.job_id}").json()["documents"]
    assert (done["filename"], done["chunks_indexed"]) == ("बाँकी.txt", 1)


def test_uploads_can_be_left_to_the_sensor(tmp_path: Path) -> None:
    system = wire(tmp_path, RAG_UPLOADS="sensor")
    with served(create_app(system=system)) as client:
        left = send(client, ("सेन्सर.txt", "सेन्सरले लिने पाठ।".encode()))
        where = left.headers["location"]
        assert (left.status_code, client.get(where).json()["status"]) == (202, "queued")
        ingest(system)  # what the sensor's runs do
        assert client.get(where).json()["status"] == "done"
        again = send(client, ("सेन्सर.txt", "सेन्सरले फेरि लिने पाठ।".encode()))
        assert client.get(again.headers["location"]).json()["status"] == "queued"
        ingest(system)
        assert client.get(again.headers["location"]).json()["status"] == "done"
        key = again.json()["documents"][0]["document_id"]
        gone = client.delete(f"/v1/documents/{key}")
        assert (gone.status_code, gone.json()["status"]) == (202, "queued")
        ingest(system)
        assert client.get(gone.headers["location"]).json()["status"] == "done"


def test_a_fault_of_the_machine_fails_the_job_and_not_the_service(tmp_path: Path) -> None:
    system = wire(tmp_path)
    with served(create_app(system=system)) as client:
        (system.home / "raw").write_text("no folder")
        job = send(client, ("डिस्क.txt", b"x"), wait="true").json()
        (system.home / "raw").unlink()
        good = send(client, ("ठीक.txt", "ठीक छ।".encode()), wait="true").json()
    assert job["documents"][0]["status"] == "failed"
    assert job["documents"][0]["error"]["code"] == "storage_error"
    assert good["documents"][0]["status"] == "ok"
    assert json.loads((system.home / "jobs" / f"{good['job_id']}.json").read_text("utf-8"))["error"] is None
