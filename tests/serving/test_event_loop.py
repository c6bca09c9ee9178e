"""Nothing that may take its time is done on the event loop: where models and storage work is looked at."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from http_service import ingested, served, wait

from rag_platform.answering.conversations import Conversations
from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.catalog import Catalog
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.inbox import Inbox
from rag_platform.storage import RawStore, TableStore
from serving.app import create_app

SLOW_S = 1.5
"""What models take at first; on a machine that is busy the loop may be late by nearly as much."""


class Watched:
    """An application whose event loop is watched: how late it comes to what it was to do."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.late_s: list[float] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self.app(scope, receive, send)
            return
        task = asyncio.create_task(self._watch())
        try:
            await self.app(scope, receive, send)
        finally:
            task.cancel()

    async def _watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.01)
            self.late_s.append(time.perf_counter() - began - 0.01)


class Steps:
    """Steps that may take their time: which were taken, which of them where nothing may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: set[str] = set()
        self.on_the_loop: set[str] = set()
        for owner, names in {
            HashingEncoder: ["encode"],
            ExtractiveGenerator: ["ranked"],
            Catalog: ["collections", "known", "page", "entry", "create_collection"],
            Conversations: ["turns", "add", "page", "get", "delete"],
            RawStore: ["put"],
            TableStore: ["read"],
            Inbox: ["path"],
        }.items():
            for name in names:
                monkeypatch.setattr(owner, name, self._seen(owner, name))

    def _seen(self, owner: type, name: str) -> Callable[..., Any]:
        done, step = getattr(owner, name), f"{owner.__name__}.{name}"

        @functools.wraps(done)
        def seen(*args: Any, **options: Any) -> Any:
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop()
                self.on_the_loop.add(step)
            if step not in self.taken and owner in (HashingEncoder, ExtractiveGenerator):
                self.taken.add(step)
                time.sleep(SLOW_S)
            self.taken.add(step)
            return done(*args, **options)

        return seen


def test_nothing_slow_is_done_on_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = ingested(tmp_path)
    known = system.catalog.entry("nepali_docs", "health.txt").document_id
    watched = Watched(create_app(system=system))
    with served(watched) as client:  # type: ignore[arg-type]
        wait(lambda: client.get("/readyz").status_code == 200)
        steps = Steps(monkeypatch)
        watched.late_s.clear()
        chat = {"model": "rag", "messages": [{"role": "user", "content": "भर्ना कहिले सुरु हुन्छ?"}]}
        asked: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/v1/search", {"json": {"query": "उम्लेको पानी"}}),
            ("GET", "/v1/search?q=मन्दिर", {}),
            ("POST", "/v1/search/batch", {"json": {"searches": [{"query": "साबुन"}, {"query": "मन्दिर"}]}}),
            ("POST", "/v1/ask", {"json": {"question": "सम्पत्ति कर कहिले?", "stream": True}}),
            ("POST", "/v1/ask", {"json": {"question": "जरिवाना कति?", "conversation_id": "कुराकानी"}}),
            ("POST", "/v1/ask", {"json": {"question": "जरिवाना कति?", "conversation_id": "kura-kani"}}),
            ("POST", "/v1/chat/completions", {"json": chat}),
            ("POST", "/v1/text", {"json": {"text": "नयाँ सूचना।", "name": "नयाँ", "wait": True}}),
            ("POST", "/v1/documents", {"files": {"files": ("अर्को.txt", "अर्को सूचना।".encode())}}),
            ("GET", "/v1/documents", {}),
            ("GET", f"/v1/documents/{known}", {}),
            ("GET", f"/v1/documents/{known}/pages", {}),
            ("GET", f"/v1/documents/{known}/pages/1/image", {}),
            ("DELETE", f"/v1/documents/{known}", {}),
            ("GET", "/v1/collections", {}),
            ("GET", "/v1/models", {}),
            ("GET", "/v1/conversations", {}),
            ("GET", "/v1/conversations/kura-kani", {}),
            ("DELETE", "/v1/conversations/kura-kani", {}),
            ("GET", "/readyz", {}),
            ("GET", "/metrics", {}),
            ("GET", "/?q=मन्दिर", {}),
        ]
        with ThreadPoolExecutor(len(asked)) as pool:
            answers = list(pool.map(lambda one: client.request(one[0], one[1], **one[2]), asked))
        assert steps.on_the_loop == set()
        assert max(watched.late_s) < 0.9 * SLOW_S
        assert len(watched.late_s) > 20
    assert not [answer.text for answer in answers if answer.status_code >= 500]
    assert steps.taken >= {
        "HashingEncoder.encode",
        "ExtractiveGenerator.ranked",
        "Catalog.known",
        "Catalog.page",
        "Conversations.add",
        "Conversations.page",
        "TableStore.read",
        "Inbox.path",
    }
