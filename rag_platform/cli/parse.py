"""``rag parse``: what extraction makes of one file."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rag_platform.cli.options import EnvFile, Password, Verbose, open_settings, with_password
from rag_platform.cli.render import Format, emit, say
from rag_platform.types import Document

__all__ = ["TextFormat", "parse"]


class TextFormat(StrEnum):
    """How ``parse`` writes what it read."""

    text = "text"
    json = "json"


def parse(
    file: Annotated[
        Path, typer.Argument(exists=True, readable=True, dir_okay=False, help="The file to read.")
    ],
    output: Annotated[TextFormat, typer.Option("--format", help="Text alone, or all that is known.")] = (
        TextFormat.text
    ),
    password: Password = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Show what extraction makes of one file; nothing is stored."""
    from rag_platform.parsing.parse import parse_file
    from rag_platform.system import parse_options
    from rag_platform.text.language import detect_language

    settings = with_password(open_settings(env_file, verbose), password)
    document = parse_file(file, collection=settings.collection_name, options=parse_options(settings))
    if output is TextFormat.text:
        sys.stdout.write(document.text + "\n")
        say(_summary(document))
        return
    about = {
        "source": document.source,
        "document_id": document.document_id,
        "content_sha256": document.content_sha256,
        "format": document.format,
        "language": detect_language(document.text),
        "pages": len(document.pages),
        "characters": len(document.text),
        "metadata": dict(document.metadata),
    }
    emit(Format.json, {"document": about, "pages": [asdict(page) for page in document.pages]}, [])


def _summary(document: Document) -> str:
    """Return format, pages, origins, how many pages are suspect, and the reason where all pages have one."""
    pages = document.pages
    said = [document.format, f"pages: {len(pages)}"]
    said.append(f"origin: {', '.join(sorted({page.origin for page in pages}))}")
    if suspect := sum(page.suspect for page in pages):
        said.append(f"suspect: {suspect}")
    reasons = {page.reason for page in pages}
    return ", ".join(said) + (f" ({reason})" if len(reasons) == 1 and (reason := reasons.pop()) else "")
