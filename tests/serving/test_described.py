"""What is said of the service is so: the OpenAPI document is current, the guide's examples run."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from http_service import events_of, served, wait, wire

from serving.app import create_app

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs" / "http.md"


def test_the_openapi_document_is_current() -> None:
    written = runpy.run_path(str(ROOT / "scripts" / "openapi.py"))["document"]()
    assert (ROOT / "docs" / "openapi.json").read_text("utf-8") == written, "run: python scripts/openapi.py"


def test_every_path_of_the_document_is_in_the_guide() -> None:
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
    guide = DOCS.read_text("utf-8")
    missing = [
        path
        for path in paths
        if re.sub(r"\{\w+\}", "{id}", path.removeprefix("/api/v1")) not in guide.replace("{name}", "{id}")
    ]
    assert missing == []


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask", "/v1/documents", "/v1/text"])
def test_errors_are_described_as_they_are(path: str) -> None:
    described = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))
    answers = described["paths"][path]["post"]["responses"]
    for status in ("400", "422"):
        reference = answers[status]["content"]["application/json"]["schema"]["$ref"]
        assert reference.endswith("/ErrorAnswer")


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are for curl")
def test_the_examples_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", DOCS.read_text("utf-8"), re.S)
    assert len(blocks) == 14
    with served(create_app(system=wire(tmp_path / "home"))) as client:
        wait(lambda: "loading" not in client.get("/readyz").text)
        here = client.base_url.netloc.decode()
        answers = [run(block.replace("localhost:8080", here), tmp_path) for block in blocks]
    uploaded, polled, text, found, kept, batch, asked, *more = answers
    followed, streamed, chat, out, part, wrong, reference = more
    assert '"status":"done"' in uploaded
    assert '"job_id"' in polled
    assert "खानेपानी.txt" in text
    assert '"source":"सूचना.txt"' in found
    assert kept == "304"
    assert [one["status"] for one in json.loads(batch)["results"]] == [200, 404]
    assert "दश प्रतिशत" in asked
    follow_up, listed, one, *forgotten = followed.replace("}{", "}\n{").splitlines()
    assert "सम्पत्ति कर" in json.loads(follow_up)["standalone"]
    assert json.loads(listed)["conversations"][0]["n_questions"] == len(json.loads(one)["turns"]) / 2 == 2
    assert forgotten == []
    assert json.loads(chat)["citations"][0]["source"] == "सूचना.txt"
    assert len(json.loads(part)["documents"]) == 1
    assert next(name for name, _ in events_of(streamed)) == "sources"
    assert '"kind":"delete"' in out
    assert json.loads(wrong)["code"] == "unknown_name"
    assert json.loads(reference)["hits"]


def run(block: str, folder: Path) -> str:
    """Run a block as a person would and return what it prints."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout
