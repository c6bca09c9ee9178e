"""``rag documents``, ``collections``, ``models`` and ``doctor``: what is there, and what is wrong with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import Collection, EnvFile, Output, Verbose, open_settings, open_system
from rag_platform.cli.render import (
    Format,
    collection_rows,
    collection_value,
    document_row,
    document_value,
    emit,
    say,
)
from rag_platform.errors import UnknownName

if TYPE_CHECKING:
    from rag_platform.system import System

__all__ = ["collections", "doctor", "documents", "models"]


def documents(
    collection: Collection = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted ones, too.")] = False,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """List the documents with their state, and why one is not well."""
    system = open_system(open_settings(env_file, verbose), must_exist=True)
    if collection is not None and collection not in system.catalog.collections():
        raise UnknownName("collection", collection, system.catalog.collections())
    entries = system.catalog.entries(collection, deleted=deleted)
    rows = [document_row(entry) for entry in entries]
    emit(output, {"documents": [document_value(entry) for entry in entries]}, rows)
    say("1 document" if len(rows) == 1 else f"{len(rows)} documents")


def collections(
    figures: Annotated[bool, typer.Option("--statistics", help="Count what the generations hold.")] = False,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """List the collections and their published generations."""
    if figures:
        _show_statistics(open_system(open_settings(env_file, verbose), must_exist=True), output)
        return
    system = open_system(open_settings(env_file, verbose), must_exist=True)
    published = system.index.published()
    found = [
        (name, len(system.catalog.entries(name)), [m for m in published if m.collection == name])
        for name in system.catalog.collections()
    ]
    rows = [row for parts in found for row in collection_rows(*parts)]
    emit(output, {"collections": [collection_value(*parts) for parts in found]}, rows)


def _show_statistics(system: System, output: Format) -> None:
    """Write the figures of every published generation."""
    from rag_platform.retrieval.statistics import statistics

    published = system.index.published()
    found = [asdict(statistics(system.index.open(m.collection, m.model))) for m in published]
    rows = [{name: _listed(value) for name, value in one.items()} for one in found]
    emit(output, {"statistics": found}, rows)


def _listed(value: object) -> object:
    """Return counts by name as one cell."""
    return ", ".join(f"{name} {n}" for name, n in value.items()) if isinstance(value, dict) else value


def models(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """List the embedding models, which are active, and which can be loaded here."""
    from rag_platform.embedding.encoders import ENCODERS, can_load, resolve
    from rag_platform.profiles import named_models

    settings = open_settings(env_file, verbose)
    named = named_models(settings.model_profiles).encoders
    active = {resolve(name, named).name for name in (*settings.active_embedders, settings.embedding_model)}
    rows = []
    for spec in (*ENCODERS.values(), *named.values()):
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


def doctor(output: Output = Format.table, env_file: EnvFile = None, verbose: Verbose = False) -> None:
    """Say what works on this machine, what does not, and what to do about it.

    Exit code 1 when something that the main job needs is missing.
    """
    from rag_platform.doctor import Verdict, examine

    findings = list(examine(open_settings(env_file, verbose)))
    rows = [asdict(finding) for finding in findings]
    emit(output, {"findings": rows}, rows)
    if any(finding.verdict is Verdict.missing for finding in findings):
        raise typer.Exit(1)
