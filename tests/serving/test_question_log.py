"""A service as it is started, from its first log line to the set of questions that people asked it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_service import ingested, served, wait, wire

from rag_platform.question_log import QuestionLog
from serving.app import create_app

ROOT = Path(__file__).parents[2]
KEY = "sk-hidden-1a2b3c4d"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("asked")
    ingested(home)
    return home


def kept(home: Path) -> list[dict[str, Any]]:
    files = QuestionLog.of(home).files
    return [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]


def rag(home: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "RAG_HOME": str(home),
        "EMBEDDING_MODEL": "hashing",
        **more,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "rag_platform.cli", *arguments],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def log_of_a_service(home: Path) -> list[str]:
    """Start a service, ask it, stop it, and return what it wrote to stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = {"RAG_LOG_FORMAT": "json", "RAG_QUESTION_LOG": "true", "OPENAI_API_KEY": KEY}
    service = rag(home, "serve", "--port", str(port), "--verbose", **given)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client:

        def is_ready() -> bool:
            try:
                return client.get("/readyz").status_code == 200
            except httpx.TransportError:
                return False

        try:
            wait(is_ready, 60)
            headers = {"X-Request-ID": "real-1", "Authorization": f"Bearer {KEY}"}
            client.post("/v1/search", json={"query": "सम्पत्ति कर कहिलेसम्म तिर्ने?"}, headers=headers)
            client.get("/x%0a%7b%22level%22:%22ERROR%22%7d?key=sk-hidden-key", headers=headers)
        finally:
            service.send_signal(signal.SIGTERM)
            out, err = service.communicate(timeout=60)
    assert (service.returncode, out) == (0, "")
    return err.splitlines()


def test_a_service_logs_one_object_a_line_from_start_to_end(log_of_a_service: list[str]) -> None:
    records = [json.loads(line) for line in log_of_a_service]
    assert all({"time", "level", "logger", "message"} <= set(one) for one in records)
    assert any(one["message"].startswith("serving ") for one in records)
    mine = [one for one in records if one.get("request_id") == "real-1" and one["logger"] == "serving.access"]
    assert [(one["route"], one["status"]) for one in mine] == [("/v1/search", 200), ("unmatched", 404)]
    assert not any(one["logger"] == "uvicorn.access" for one in records)
    for secret in (KEY, "sk-hidden-key"):
        assert secret not in "".join(log_of_a_service)


def test_what_was_asked_becomes_a_file_of_questions(home: Path, log_of_a_service: list[str]) -> None:
    (line,) = kept(home)
    assert line["question"] == "सम्पत्ति कर कहिलेसम्म तिर्ने?"
    assert line["generations"] == {"nepali_docs": 1}
    assert (len(line["documents"]) > 0, line["refused"]) == (True, None)
    done = rag(home, "questions", "from-log", "--out", "asked.csv")
    _, err = done.communicate(timeout=60)
    assert (done.returncode, err.startswith("1 questions written to asked.csv")) == (0, True), err
    assert (home / "asked.csv").read_text(encoding="utf-8").splitlines() == [
        "id,question,language",
        "asked-1,सम्पत्ति कर कहिलेसम्म तिर्ने?,ne",
    ]


def test_every_way_of_asking_is_kept_and_nobody_who_asked(tmp_path: Path) -> None:
    system = ingested(tmp_path, RAG_QUESTION_LOG=True)
    agent = {"Accept": "application/json, text/event-stream"}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "ask_question", "arguments": {"question": "भर्ना कहिले सुरु हुन्छ?"}},
    }
    with served(create_app(system=system)) as client:
        client.headers.update({"X-Request-ID": "asker-7", "User-Agent": "asker/7"})
        for body in ({"query": "पानी उमाल्ने"}, {"query": " "}, {"query": "x", "collection": "नभएको"}):
            client.post("/v1/search", json=body)
        answer = client.post("/v1/ask", json={"question": "सम्पत्ति कर कहिले तिर्ने?"}).json()
        follow = {"question": "त्यसको जरिवाना कति?", "conversation_id": answer["conversation_id"]}
        client.post("/v1/ask", json={**follow, "stream": True})
        client.post("/v1/ask", json={"question": "मंगल ग्रहमा कति जना बस्छन्?"})
        assert client.post("/mcp", json=call, headers=agent).status_code == 200
    found = {line["question"]: line for line in kept(tmp_path)}
    assert list(found) == [
        "पानी उमाल्ने",
        "सम्पत्ति कर कहिले तिर्ने?",
        "त्यसको जरिवाना कति?",
        "मंगल ग्रहमा कति जना बस्छन्?",
        "भर्ना कहिले सुरु हुन्छ?",
    ]
    assert "कर" in found["त्यसको जरिवाना कति?"]["standalone"]
    assert found["मंगल ग्रहमा कति जना बस्छन्?"]["refused"] is True
    assert found["सम्पत्ति कर कहिले तिर्ने?"]["refused"] is False
    text = QuestionLog.of(tmp_path).path.read_text(encoding="utf-8")
    for identity in ("asker", "127.0.0.1", str(answer["conversation_id"])):
        assert identity not in text


def test_it_is_off_unless_wanted_and_says_how(home: Path, tmp_path: Path) -> None:
    with served(create_app(system=wire(home))) as client:
        client.post("/v1/search", json={"query": "अर्को प्रश्न"})
    assert not any(line["question"] == "अर्को प्रश्न" for line in kept(home))
    done = rag(tmp_path, "questions", "from-log", "--out", "asked.csv")
    _, err = done.communicate(timeout=60)
    assert done.returncode == 1
    assert "set RAG_QUESTION_LOG=true, or name a log" in err
