"""``rag mcp``: the tools for AI agents, over HTTP or for the one client that starts this process."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rag_platform.cli.listening import announce, listening
from rag_platform.cli.options import (
    Embedding,
    EnvFile,
    QdrantKey,
    QdrantUrl,
    Verbose,
    open_settings,
    open_system,
)

__all__ = ["McpTransport", "mcp"]


class McpTransport(StrEnum):
    """How clients reach the server."""

    http = "http"
    stdio = "stdio"


def mcp(
    transport: Annotated[
        McpTransport,
        typer.Option("--transport", help="http: streamable HTTP at /mcp; stdio: the client starts it."),
    ] = McpTransport.http,
    host: Annotated[str | None, typer.Option("--host", help="Address, of http.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port, of http.")] = None,
    no_init: Annotated[bool, typer.Option("--no-init", help="Load models on the first call.")] = False,
    embedding: Embedding = None,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Offer search, answers and documents to AI agents, by the Model Context Protocol."""
    settings = open_settings(
        env_file,
        verbose,
        RAG_HOST=host,
        RAG_MCP_PORT=port,
        EMBEDDING_MODEL=embedding,
        QDRANT_URL=qdrant_url,
        QDRANT_API_KEY=qdrant_api_key,
    )
    from serving.logs import set_up

    log = set_up(settings, verbose=verbose)
    if transport is McpTransport.stdio:
        from serving.mcp import run_stdio

        run_stdio(open_system(settings), warm=not no_init)
        return
    from serving.binding import check_binding

    check_binding(settings)
    with listening(settings.host, settings.mcp_port) as taken:
        from serving.mcp import PATH, http_app
        from serving.server import run

        app = http_app(open_system(settings), warm=not no_init)
        address = f"http://{settings.host}:{settings.mcp_port}{PATH}"
        announce(settings, f"MCP server of {settings.home} on {address}")
        run(taken, app, settings, log_config=log)
