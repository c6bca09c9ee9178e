"""What clients do when a service is busy, slow, gone, somebody else, or asks for a key."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_service import served, wire
from scripted_service import answer, cut, drop_by_drop, events, failure, scripted, slow
from support import TEXTS, drop, ingest

from rag_platform import AsyncRagClient, RagClient
from rag_platform.answering.reply import Delta, Done, Sources
from rag_platform.client.address import repaired
from rag_platform.errors import (
    CallerError,
    DeadlineExceeded,
    Forbidden,
    NotPublished,
    Overloaded,
    RagError,
    RateLimited,
    Unauthenticated,
    UnknownName,
    Unreachable,
    UpstreamError,
)
from rag_platform.keys import Keys
from serving.app import create_app

GUIDE = Path(__file__).parent.parent.parent / "docs" / "python.md"
TAX = "सम्पत्ति कर कहिलेसम्म तिर्ने?"
MODELS = answer(200, {"embedding": [], "rerankers": [], "generators": []})
REPLY = {
    **{"question": TAX, "standalone": TAX, "searched": [TAX], "answer": "असार\u2028मसान्त।", "citations": []},
    **{"hits": [], "refused": False, "mode": "extractive", "generator": "extractive", "notes": []},
    **{"embedding_model": "hashing", "generations": {"nepali_docs": 3}, "unsupported": []},
    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0},
}


def event(name: str, body: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n".encode()


@pytest.mark.parametrize(
    "busy",
    [
        failure(429, "rate_limited", Retry_After="1"),
        failure(503, "overloaded", Retry_After="1"),
        answer(503, "<h1>busy</h1>", Retry_After="1"),
    ],
    ids=["429", "503", "a proxy's 503"],
)
def test_a_busy_service_is_asked_again_when_it_says(busy: Any) -> None:
    with scripted(busy, MODELS) as service, RagClient(service.url) as client:
        assert client.models().embedding == ()
        assert len(service.asked) == 2
        assert 1.0 <= service.times[1] - service.times[0] < 2.0


def test_what_asks_for_more_time_than_there_is_fails_at_once() -> None:
    with scripted(failure(429, "rate_limited", Retry_After="60")) as service:
        with (
            RagClient(service.url, timeout_s=5) as client,
            pytest.raises(RateLimited, match="कारण") as caught,
        ):
            client.search(TAX)
        assert len(service.asked) == 1
    assert (caught.value.retry_after_s, caught.value.request_id) == (60.0, "r-1")
    assert caught.value.__notes__ == ["request r-1 of the service"]


def test_attempts_end() -> None:
    with scripted(failure(503, "overloaded", Retry_After="0")) as service, RagClient(service.url) as client:
        with pytest.raises(Overloaded):
            client.ask(TAX)
        assert len(service.asked) == 5


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (failure(503, "not_published"), NotPublished),
        (failure(502, "upstream_error"), UpstreamError),
        (failure(500, "internal_error"), UpstreamError),
        (failure(422, "invalid_request"), CallerError),
        (failure(401, "unauthenticated"), Unauthenticated),
        (answer(404, "<h1>not found</h1>"), CallerError),
    ],
)
def test_what_does_not_pass_is_not_asked_again(refusal: Any, kind: type[RagError]) -> None:
    with scripted(refusal) as service, RagClient(service.url) as client:
        with pytest.raises(kind) as caught:
            client.search(TAX)
        assert type(caught.value) is kind
        assert len(service.asked) == 1


@pytest.mark.parametrize(
    "broken", [cut, failure(503, "deadline_exceeded", Retry_After="0")], ids=["cut", "late"]
)
def test_only_what_may_be_done_twice_is_asked_again_when_it_may_have_been_done(broken: Any) -> None:
    with scripted(broken, MODELS) as service, RagClient(service.url) as client:
        client.models()
        assert len(service.asked) == 2
    for call in (
        lambda client: client.ask(TAX),
        lambda client: client.add_text("पाठ"),
        lambda client: client.delete("0b5ad1a4-5f0c-5b0e-9a53-7b1f0c3d2e41"),
        lambda client: list(client.stream(TAX)),
    ):
        with scripted(broken) as service, RagClient(service.url) as client:
            with pytest.raises((Unreachable, DeadlineExceeded)) as caught:
                call(client)
            assert len(service.asked) == 1
        if isinstance(caught.value, Unreachable):
            assert caught.value.sent


def test_nobody_there_is_told_with_the_address() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        began = time.monotonic()
        with RagClient(url, timeout_s=0.6) as client, pytest.raises(Unreachable) as caught:
            client.ask(TAX)
        assert 0.2 < time.monotonic() - began < 2  # asked twice at least: nothing was heard
        told = asyncio.run(_failure_later(url))
    for error in (caught.value, told):
        assert str(error).startswith(f"{url} is out of reach (")
        assert str(error).endswith("check the address, and that 'rag serve' runs there")
        assert (error.sent, error.code, error.retryable) == (False, "unreachable", True)


async def _failure_later(url: str) -> Unreachable:
    async with AsyncRagClient(url, timeout_s=0.6) as client:
        with pytest.raises(Unreachable) as caught:
            await client.models()
    return caught.value


@pytest.mark.parametrize("late", [slow(3, MODELS), drop_by_drop], ids=["slow", "drop by drop"])
def test_a_slow_service_is_not_waited_for_for_ever(late: Any) -> None:
    with scripted(late) as service:
        began = time.monotonic()
        with RagClient(service.url, timeout_s=0.4) as client, pytest.raises(Unreachable, match=r"in 0.4 s"):
            client.models()
        assert "in 0.4 s" in str(asyncio.run(_failure_of_slow(service.url)))
        assert time.monotonic() - began < 2.5


async def _failure_of_slow(url: str) -> Unreachable:
    async with AsyncRagClient(url, timeout_s=0.4) as client:
        with pytest.raises(Unreachable) as caught:
            await client.models()
    return caught.value


def test_an_upload_that_was_refused_is_sent_whole_again_and_waited_for(tmp_path: Path) -> None:
    (tmp_path / "सूचना.txt").write_text("खानेपानीको धारा मर्मत हुन्छ।", "utf-8")
    job = {"job_id": "j", "status": "running", "error": None, "documents": []}
    ended = {"collection_name": "c", "filename": "सूचना.txt", "pages_extracted": 1, "chunks_created": 1}
    ended |= {"chunks_indexed": 1, "document_id": "d", "status": "ok", "error": None, "generation": 1}
    script = (
        failure(429, "rate_limited", Retry_After="0"),
        answer(202, job),
        answer(200, {**job, "status": "done", "documents": [ended]}),
    )
    with scripted(*script) as service, RagClient(service.url) as client:
        (done,) = client.ingest(tmp_path / "सूचना.txt", password="गोप्य")
        assert (done.filename, done.status, done.generation) == ("सूचना.txt", "ok", 1)
        assert service.asked == [("POST", "/v1/documents")] * 2 + [("GET", "/v1/jobs/j")]
        assert all("खानेपानीको धारा मर्मत हुन्छ।".encode() in body for body in service.bodies[:2])


def test_a_job_that_failed_is_an_error() -> None:
    job = {"job_id": "j", "status": "failed", "error": "no space left", "documents": []}
    told = pytest.raises(UpstreamError, match="could not finish job j: no space left")
    with scripted(answer(200, job)) as service, RagClient(service.url) as client, told:
        client.add_text("पाठ")


def test_a_list_in_parts_is_followed_to_its_end() -> None:
    first = {"name": "क", "documents": 2, "generations": []}
    script = (
        answer(200, {"collections": [first], "next_cursor": "अ&b"}),
        answer(200, {"collections": [{**first, "name": "ख"}], "next_cursor": None}),
    )
    with scripted(*script) as service, RagClient(service.url) as client:
        assert [one.name for one in client.collections()] == ["क", "ख"]
        assert service.asked[1][1] == "/v1/collections?limit=1000&cursor=%E0%A4%85%26b"


@pytest.mark.parametrize("said", ["<h1>welcome</h1>", '{"hello": 1}', "[]", "null"])
def test_another_service_is_told_from_ours(said: str) -> None:
    with scripted(answer(200, said)) as service, RagClient(service.url) as client:
        for call in (client.models, client.collections, lambda: client.search(TAX)):
            with pytest.raises(UpstreamError, match="check that rag-platform answers there"):
                call()
    told = pytest.raises(CallerError, match="not as rag-platform does: '<h1>none</h1>'; check the address")
    with scripted(answer(404, "<h1>none</h1>")) as service, RagClient(service.url) as client, told:
        client.models()


def test_events_come_as_they_are_sent_and_whole() -> None:
    written = b"".join(
        [event("sources", {"hits": []}), event("delta", {"text": "असार\u2028मसान्त।"}), event("answer", REPLY)]
    )
    pieces = [written[at : at + 37] for at in range(0, len(written), 37)]  # cut inside letters, too
    with scripted(events(*pieces)) as service, RagClient(service.url) as client:
        found = list(client.stream(TAX))
        assert found[:2] == [Sources(()), Delta("असार\u2028मसान्त।")]
        assert isinstance(found[2], Done)
        assert found[2].reply.answer == "असार\u2028मसान्त।"
        assert json.loads(service.bodies[0])["history"] == []


@pytest.mark.parametrize("whole", [True, False], ids=["ended", "cut"])
def test_a_stream_that_breaks_off_is_an_error(whole: bool) -> None:
    begun = [event("sources", {"hits": []}), event("delta", {"text": "असार"})]
    with scripted(events(*begun, whole=whole)) as service, RagClient(service.url) as client:
        stream = client.stream(TAX)
        assert [next(stream), next(stream)] == [Sources(()), Delta("असार")]
        with pytest.raises(Unreachable, match="broke off"):
            next(stream)
    late = event("error", {"detail": "too long", "code": "deadline_exceeded", "request_id": "r-2"})
    with scripted(events(*begun, late)) as service, RagClient(service.url) as client:
        with pytest.raises(DeadlineExceeded, match="too long") as caught:
            list(client.stream(TAX))
        assert caught.value.request_id == "r-2"


def test_a_stream_that_nobody_reads_any_more_is_let_go() -> None:
    endless = events(event("sources", {"hits": []}), forever=event("delta", {"text": "क"}))
    with scripted(endless) as service, RagClient(service.url) as client:
        for one in (stream := client.stream(TAX)):
            if isinstance(one, Delta):
                break
        stream.close()  # type: ignore[attr-defined]
        assert service.gone.wait(5)

    async def cancelled(url: str) -> None:
        async with AsyncRagClient(url) as client:
            task = asyncio.create_task(_read_on(client))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with scripted(endless) as service:
        asyncio.run(cancelled(service.url))
        assert service.gone.wait(5)


async def _read_on(client: AsyncRagClient) -> None:
    async for _ in client.stream(TAX):
        pass


def test_a_key_is_shown_nowhere_and_goes_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = "rag_geheim123"
    with scripted(MODELS) as other, scripted(answer(307, "", Location=f"{other.url}/x?a=1")) as service:
        with RagClient(f"{service.url}/v1/", key=key) as client:
            with pytest.raises(
                UpstreamError, match=rf"sends to {other.url}/x; nothing is sent there"
            ) as caught:
                client.models()
            assert repr(client) == f"RagClient('{service.url}')"
        assert other.asked == []
        assert service.headers[0]["Authorization"] == f"Bearer {key}"
    with scripted(answer(400, f"what is {key}?")) as service, RagClient(service.url, key=key) as client:
        told = pytest.raises(CallerError, match=r"what is \*\*\*")
        with told as echoed:
            client.models()
    assert "what is ***" in str(echoed.value)
    shown = [caplog.text, str(caught.value), repr(caught.value), str(echoed.value)]
    assert not any(key in one for one in shown)


@pytest.mark.parametrize("key", ["गोप्य", "a b", "a\nX-Evil: 1"])
def test_a_key_that_is_none_is_not_shown(key: str) -> None:
    with pytest.raises(CallerError, match="rag keys add") as caught:
        RagClient(key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("localhost:8080/v1", "http://localhost:8080"),
        ("  https://rag.example.org/docs/v1/  ", "https://rag.example.org/docs"),
        ("rag.example.org", "https://rag.example.org"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("https://rag.example.org?x=1#y", "https://rag.example.org"),
    ],
)
def test_an_address_is_repaired(written: str, url: str) -> None:
    assert repaired(written) == url


@pytest.mark.parametrize(
    "written", ["", "ftp://rag", "http://", "http://rag:80x", "http://a:geheim@rag", "a:geheim@rag", "[::1"]
)
def test_an_address_that_is_none_is_refused_without_its_password(written: str) -> None:
    with pytest.raises(CallerError, match="address") as caught:
        RagClient(written)
    assert "geheim" not in str(caught.value)


def test_a_closed_client_says_so() -> None:
    client = RagClient()
    client.close()
    client.close()
    with pytest.raises(CallerError, match="is closed"):
        client.search(TAX)


def test_what_cannot_be_sent_is_refused_here() -> None:
    class Own:
        name = "own"

    with RagClient() as client, pytest.raises(CallerError, match="stays in this process"):
        client.ask(TAX, generator=Own())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A service that asks for keys: its address, and keys by what they are for."""
    system = wire(tmp_path_factory.mktemp("keyed"), RAG_API_KEYS="required", RAG_REQUESTS_PER_MINUTE=0)
    system.catalog.create_collection("laws")
    drop(system, TEXTS)
    ingest(system)
    keys = Keys(system.home)
    made = {
        "read": keys.add("सीता", ["read"]),
        "ingest": keys.add("गीता", ["read", "ingest"]),
        "laws": keys.add("हरि", ["read", "ingest"], collections=["laws"]),
    }
    with served(create_app(system=system)) as client:
        yield str(client.base_url), made


def test_keys_open_what_they_are_for(keyed: tuple[str, dict[str, str]]) -> None:
    url, keys = keyed
    with RagClient(url) as client, pytest.raises(Unauthenticated, match="asks for a key") as caught:
        client.search(TAX)
    assert caught.value.request_id
    with RagClient(url, key="rag_unknown") as client, pytest.raises(Unauthenticated) as caught:
        client.search(TAX)
    assert "rag_unknown" not in str(caught.value)
    with RagClient(url, key=keys["read"]) as client:
        assert client.search(TAX, k=1).hits[0].chunk.source == "कर सूचना.txt"
        with pytest.raises(Forbidden):
            client.add_text("पाठ", name="x")
    with RagClient(url, key=keys["ingest"]) as client:
        assert client.add_text("पुस्तकालय बिहान खुल्छ।", name="पुस्तकालय").status == "ok"
        assert client.delete("पुस्तकालय.txt").status == "deleted"


def test_a_key_of_a_collection_sees_that_alone(keyed: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    url, keys = keyed
    (tmp_path / "भाग" / "दफा").mkdir(parents=True)
    (tmp_path / "भाग" / "दफा" / "ऐन.txt").write_text("मौलिक हक सबैलाई समान हुन्छ।", "utf-8")
    with RagClient(url, key=keys["laws"]) as client:
        (done,) = client.ingest_folder(tmp_path)
        assert (done.collection_name, done.filename, done.status) == ("laws", "भाग/दफा/ऐन.txt", "ok")
        assert client.document("भाग/दफा/ऐन.txt").entry.collection == "laws"
        assert [one.name for one in client.collections()] == ["laws"]
        with pytest.raises(Forbidden):
            client.document("health.txt", collection="nepali_docs")
        with pytest.raises(UnknownName):
            client.document("health.txt")


def test_a_folder_of_another_collection_is_no_way_in(
    keyed: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    url, keys = keyed
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws" / "x.txt").write_text("पाठ", "utf-8")
    with RagClient(url, key=keys["ingest"]) as client, pytest.raises(CallerError, match="collection 'laws'"):
        client.ingest_folder(tmp_path, collection="nepali_docs")


def test_the_example_of_the_guide_runs(
    keyed: tuple[str, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    url, keys = keyed
    (example,) = [
        one for one in re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.S) if "Client" in one
    ]
    example = example.replace("http://127.0.0.1:8080", url).replace('key=""', f'key="{keys["ingest"]}"')
    exec(compile(example, str(GUIDE), "exec"), {})
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["ok", "विद्यालय सोमबार खुल्छ।"]
    assert told[2].startswith("Sources(")
    assert told[-2].startswith("Done(")
    assert told[-1] == "deleted"


def test_a_client_loads_little() -> None:
    code = (
        "import sys, rag_platform; rag_platform.RagClient('localhost:1');"
        "print(sorted({'dagster', 'fastapi', 'starlette', 'pyarrow', 'pandas', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
