"""``rag serve``: the HTTP service."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from rag_platform.cli.listening import announce, listening
from rag_platform.cli.options import EnvFile, Verbose, open_settings, open_system

__all__ = ["serve"]


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address; 0.0.0.0: every network.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port.")] = None,
    env_file: EnvFile = None,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when the code changes.")] = False,
    verbose: Verbose = False,
) -> None:
    """Serve the published collections over HTTP."""
    from serving.app import create_app
    from serving.binding import check_binding
    from serving.logs import set_up
    from serving.mcp import allowed_folders
    from serving.server import run

    settings = open_settings(env_file, verbose, RAG_HOST=host, RAG_PORT=port)
    log = set_up(settings, verbose=verbose)
    check_binding(settings)
    allowed_folders(settings)
    with listening(settings.host, settings.port) as taken:
        application = "serving.app:create_app" if reload else create_app(system=open_system(settings))
        if reload:
            os.environ.update(settings.environment())  # the restarted process reads them from there
        announce(settings, f"serving {settings.home} on http://{settings.host}:{settings.port}")
        run(taken, application, settings, log_config=log, factory=reload, reload=reload)
