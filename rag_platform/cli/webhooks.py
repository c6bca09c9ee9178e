"""``rag webhooks``: who was told of which generation, and what is yet to be told."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_platform.cli.options import EnvFile, Output, Verbose, open_settings, open_system
from rag_platform.cli.render import Format, Row, emit, say

if TYPE_CHECKING:
    from rag_platform.webhooks import Delivery

__all__ = ["webhooks"]


def webhooks(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """List what was sent to RAG_WEBHOOK_URLS and what is yet to be, the newest first."""
    system = open_system(open_settings(env_file, verbose), must_exist=True)
    found = system.webhooks.deliveries()
    values = [{**asdict(one), "body": json.loads(one.body)} for one in found]
    emit(output, {"deliveries": values}, [_row(one) for one in found])
    if not found:
        say("nobody was told anything yet; set RAG_WEBHOOK_URLS, and the next generation is")


def _row(one: Delivery) -> Row:
    body = json.loads(one.body)
    told = body["data"]
    return {
        "time": body["timestamp"],
        "collection": told["collection"],
        "model": told["embedding_model"],
        "generation": told["generation"],
        "url": one.url,
        "status": one.status,
        "attempts": one.attempts,
        "outcome": one.outcome,
    }
