"""``rag eval-generate`` and ``rag eval-score``: the reference system's names for the two halves of a sweep.

Shown in no help; each is ``rag sweep`` with and without a judge, and then ``rag runs export``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import EnvFile, Output, Verbose, open_settings
from rag_platform.cli.render import Format
from rag_platform.cli.runs import write_tables
from rag_platform.cli.sweep import carry_out
from rag_platform.errors import InvalidSetting

if TYPE_CHECKING:
    from rag_platform.settings import Settings

__all__ = ["eval_generate", "eval_score"]

_AT_ONCE = 4
"""Judgements at once with --async, where no number is given."""

_Dataset = Annotated[str, typer.Argument(help="Folder or name of a set, or a CSV file of questions.")]
_Documents = Annotated[
    Path | None, typer.Option("--documents", help="Folder of the documents of a CSV file of questions.")
]
_Embeddings = Annotated[
    list[str] | None, typer.Option("--embeddings", help="Embedding models, comma-separated; repeatable.")
]
_Rerankers = Annotated[
    list[str] | None, typer.Option("--rerankers", help="Rerankers, comma-separated; repeatable.")
]
_Generator = Annotated[str, typer.Option("--generator", help="extractive, none, or PROVIDER/MODEL.")]
_Folder = Annotated[
    Path | None, typer.Option("--output-dir", help="Write the tables here, too; they are below RAG_HOME.")
]
_Async = Annotated[bool, typer.Option("--async", help="Judge several answers at once.")]
_AtOnce = Annotated[int | None, typer.Option("--max-concurrent", min=1, max=64, help="How many.")]


def eval_generate(
    dataset: _Dataset,
    documents: _Documents = None,
    embeddings: _Embeddings = None,
    rerankers: _Rerankers = None,
    generator: _Generator = "extractive",
    output_dir: _Folder = None,
    in_parallel: _Async = False,
    max_concurrent: _AtOnce = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Answer the questions of a set in every cell of a grid; no judge is asked."""
    settings = _settings(env_file, verbose, embeddings, rerankers, in_parallel, max_concurrent)
    unjudged = settings.model_copy(update={"eval_provider": "", "eval_model": ""})
    _swept(unjudged, dataset, documents, generator, output_dir, output)


def eval_score(
    dataset: _Dataset,
    documents: _Documents = None,
    embeddings: _Embeddings = None,
    rerankers: _Rerankers = None,
    generator: _Generator = "extractive",
    output_dir: _Folder = None,
    in_parallel: _Async = False,
    max_concurrent: _AtOnce = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Have a judge score the answers of a grid; answers that are there are not made again."""
    settings = _settings(env_file, verbose, embeddings, rerankers, in_parallel, max_concurrent)
    if not (settings.eval_provider and settings.eval_model):
        raise InvalidSetting("scores need a judge: set EVAL_PROVIDER and EVAL_MODEL")
    _swept(settings, dataset, documents, generator, output_dir, output)


def _settings(
    env_file: Path | None,
    verbose: bool,
    embeddings: Sequence[str] | None,
    rerankers: Sequence[str] | None,
    in_parallel: bool,
    max_concurrent: int | None,
) -> Settings:
    return open_settings(
        env_file,
        verbose,
        RAG_SWEEP_EMBEDDERS=",".join(embeddings) if embeddings else None,
        RAG_SWEEP_RERANKERS=",".join(rerankers) if rerankers else None,
        RAG_EVAL_CONCURRENCY=max_concurrent or (_AT_ONCE if in_parallel else None),
    )


def _swept(
    settings: Settings,
    dataset: str,
    documents: Path | None,
    generator: str,
    folder: Path | None,
    output: Format,
) -> None:
    from rag_platform.sweeping.request import SweepRequest

    request = SweepRequest(dataset, documents=str(documents or ""), generator=generator)
    run = carry_out(settings, request, output)
    if run is not None and folder is not None:
        write_tables(run, folder)
