"""Messages of new generations, sent to real receivers: signed, repeated, and never in a publish's way."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from http_service import wait
from local_server import listening
from standardwebhooks import Webhook
from support import TEXTS, drop, ingest

from rag_platform.cli.app import main
from rag_platform.errors import InvalidSetting
from rag_platform.protocols import Manifest
from rag_platform.system import System
from rag_platform.webhooks import Webhooks

SECRET = "whsec_" + base64.b64encode("नेपाली कागजातको गोप्य साँचो".encode()).decode()


@dataclass
class Receiver:
    """A receiver: where it is, how it answers (statuses, the last one for ever), and what it got."""

    url: str
    statuses: list[int]
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def receiving(*statuses: int, hang: threading.Event | None = None) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            local.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            local.headers.append({name.lower(): value for name, value in self.headers.items()})
            if hang is not None:
                hang.wait(20)
                return
            status = local.statuses.pop(0) if len(local.statuses) > 1 else local.statuses[0]
            self.send_response(status)
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        local = Receiver(f"{address}/hook", list(statuses))
        yield local
        if hang is not None:
            hang.set()


def manifest(generation: int = 1, **documents: str) -> Manifest:
    return Manifest("ऐन", "hashing", generation, 7, 8, "r", documents or {"d": "f"}, "there", "now")


def hooks(tmp_path: Path, *urls: str, **more: object) -> Webhooks:
    return Webhooks(tmp_path / "webhooks.sqlite", urls, SECRET, **{"waits_s": (0.05, 0.05, 0.05), **more})  # type: ignore[arg-type]


def statuses(made: Webhooks) -> list[str]:
    return [one.status for one in made.deliveries()]


def test_a_publish_is_told_signed_and_once(make_system: Callable[..., System]) -> None:
    with receiving(204) as receiver:
        system = make_system(RAG_WEBHOOK_URLS=receiver.url, RAG_WEBHOOK_SECRET=SECRET)
        drop(system, TEXTS)
        ingest(system)
        ingest(system)  # nothing new
        wait(lambda: bool(receiver.bodies))
        drop(system, {"नयाँ.txt": "नयाँ सूचना: विद्यालय भोलि बन्द रहनेछ।"})
        ingest(system)
        wait(lambda: len(receiver.bodies) == 2)
        system.close()
    first, second = (json.loads(body) for body in receiver.bodies)
    assert (first["type"], first["data"]["generation"]) == ("generation.published", 1)
    assert second["data"] == {
        "collection": "nepali_docs",
        "embedding_model": "hashing",
        "generation": 2,
        "points": 5,
        "documents": 5,
    }
    for body, headers in zip(receiver.bodies, receiver.headers, strict=True):
        assert Webhook(SECRET).verify(body, headers) == json.loads(body)
    assert receiver.headers[0]["webhook-id"] != receiver.headers[1]["webhook-id"]


def test_the_command_line_tells_by_a_dagster_run_and_lists_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "सूचना.txt").write_text(TEXTS["कर सूचना.txt"], "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing")
    monkeypatch.setenv("RAG_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    with receiving(204) as receiver:
        monkeypatch.setenv("RAG_WEBHOOK_URLS", receiver.url)
        ingesting = [sys.executable, "-m", "rag_platform.cli", "ingest", "सूचना.txt"]
        subprocess.run(ingesting, capture_output=True, timeout=120, check=True)
        (body,) = receiver.bodies
    assert Webhook(SECRET).verify(body, receiver.headers[0])["data"]["points"] == 1
    with pytest.raises(SystemExit):
        main(["webhooks", "--format", "json"])
    (listed,) = json.loads(capsys.readouterr().out)["deliveries"]
    assert (listed["status"], listed["url"], listed["body"]) == ("delivered", receiver.url, json.loads(body))


def test_what_fails_twice_arrives_with_the_same_id(tmp_path: Path) -> None:
    with receiving(500, 302, 200) as receiver:
        made = hooks(tmp_path, receiver.url)
        made.announce(manifest())
        wait(lambda: statuses(made) == ["delivered"])
        made.close()
    assert len(receiver.bodies) == 3  # the redirect was not followed
    assert len({headers["webhook-id"] for headers in receiver.headers}) == 1
    (one,) = made.deliveries()
    assert (one.attempts, one.outcome) == (3, "answered 200")


def test_who_never_answers_holds_up_nobody(tmp_path: Path) -> None:
    with receiving(200, hang=threading.Event()) as silent, receiving(200) as receiver:
        made = hooks(tmp_path, silent.url, receiver.url, timeout_s=0.3)
        begin = time.monotonic()
        made.announce(manifest(1))
        made.announce(manifest(2))
        assert time.monotonic() - begin < 5  # the silent one takes 20
        wait(lambda: len(receiver.bodies) == 2)
        wait(lambda: statuses(made).count("failed") == 2)
        begin = time.monotonic()
        made.close(wait_s=0.1)
        assert time.monotonic() - begin < 5
    failed = [one for one in made.deliveries() if one.status == "failed"]
    assert {(one.attempts, one.outcome) for one in failed} == {(4, "no answer (ReadTimeout)")}


def test_who_is_gone_for_good_is_asked_once(tmp_path: Path) -> None:
    with receiving(410) as receiver:
        made = hooks(tmp_path, receiver.url)
        made.announce(manifest())
        wait(lambda: statuses(made) == ["failed"])
        made.close()
    assert len(receiver.bodies) == 1


def test_what_one_process_leaves_another_sends(tmp_path: Path) -> None:
    """The first is killed with its message unsent: no receiver listens yet."""
    with receiving(200) as receiver:
        script = (
            "import os, sys; from pathlib import Path; from rag_platform.protocols import Manifest;"
            "from rag_platform.webhooks import Webhooks;"
            "made = Webhooks(Path(sys.argv[1]), sys.argv[2:]); made.start = lambda: None;"
            "made.announce(Manifest('laws', 'hashing', 3, 1, 8, 'r', {}, '', '')); os._exit(9)"
        )
        file = tmp_path / "webhooks.sqlite"
        subprocess.run([sys.executable, "-c", script, str(file), receiver.url], timeout=60, check=False)
        assert receiver.bodies == []
        made = hooks(tmp_path, receiver.url)
        made.start()
        wait(lambda: statuses(made) == ["delivered"])
        made.close()
    assert json.loads(receiver.bodies[0])["data"]["collection"] == "laws"


def test_a_process_that_ends_at_once_has_told(tmp_path: Path) -> None:
    with receiving(200) as receiver:
        script = (
            "import sys; from pathlib import Path; from rag_platform.protocols import Manifest;"
            "from rag_platform.webhooks import Webhooks;"
            "Webhooks(Path(sys.argv[1]), sys.argv[2:]).announce("
            "Manifest('laws', 'hashing', 3, 1, 8, 'r', {}, '', ''))"
        )
        file = str(tmp_path / "webhooks.sqlite")
        subprocess.run([sys.executable, "-c", script, file, receiver.url], timeout=60, check=True)
        assert len(receiver.bodies) == 1
        assert "webhook-signature" not in receiver.headers[0]  # without a secret


def test_a_file_that_cannot_be_written_fails_no_publish(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    made = Webhooks(tmp_path / "file" / "webhooks.sqlite", ["http://127.0.0.1:9/"], SECRET)
    made.announce(manifest())
    assert "is told nobody" in caplog.text


def test_an_address_stays_out_of_the_log_with_its_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(400) as receiver:
        address = receiver.url.replace("//", "//rag:गोप्य@") + "?token=sk-secret"
        made = hooks(tmp_path, address, waits_s=())
        made.announce(manifest())
        wait(lambda: statuses(made) == ["failed"])
        made.close()
    assert "answered 400" in caplog.text
    assert "sk-secret" not in caplog.text + str(made.deliveries())


@pytest.mark.parametrize(
    ("url", "secret", "said"),
    [
        ("ftp://example.org/hook", SECRET, "RAG_WEBHOOK_URLS"),
        ("https://", SECRET, "RAG_WEBHOOK_URLS"),
        ("https://example.org:द्वार/hook", SECRET, "RAG_WEBHOOK_URLS"),
        ("https://[::1/hook", SECRET, "RAG_WEBHOOK_URLS"),
        ("https://example.org", "गोप्य", "openssl rand -base64 32"),
    ],
)
def test_what_cannot_be_told_or_signed_is_refused_at_once(
    make_system: Callable[..., System], url: str, secret: str, said: str
) -> None:
    with pytest.raises(InvalidSetting, match=said):
        make_system(RAG_WEBHOOK_URLS=url, RAG_WEBHOOK_SECRET=secret)


def test_without_receivers_nothing_is_written(make_system: Callable[..., System]) -> None:
    system = make_system()
    drop(system, TEXTS)
    ingest(system)
    assert system.webhooks.deliveries() == []
    assert not (system.home / "webhooks.sqlite").exists()
