"""Models that take their time to write keep nobody from searching, over HTTP and as tools."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_service import ingested, served, wait
from model_server import Says, speaking

from serving.app import create_app
from serving.service import ANSWERS_AT_ONCE

# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

SLOW = Says(("सम्पत्ति कर", " असारमा तिर्नुपर्छ।"), pause_s=1.5)
QUESTION = "सम्पत्ति कर कहिलेसम्म तिर्ने?"


def tool(client: httpx.Client, name: str, **arguments: Any) -> httpx.Response:
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    return client.post("/mcp", json=asked, headers=headers)


def test_slow_answers_hold_up_no_search(tmp_path: Path) -> None:
    with speaking([SLOW] * (2 * ANSWERS_AT_ONCE)) as model:
        more = {"LLM_BASE_URL": model.url, "OPENAI_MODEL": "gpt-4o-mini", "LLM_API_KEY": "sk-4711"}
        system = ingested(tmp_path, LLM_PROVIDER="openai_compatible", USE_TOOLS="false", **more)
        with served(create_app(system=system)) as client, ThreadPoolExecutor(2 * ANSWERS_AT_ONCE) as many:
            wait(lambda: client.get("/readyz").status_code == 200)
            asked: list[Future[httpx.Response]] = []
            for n in range(ANSWERS_AT_ONCE):
                asked.append(many.submit(client.post, "/v1/ask", json={"question": QUESTION}))
                if n % 2:
                    asked.append(many.submit(tool, client, "ask_question", question=QUESTION))
            wait(lambda: len(model.bodies) >= 12, limit_s=20)  # more than there are threads for searches
            began = time.monotonic()
            found = client.post("/v1/search", json={"query": "उम्लेको पानी"})
            called = tool(client, "search_documents", query="उम्लेको पानी")
            took_s = time.monotonic() - began
            assert not any(one.done() for one in asked)
            assert (found.status_code, called.status_code) == (200, 200)
            assert '"isError":false' in called.text
            assert took_s < 2
            assert {one.result().status_code for one in asked} == {200}
