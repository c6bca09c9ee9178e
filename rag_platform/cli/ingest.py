"""``rag ingest`` and ``rag delete``: what changes the collection, always through Dagster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import (
    Collection,
    Embedding,
    EnvFile,
    Kinds,
    Output,
    Password,
    QdrantKey,
    QdrantUrl,
    Verbose,
    open_settings,
    open_system,
    with_password,
)
from rag_platform.cli.render import (
    Format,
    Row,
    emit,
    ingested_row,
    progress_bar,
    published_value,
    refused_row,
    say,
)
from rag_platform.errors import RagError

if TYPE_CHECKING:
    from rag_platform.stages import Outcome
    from rag_platform.system import System

__all__ = ["delete", "ingest"]

_STAGES = ("raw_documents", "pages", "chunks")
_REFUSED = ("failed", "unsupported")
_STATUSES = ("ok", "unchanged", "empty", "deleted", "pending", *_REFUSED)


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", exists=True, readable=True, help="Files and folders.")
    ],
    collection: Collection = None,
    output: Output = Format.table,
    force: Annotated[bool, typer.Option("--force", help="Do everything again, current or not.")] = False,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    chunk_size: Annotated[int | None, typer.Option("--chunk-size", help="Tokens of a chunk.")] = None,
    kinds: Kinds = None,
    meta: Annotated[
        list[str] | None,
        typer.Option(
            "--meta", metavar="NAME=VALUE", help="Said of these files, as publisher=...; repeatable."
        ),
    ] = None,
    password: Password = None,
    embedding: Embedding = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Copy documents into the inbox and take them through Dagster to a published collection.

    Exit code 1 when a document failed or is of no supported format; all others are ingested.
    """
    from rag_platform import pipeline
    from rag_platform.metadata.sidecars import changed

    changed({}, meta or [])
    settings = open_settings(
        env_file,
        verbose,
        QDRANT_URL=qdrant_url,
        QDRANT_API_KEY=qdrant_api_key,
        CHUNK_SIZE=chunk_size,
        RAG_KINDS=kinds,
        EMBEDDING_MODEL=embedding,
        RAG_EMBEDDERS=embedding,
    )
    system = open_system(with_password(settings, password))
    name = collection or settings.collection_name
    system.catalog.create_collection(name)
    refused: dict[str, RagError] = {}
    added = system.inbox.add(paths, name, refused=refused)
    if meta:
        _note(system, name, added, meta, refused)
    sources = [(name, source) for source in added if source not in refused]
    if not sources and not refused:
        say("nothing to ingest: no file below these paths (links, hidden and temporary ones are skipped)")
    if settings.pdf_passwords or password:
        pipeline.retry_locked(system, sources)
    rows, published = _materialize(system, name, sources, force=force)
    _finish(([*rows, *(refused_row(source, error) for source, error in refused.items())], published), output)


def delete(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="As `rag documents` lists them.")],
    collection: Collection = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Remove documents from the inbox and from the published collection."""
    from rag_platform import pipeline

    settings = open_settings(env_file, verbose)
    system = open_system(settings, must_exist=True)
    name = collection or settings.collection_name
    for source in sources:
        system.catalog.entry(name, source)
    for source in sources:
        pipeline.delete(system, name, source)
    _finish(_materialize(system, name, [(name, source) for source in sources]), output)


def _note(
    system: System,
    collection: str,
    sources: Sequence[str],
    changes: Sequence[str],
    refused: dict[str, RagError],
) -> None:
    """Write what is said of these documents beside them; ``refused`` takes those whose sidecar is broken."""
    for source in sources:
        try:
            system.inbox.note(collection, source, changes)
        except RagError as error:
            refused[source] = error


def _materialize(
    system: System, collection: str, wanted: Sequence[tuple[str, str]], *, force: bool = False
) -> tuple[list[Row], Row]:
    """Run what is stale of these documents through Dagster; return the rows of documents and collection."""
    from jobs.claims import new_owner
    from jobs.run import ingest as run_jobs
    from jobs.run import instance_for

    settings = system.settings
    listing = system.inbox.scan(system.catalog.collections())
    for stray in listing.strays:
        say(f"{stray.name} belongs to no document: name it after the whole file name, as ऐन.pdf.meta.toml")
    seen = system.catalog.observe(listing, now=time.time(), quiet_s=settings.quiet_s, complete=wanted)
    worked: set[str] = set()
    names = system.embedders()
    owner = new_owner("cli")

    def n_steps() -> int:
        claimed = sum(entry.owner == owner for entry in system.catalog.entries())
        return (claimed or len(wanted)) * (len(_STAGES) + len(names))

    with progress_bar("ingesting", n_steps) as advance, instance_for(settings) as instance:

        def note(outcome: Outcome) -> None:
            advance(outcome.source)
            if outcome.status != "unchanged":
                worked.add(outcome.document_id)

        run_jobs(
            system,
            instance,
            sources=list(wanted),
            owner=owner,
            models=names,
            force=force,
            progress=note,
        )
    gone = {(entry.collection, entry.source) for entry in seen.vanished}
    entries = {(entry.collection, entry.source): entry for entry in system.catalog.entries(deleted=True)}
    rows = []
    for key in (*wanted, *sorted(gone - {*wanted})):
        entry = entries.get(key)
        rows.append(ingested_row(key[1], entry, worked=entry is not None and entry.document_id in worked))
    model = system.embedding().name
    return rows, published_value(collection, model, system.index.current(collection, model))


def _finish(result: tuple[list[Row], Row], output: Format) -> None:
    """Write what was ingested, sum it up on stderr, and fail if a document was refused."""
    rows, published = result
    shown = [{key: value for key, value in row.items() if key != "partition"} for row in rows]
    plain = [{key: value for key, value in row.items() if key != "format"} for row in rows]
    emit(output, {"documents": plain, "collection": published}, shown)
    if output is Format.table:
        emit(output, {}, [published])
    counts = {status: n for status in _STATUSES if (n := sum(row["status"] == status for row in rows))}
    if rows and set(counts) == {"unchanged"}:
        say(f"nothing to do: all {len(rows)} documents are unchanged")
    else:
        say(", ".join(f"{n} {status}" for status, n in counts.items()) or "nothing to do")
    if any(status in counts for status in _REFUSED):
        raise typer.Exit(1)
