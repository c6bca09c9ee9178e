"""A GGUF file that the platform serves itself, down to the real engine, and a whole question through it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from http_service import events_of, served, wait, wire
from real_model import weights
from support import drop, ingest

from rag_platform.answering.gguf import Engine
from rag_platform.errors import InvalidSetting, MissingDependency, UpstreamError
from rag_platform.settings import Settings
from rag_platform.system import System
from serving.app import create_app

# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

ROOT = Path(__file__).parents[2]
LIBRARY = "The public library opens at nine in the morning. It closes at six in the evening."
TEXTS = {
    "पुस्तकालय.txt": LIBRARY,
    "clinic.txt": "The clinic is open from ten to four. A ticket costs fifty rupees.",
    "bus.txt": "The bus to the market leaves every hour. The fare is thirty rupees.",
}
QUESTION = "When does the public library open?"
LOCAL = {
    "EMBEDDING_MODEL": "hashing",
    "LLM_PROVIDER": "local",
    "LLM_TEMPERATURE": "0",
    "RAG_LOCAL_CONTEXT": "2048",
    "RAG_LOCAL_THREADS": "1",
    "RAG_LLM_MAX_TOKENS": "16",
    "TOP_K_RERANK": "2",
}


def local(folder: Path, file: str) -> System:
    return System.from_settings(
        Settings.load(None, RAG_HOME=folder, LLM_PROVIDER="local", RAG_LOCAL_MODEL=file)
    )


def test_a_file_that_cannot_be_served_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidSetting, match="set RAG_LOCAL_MODEL"):
        local(tmp_path, "").generator()
    with pytest.raises(InvalidSetting, match=r"मोडेल\.gguf cannot be read: No such file"):
        local(tmp_path, str(tmp_path / "मोडेल.gguf")).generator()
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"PK\x03\x04")
    with pytest.raises(InvalidSetting, match=r"wrong\.gguf is no GGUF file: it begins with b'PK"):
        local(tmp_path, str(wrong)).generator()
    right = tmp_path / "right.gguf"
    right.write_bytes(b"GGUF")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"rag-platform\[local\]"):
        local(tmp_path, str(right)).generator()


def test_what_tells_one_file_from_another_is_its_content(tmp_path: Path) -> None:
    weights()
    recipes = set()
    for name, content in {"a": b"GGUF1", "b": b"GGUF2", "c": b"GGUF1"}.items():
        (tmp_path / name).write_bytes(content)
        recipes.add(Engine(tmp_path / name, context=2048).recipe)
    assert len(recipes) == 2
    assert Engine(tmp_path / "a", context=4096).recipe not in recipes


@pytest.mark.slow
def test_an_engine_that_cannot_load_says_why(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    with weights().open("rb") as whole:
        damaged.write_bytes(whole.read(4_000_000))
    with pytest.raises(UpstreamError, match=r"ended with code 1: .*corrupted or incomplete"):
        Engine(damaged).base_url()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the weights under a path by which their process is known from others."""
    link = tmp_path / "smollm2.gguf"
    link.symlink_to(weights())
    return link


@pytest.fixture
def system(tmp_path: Path, file: Path) -> Iterator[System]:
    made = wire(tmp_path / "home", RAG_LOCAL_MODEL=file, **LOCAL)
    drop(made, TEXTS)
    ingest(made)
    yield made
    made.close()
    assert not engines(file)


def sound(reply: dict[str, Any]) -> bool:
    """Say whether every sentence is cited or marked, and every quote stands in what is stored."""
    quoted = all(any(one["quote"] in text for text in TEXTS.values()) for one in reply["citations"])
    parts = [part for part in reply["answer"].replace("\n", " ").split(". ") if part.strip()]
    return bool(parts) and quoted and all("[" in part or "do not answer" in part for part in parts)


@pytest.mark.slow
def test_a_question_goes_through_the_service_and_a_real_model(system: System, file: Path) -> None:
    """Tools first, which this model ignores; then in events; then after a crash; then after another."""
    with served(create_app(system=system)) as client:
        first = client.post("/v1/ask", json={"question": QUESTION}).json()
        assert sound(first), first
        assert (first["mode"], first["generator"]) == ("retrieve", "local/smollm2")
        assert "the model did not search: the question was searched for it" in first["notes"]
        assert first["usage"]["prompt_tokens"] > 100

        asked = {"question": QUESTION, "tools": False}
        answer = client.post("/v1/ask", json=asked, headers={"accept": "text/event-stream"})
        told = events_of(answer.text)
        assert told[0][0] == "sources"
        assert "".join(data["text"] for name, data in told if name == "delta") == told[-1][1]["answer"]
        assert told[-1][0] == "answer"
        assert sound(told[-1][1]), told[-1]

        crash(file)
        assert sound(client.post("/v1/ask", json=asked).json())
        crash(file)
        for _ in range(2):
            failed = client.post("/v1/ask", json=asked)
        assert not engines(file), "it is not started again at once"
        assert (failed.status_code, failed.json()["code"]) == (502, "upstream_error")
        assert "died twice" in failed.json()["detail"]


def engines(file: Path) -> list[int]:
    """Return the processes that serve a file."""
    found = psutil.process_iter(["cmdline"])
    return [one.pid for one in found if str(file) in (one.info["cmdline"] or ()) and one.pid != os.getpid()]


def crash(file: Path) -> None:
    (engine,) = engines(file)
    os.kill(engine, signal.SIGSEGV)
    wait(lambda: not engines(file))


@pytest.mark.slow
def test_it_answers_its_owner_alone_has_its_limits_and_ends_with_him_however_he_ends(file: Path) -> None:
    script = (
        "import sys, time, pathlib\n"
        "from rag_platform.answering.gguf import Engine\n"
        "engine = Engine(pathlib.Path(sys.argv[1]), context=256, threads=1)\n"
        "engine.base_url()\n"
        "engine.require_room([{'role': 'user', 'content': 'When?'}], (), 16)\n"
        "try:\n"
        "    engine.require_room([{'role': 'user', 'content': 'पुस्तकालय ' * 40}], (), 1_024)\n"
        "except Exception as error:\n"
        "    print(f'{error.code}: {error}')\n"
        "print(engine.base_url(), engine.key, flush=True)\n"
        "time.sleep(100)\n"
    )
    command = [sys.executable, "-c", script, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout is not None
        told = owner.stdout.readline()
        assert re.match(
            r"prompt_too_long: smollm2\.gguf reads 256 tokens .* and 64 of its answer are more", told
        )
        address, key = owner.stdout.readline().split()
        assert address.startswith("http://127.0.0.1:")
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
        url = f"{address}/chat/completions"
        assert httpx.post(url, json=body, trust_env=False).status_code == 401
        mine = {"authorization": f"Bearer {key}"}
        assert httpx.post(url, json=body, headers=mine, trust_env=False, timeout=60).status_code == 200
        assert len(engines(file)) == 2, "the owner has the path among its arguments, too"
        owner.kill()
    wait(lambda: not engines(file))


@pytest.mark.slow
def test_rag_ask_is_answered_by_a_real_model_and_leaves_no_process(system: System, file: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(system.home),
        "PYTHONPATH": str(ROOT),
        "RAG_HOME": str(system.home),
        "RAG_LOCAL_MODEL": str(file),
        **LOCAL,
    }
    command = [sys.executable, "-m", "rag_platform.cli", "ask", QUESTION, "--no-tools", "--format", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert sound(json.loads(done.stdout))
    wait(lambda: not engines(file))
