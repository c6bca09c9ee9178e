"""``rag``: the platform on the command line.

stdout is data, stderr is talk. Exit code 0: done; 1: an error of the platform, or a document that could
not be ingested; 2: bad usage; 130: interrupted. Commands parse, call the library and render; how things
look stands in ``report``. Everything heavy is imported by the command that needs it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

from rag_platform import __version__
from rag_platform.errors import NotPublished, RagError, StorageError, UnknownName
from rag_platform.privacy import keep_private
from rag_platform.report import (
    Format,
    Row,
    collection_rows,
    collection_value,
    document_row,
    document_value,
    emit,
    hit_row,
    hit_value,
    ingested_row,
    log_to_stderr,
    progress_bar,
    published_value,
    refused_row,
    say,
    use_utf8,
)
from rag_platform.settings import Settings

if TYPE_CHECKING:
    from rag_platform.stages import Outcome
    from rag_platform.system import System
    from rag_platform.types import Kind

__all__ = ["app", "main"]

app = typer.Typer(
    name="rag",
    help="Nepali documents in, searchable and cited collections out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_STAGES = ("raw_documents", "pages", "chunks")
_REFUSED = ("failed", "unsupported")
_STATUSES = ("ok", "unchanged", "empty", "deleted", "pending", *_REFUSED)


class SearchMode(StrEnum):
    """``types.Mode`` as the command line shows and checks it."""

    hybrid = "hybrid"
    dense = "dense"
    lexical = "lexical"


class TextFormat(StrEnum):
    """How ``parse`` writes what it read."""

    text = "text"
    json = "json"


Kinds = Annotated[str | None, typer.Option("--kinds", help="Of text, table, image; comma-separated.")]
Collection = Annotated[str | None, typer.Option("-c", "--collection", help="Named corpus.")]
Embedding = Annotated[str | None, typer.Option("--embedding", help="Embedding model, see `rag models`.")]
Output = Annotated[Format, typer.Option("--format", help="How the data on stdout is written.")]
EnvFile = Annotated[Path | None, typer.Option("--env-file", help="Settings file instead of .env.")]
QdrantUrl = Annotated[str | None, typer.Option("--qdrant-url", help="Qdrant server; else embedded.")]
QdrantKey = Annotated[str | None, typer.Option("--qdrant-api-key", help="Key of the Qdrant server.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show the log on stderr.")]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; ``arguments`` default to the process's."""
    use_utf8()
    keep_private()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except RagError as error:
        say(f"error: {error}")
        code = 1
    except BrokenPipeError:
        # The reader (``| head``) has enough. Python's own flush at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    if code == 130:
        say("interrupted; what was finished is kept, repeat the command to go on")
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(arguments, prog_name="rag")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        return 130
    return 0


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"rag-platform {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Nepali documents in, searchable and cited collections out."""


@app.command()
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
    embedding: Embedding = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Copy documents into the inbox and take them through Dagster to a published collection.

    Exit code 1 when a document failed or is of no supported format; all others are ingested.
    """
    settings = _settings(
        env_file,
        verbose,
        QDRANT_URL=qdrant_url,
        QDRANT_API_KEY=qdrant_api_key,
        CHUNK_SIZE=chunk_size,
        RAG_KINDS=kinds,
        EMBEDDING_MODEL=embedding,
        RAG_EMBEDDERS=embedding,
    )
    system = _system(settings)
    name = collection or settings.collection_name
    system.catalog.create_collection(name)
    refused: dict[str, StorageError] = {}
    sources = [(name, source) for source in system.inbox.add(paths, name, refused=refused)]
    if not sources and not refused:
        say("nothing to ingest: no file below these paths (links, hidden and temporary ones are skipped)")
    rows, published = _materialize(system, name, sources, force=force)
    _finish(([*rows, *(refused_row(source, error) for source, error in refused.items())], published), output)


@app.command()
def delete(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="As `rag documents` lists them.")],
    collection: Collection = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Remove documents from the inbox and from the published collection."""
    from rag_platform import pipeline

    settings = _settings(env_file, verbose)
    system = _system(settings, must_exist=True)
    name = collection or settings.collection_name
    for source in sources:
        system.catalog.entry(name, source)
    for source in sources:
        pipeline.delete(system, name, source)
    _finish(_materialize(system, name, [(name, source) for source in sources]), output)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question, in Nepali, English or romanized Nepali.")],
    k: Annotated[int | None, typer.Option("--k", "--top-r", min=1, help="Results.")] = None,
    candidates: Annotated[
        int | None, typer.Option("--candidates", "--top-k", min=1, help="Candidates of each part.")
    ] = None,
    mode: Annotated[SearchMode | None, typer.Option("--mode", help="Which parts search.")] = None,
    kinds: Kinds = None,
    collection: Collection = None,
    output: Output = Format.table,
    embedding: Embedding = None,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Find the passages that answer a question best."""
    from rag_platform.embedding.catalogue import resolve

    settings = _settings(
        env_file,
        verbose,
        TOP_K_RERANK=k,
        TOP_K_RETRIEVAL=candidates,
        RAG_MODE=mode,
        QDRANT_URL=qdrant_url,
        QDRANT_API_KEY=qdrant_api_key,
        EMBEDDING_MODEL=embedding,
    )
    result = _system(settings, must_exist=True).searcher.search(
        query,
        collection=collection or settings.collection_name,
        model=resolve(settings.embedding_model).name,
        k=settings.top_k_rerank,
        candidates=max(settings.top_k_rerank, settings.top_k_retrieval),
        mode=settings.mode,
        weights=(settings.dense_weight, settings.sparse_weight),
        kinds=None if kinds is None else cast("list[Kind]", [kind.strip() for kind in kinds.split(",")]),
    )
    emit(output, {"hits": [hit_value(hit) for hit in result.hits]}, [hit_row(hit) for hit in result.hits])


@app.command()
def parse(
    file: Annotated[
        Path, typer.Argument(exists=True, readable=True, dir_okay=False, help="The file to read.")
    ],
    output: Annotated[TextFormat, typer.Option("--format", help="Text alone, or all that is known.")] = (
        TextFormat.text
    ),
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Show what extraction makes of one file; nothing is stored."""
    from rag_platform.parsing.parse import ParseOptions, parse_file
    from rag_platform.text.language import detect_language

    settings = _settings(env_file, verbose)
    options = ParseOptions(
        ocr=settings.ocr, languages=settings.tesseract_languages, ocr_timeout_s=settings.ocr_timeout_s
    )
    document = parse_file(file, collection=settings.collection_name, options=options)
    if output is TextFormat.text:
        sys.stdout.write(document.text + "\n")
        origins = sorted({page.origin for page in document.pages})
        say(f"{document.format}, {len(document.pages)} pages, origin: {', '.join(origins)}")
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


@app.command()
def documents(
    collection: Collection = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted ones, too.")] = False,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """List the documents with their state, and why one is not well."""
    system = _system(_settings(env_file, verbose), must_exist=True)
    if collection is not None and collection not in system.catalog.collections():
        raise UnknownName("collection", collection, system.catalog.collections())
    entries = system.catalog.entries(collection, deleted=deleted)
    rows = [document_row(entry) for entry in entries]
    emit(output, {"documents": [document_value(entry) for entry in entries]}, rows)
    say("1 document" if len(rows) == 1 else f"{len(rows)} documents")


@app.command()
def collections(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """List the collections and their published generations."""
    system = _system(_settings(env_file, verbose), must_exist=True)
    published = system.index.published()
    found = [
        (name, len(system.catalog.entries(name)), [m for m in published if m.collection == name])
        for name in system.catalog.collections()
    ]
    rows = [row for parts in found for row in collection_rows(*parts)]
    emit(output, {"collections": [collection_value(*parts) for parts in found]}, rows)


@app.command()
def models(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """List the embedding models, which are active, and which can be loaded here."""
    from rag_platform.embedding.encoders import ENCODERS, can_load, resolve

    settings = _settings(env_file, verbose)
    active = {resolve(name).name for name in (*settings.active_embedders, settings.embedding_model)}
    rows = []
    for spec in ENCODERS.values():
        remedy = can_load(spec)
        rows.append(
            {
                "name": spec.name,
                "dim": spec.dim,
                "max_tokens": spec.max_tokens,
                "licence": spec.licence,
                "active": spec.name in active,
                "loadable": remedy is None,
                "remedy": remedy,
            }
        )
    emit(output, {"models": rows}, rows)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address; 0.0.0.0: every network.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port.")] = None,
    env_file: EnvFile = None,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when the code changes.")] = False,
    verbose: Verbose = False,
) -> None:
    """Serve the published collections over HTTP."""
    import uvicorn

    from serving.app import create_app

    settings = _settings(env_file, verbose, RAG_HOST=host, RAG_PORT=port)
    level = "info" if verbose else "warning"
    app = "serving.app:create_app" if reload else create_app(system=_system(settings))
    if reload:
        os.environ.update(settings.environment())  # the restarted process reads them from there
    say(f"serving {settings.home} on http://{settings.host}:{settings.port} (Ctrl-C stops it)")
    with contextlib.suppress(KeyboardInterrupt):  # the way to stop it
        uvicorn.run(
            app, factory=reload, reload=reload, host=settings.host, port=settings.port, log_level=level
        )


@app.command()
def doctor(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """Say what works on this machine, what does not, and what to do about it.

    Exit code 1 when something that the main job needs is missing.
    """
    from rag_platform.doctor import Verdict, examine

    findings = list(examine(_settings(env_file, verbose)))
    rows = [asdict(finding) for finding in findings]
    emit(output, {"findings": rows}, rows)
    if any(finding.verdict is Verdict.missing for finding in findings):
        raise typer.Exit(1)


def _settings(env_file: Path | None, verbose: bool, **flags: object) -> Settings:
    """Read settings with flags above all, and let the log speak when it is wanted."""
    log_to_stderr(verbose=verbose)
    return Settings.load(Path(".env") if env_file is None else env_file, **flags)


def _system(settings: Settings, *, must_exist: bool = False) -> System:
    """Wire the system; reading commands make no new home where there is none."""
    home = settings.home.expanduser().absolute()
    if must_exist and not (home / "catalog.sqlite").exists():
        raise NotPublished(
            f"nothing is stored at {home} yet; fill it with: rag ingest PATH, or set RAG_HOME to another"
        )
    from rag_platform.system import System

    return System.from_settings(settings)


def _materialize(
    system: System, collection: str, wanted: Sequence[tuple[str, str]], *, force: bool = False
) -> tuple[list[Row], Row]:
    """Run what is stale of these documents through Dagster; return the rows of documents and collection."""
    from jobs.claims import new_owner
    from jobs.run import ingest as run_jobs
    from jobs.run import instance_for
    from rag_platform.embedding.catalogue import resolve

    settings = system.settings
    listing = system.inbox.scan(system.catalog.collections())
    seen = system.catalog.observe(listing, now=time.time(), quiet_s=settings.quiet_s, complete=wanted)
    worked: set[str] = set()
    names = [resolve(name).name for name in settings.active_embedders]
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
    model = resolve(settings.embedding_model).name
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


if __name__ == "__main__":
    main()
