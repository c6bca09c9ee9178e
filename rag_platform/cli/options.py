"""Options that several commands share, and what they open: settings and the wired system.

No command lives here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.render import Format, log_to_stderr
from rag_platform.errors import NotPublished
from rag_platform.settings import Settings

if TYPE_CHECKING:
    from rag_platform.system import System

__all__ = [
    "Collection",
    "Embedding",
    "EnvFile",
    "Kinds",
    "Output",
    "Password",
    "QdrantKey",
    "QdrantUrl",
    "Verbose",
    "open_settings",
    "open_system",
    "with_password",
]

Kinds = Annotated[str | None, typer.Option("--kinds", help="Of text, table, image; comma-separated.")]
Collection = Annotated[str | None, typer.Option("-c", "--collection", help="Named corpus.")]
Embedding = Annotated[str | None, typer.Option("--embedding", help="Embedding model, see `rag models`.")]
Output = Annotated[Format, typer.Option("--format", help="How the data on stdout is written.")]
EnvFile = Annotated[Path | None, typer.Option("--env-file", help="Settings file instead of .env.")]
Password = Annotated[
    str | None,
    typer.Option("--password", metavar="PASSWORD", help="Tried on locked PDFs before RAG_PDF_PASSWORDS."),
]
QdrantUrl = Annotated[str | None, typer.Option("--qdrant-url", help="Qdrant server; else embedded.")]
QdrantKey = Annotated[str | None, typer.Option("--qdrant-api-key", help="Key of the Qdrant server.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show the log on stderr.")]


def open_settings(env_file: Path | None, verbose: bool, **flags: object) -> Settings:
    """Read settings with flags above all, and let the log speak when it is wanted."""
    log_to_stderr(verbose=verbose)
    return Settings.load(Path(".env") if env_file is None else env_file, **flags)


def with_password(settings: Settings, password: str | None) -> Settings:
    """Return settings with a password that is tried first."""
    if password is None:
        return settings
    return settings.model_copy(update={"pdf_passwords": (password, *settings.pdf_passwords)})


def open_system(settings: Settings, *, must_exist: bool = False) -> System:
    """Wire the system; reading commands make no new home where there is none."""
    home = settings.root
    if must_exist and not (home / "catalog.sqlite").exists():
        raise NotPublished(
            f"nothing is stored at {home} yet; fill it with: rag ingest PATH, or set RAG_HOME to another"
        )
    from rag_platform.system import System

    return System.from_settings(settings)
